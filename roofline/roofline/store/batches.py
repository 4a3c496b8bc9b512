"""Runs of one machine and day, written as a batch: each frame of them as Parquet, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from roofline.files.places import write_whole
from roofline.frames import FRAMES, Results
from roofline.machine.published import DeviceTable
from roofline.model.points import place_all
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.results.stored_runs import ENDING, FILES, RUNS, runs_in
from roofline.show.export import as_parquet

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LATER = ("operations", "kernels", "missing")
"""Tables that are made of the files of a batch when they are first asked for. To make them takes most of the time."""

AT_ONCE = tuple(name for name in FRAMES if name not in LATER)

_NO_DAY = "__HIVE_DEFAULT_PARTITION__"
"""As Hive writes what is missing; readers take it for NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A file to add. ``id`` is a hash of ``content``, its bytes."""

    id: str
    content: bytes
    result: ResultFile

    @property
    def partition(self) -> str:
        """The folder of its machine and day in that of a table."""
        day = self.result.when[:10] or _NO_DAY
        return f"fingerprint={quote(self.result.machine_key, safe='')}/day={day}"


def run_id(content: bytes) -> str:
    """Hash the bytes of a file."""
    return hashlib.sha256(content).hexdigest()[:32]


def write_batch(store: Path, runs: Sequence[StoredRun], devices: DeviceTable) -> int:
    """Write runs of one partition.

    :param devices: published roofs, for those that were not measured.
    :returns: how many cases they have.
    :raises OSError: a file can't be written.
    """
    name = f"{runs[0].partition}/{run_id(''.join(run.id for run in runs).encode())}{ENDING}"
    results = Results(place_all((replace(run.result, name=run.id) for run in runs), devices))
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write_whole, store / FILES / name, _files(runs))
        write_frames(store, name, results, {run.id: run.result.path.name for run in runs}, AT_ONCE)
    written.result()
    cases = results.cases["file"].value_counts()
    write_whole(store / RUNS / name, _runs(runs, {str(run): int(count) for run, count in cases.items()}))
    return len(results.cases)


def make_tables(store: Path, devices: DeviceTable, batch: str, tables: Sequence[str]) -> None:
    """Write tables of a batch from the files in it.

    :param batch: its name below the folder of a table.
    :raises ReadError: it can't be read.
    :raises OSError: a file can't be written.
    """
    paths = runs_in(store / RUNS / batch)
    results = [replace(read_file(path), name=path.parent.name) for path in paths]
    names = {one.parent.name: one.name for one in paths}
    write_frames(store, batch, Results(place_all(results, devices)), names, tables)


def write_frames(store: Path, batch: str, results: Results, files: Mapping[str, str], frames: Iterable[str]) -> None:
    """Write frames, each into the folder of its table.

    :param files: names of files by the ids of runs, which the frames have in their place.
    :raises OSError: a file can't be written.
    """
    # One is made while others wait for the disk.
    with ThreadPoolExecutor() as pool:
        written = [
            pool.submit(write_whole, store / frame / batch, as_parquet(rows_of_frame(getattr(results, frame), files)))
            for frame in frames
        ]
    for one in written:
        one.result()


def rows_of_frame(frame: pd.DataFrame, files: Mapping[str, str]) -> pd.DataFrame:
    """Make the rows of a table of a frame whose files are called by the ids of their runs.

    :param files: names of files by the ids of runs.
    """
    # The partition says the fingerprint, and the place of a row in a frame says nothing in a table of many.
    made = frame.drop(columns=["fingerprint", "row"], errors="ignore")
    made.attrs = {}  # which pandas copies with each column
    if "file" in made:
        made.insert(0, "run", made["file"])
        made["file"] = made["run"].map(files)
    # Categories of several files are numbered differently, which not every reader puts together.
    texts = {str(name): _texts(values) for name, values in made.items() if values.dtype in ("category", "object")}
    made = made.assign(**texts)
    made.attrs = {"units": frame.attrs["units"]}
    return made


def _texts(values: pd.Series[Any]) -> pd.Series[Any]:
    """Make texts of categories in a tenth of the time that pandas takes."""
    import pandas as pd
    import pyarrow as pa

    if values.dtype != "category":
        return values.astype("string")
    return pd.Series(pd.array(pa.array(values.array).cast(pa.large_string()), dtype="string[pyarrow]"))


def _files(runs: Sequence[StoredRun]) -> bytes:
    """Make the table of files, each in a row group of its own: it can be read without the others."""
    import pyarrow as pa

    table = pa.table({"run": [run.id for run in runs], "content": pa.array([run.content for run in runs], pa.binary())})
    return _parquet(table, row_group_size=1, use_dictionary=False, write_statistics=["run"])


def _runs(runs: Sequence[StoredRun], cases: Mapping[str, int]) -> bytes:
    """Make the table of runs.

    :param cases: how many each has.
    """
    import pyarrow as pa

    results = [run.result for run in runs]
    return _parquet(
        pa.table(
            {
                "run": [run.id for run in runs],
                "file": [result.path.name for result in results],
                "machine": [result.machine_label for result in results],
                "started_at": pa.array([result.when or None for result in results], pa.string()),
                "commit": pa.array([result.commit for result in results], pa.string()),
                "cases": [cases.get(run.id, 0) for run in runs],
            }
        )
    )


def _parquet(table: pa.Table, **options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = pa.BufferOutputStream()
    # Of a file's many similar cases level 3 makes a third of what 1 does, in less time.
    pq.write_table(table, out, compression="zstd", compression_level=3, **options)
    content: bytes = out.getvalue().to_pybytes()
    return content
