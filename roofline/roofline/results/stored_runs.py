"""Runs in a store (see `roofline.store`): which there are, and the file that each was added as.

A store is a folder with the file `MARKER`. Its ``runs/fingerprint=.../day=.../BATCH.parquet`` list the runs that were
added, and ``files/...`` of the same names hold their files, byte by byte, each in a row group of its own. The path of a
run leads to it through its batch, as if that were a folder: ``runs/.../BATCH.parquet/RUN/FILE``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from roofline.files import places
from roofline.files.decoding import ReadError

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MARKER = "roofline-store"
"""A file in the folder of a store. It holds the `VERSION` of its layout."""

VERSION = "2"

RUNS = "runs"
"""The table of runs. A batch counts once it has one: it is written last."""

ENDING = ".parquet"

FILES = "files"

LACKS_PYARROW = "a store needs pyarrow and duckdb: pip install 'pytest-roofline[store]'"


def is_store(path: Path) -> bool:
    """:raises ReadError: it is one of a newer version, or can't be looked at."""
    marker = path / MARKER
    try:
        if not places.is_file(marker):
            return False
        with places.opened(marker) as file:
            version = file.read(100).decode(errors="replace").strip()
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error
    if version != VERSION:
        raise ReadError(
            f"{path}: a store of version {version!r}; this version reads {VERSION}. Upgrade pytest-roofline, or add its"
            " results to a new store."
        )
    return True


def run_paths(store: Path, machines: Collection[str] | None = None) -> Iterator[Path]:
    """Yield the path of each run of a store, by machine and day; once, where two added it at the same time.

    :param machines: the keys of those whose runs are asked for. Default: all.
    :raises ReadError: a batch can't be read.
    """
    known: set[str] = set()
    for batch in batches(store):
        if machines is not None and machine_key_of(batch) not in machines:
            continue
        for path in runs_in(batch):
            if path.parent.name not in known:
                known.add(path.parent.name)
                yield path


def runs_in(batch: Path) -> list[Path]:
    """List the paths of the runs of a batch.

    :raises ReadError: it can't be read.
    """
    with _parquet(batch, batch) as parquet:
        index = parquet.read(columns=["run", "file"]).to_pydict()
    return [batch / run / name for run, name in zip(index["run"], index["file"], strict=True)]


def machine_key_of(batch: Path) -> str:
    """Read the key of a batch's machine off its path."""
    return unquote(batch.parents[1].name.removeprefix("fingerprint="))


def batches(store: Path) -> list[Path]:
    """:raises ReadError: the store can't be looked into."""
    try:
        return [store / RUNS / name for name in places.names_below(store / RUNS, ENDING)]
    except OSError as error:
        raise ReadError(f"{store}: can't be read ({error.strerror or error}).") from error


def is_stored(path: Path) -> bool:
    """Tell whether a path is one of `run_paths`, by its form and its batch."""
    return len(path.parents) > 2 and path.parents[1].suffix == ENDING and places.is_file(path.parents[1])


def content_of_run(path: Path) -> bytes:
    """Read the file that a run was added as.

    :param path: one of `run_paths`.
    :raises ReadError: its batch can't be read, or has no such run.
    """
    batch, run = path.parents[1], path.parent.name
    with _parquet(files_of(batch), batch) as parquet:
        metadata = parquet.metadata
        for group in range(metadata.num_row_groups):
            # The first column is the run's id, one in each group.
            if metadata.row_group(group).column(0).statistics.min == run:
                found: bytes = parquet.read_row_group(group, columns=["content"])["content"][0].as_py()
                return found
    raise ReadError(f"{files_of(batch)}: no run {run} in it. {remedy(batch)}")


def files_of(batch: Path) -> Path:
    """Name the Parquet file that holds the files of a batch's runs."""
    return batch.parents[3] / FILES / batch.relative_to(batch.parents[2])


def remedy(batch: Path) -> str:
    """Say what to do where a batch's runs or their files are damaged: nothing else has them."""
    return f"Restore it, or delete {batch} and add its results again."


@contextmanager
def _parquet(path: Path, batch: Path) -> Iterator[pq.ParquetFile]:
    """:raises ReadError: it can't be read, or is no Parquet."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ReadError(f"{path}: {LACKS_PYARROW}") from error
    try:
        with places.opened(path) as file:
            yield pq.ParquetFile(file)
    except (OSError, ValueError, KeyError) as error:  # ArrowInvalid is a ValueError
        raise ReadError(f"{path}: can't be read ({error}). {remedy(batch)}") from error
