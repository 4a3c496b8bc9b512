"""Files and folders into a store, each file once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from roofline.files.decoding import ReadError
from roofline.files.places import is_empty, shown, write_whole
from roofline.machine.published import DeviceTable
from roofline.results.reader import content_of_result, folders_without_results, read_file, result_files
from roofline.results.stored_runs import LACKS_PYARROW, MARKER, VERSION, is_store, run_paths
from roofline.show.export import LacksPyarrow
from roofline.store.batches import StoredRun, run_id, write_batch
from roofline.store.processes import in_processes

CHUNK_BYTE = 16 * 2**20
"""Of files that are read and written together. The cases of a chunk take some ten times as much memory."""


class NoStoreError(Exception):
    """A folder in which something else lies already."""


@dataclass(slots=True)
class Added:
    """What came of files. ``refused`` says why files that were named can't be read, ``skipped`` of those found in a
    folder, and ``notes`` what a reader of the others must know.
    """

    runs: int = 0
    cases: int = 0
    known: int = 0
    refused: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> int:
        """Count the files that something came of."""
        return self.runs + self.known + len(self.refused) + len(self.skipped)

    def __iadd__(self, other: Added) -> Added:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


_File = tuple[Path, bool, bytes]
"""A file that was found, whether it was named itself, and its content."""


def add(
    store: Path,
    paths: Iterable[Path],
    devices: DeviceTable,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Added:
    """Add files, the ``*.json`` of folders and the runs of other stores. What is there already is left alone.

    :param devices: published roofs, for those that were not measured.
    :param progress: is told now and then how many files are done, of how many.
    :raises NoStoreError: ``store`` is no store, and not empty.
    :raises LacksPyarrow: pyarrow isn't installed.
    :raises ReadError: it, or another store, can't be read.
    :raises OSError: it can't be written.
    """
    is_new = not is_store(store)
    # Another writer may just be making it.
    if is_new and not is_empty(store) and not is_store(store):
        raise NoStoreError(f"{shown(store)}: no store, and not empty. Name a store, or a new or empty folder.")
    if find_spec("pyarrow") is None:
        raise LacksPyarrow(f"{shown(store)}: {LACKS_PYARROW}")
    paths = tuple(paths)
    files = list(result_files(paths))
    added = Added()
    known = frozenset() if is_new else {path.parent.name for path in run_paths(store)}
    chunks = _chunks(_new_files(files, known, added))
    first = next(chunks, None)
    if is_new and first is not None:
        write_whole(store / MARKER, f"{VERSION}\n".encode())
    for one in in_processes(partial(_add_chunk, store, devices), chain([first] if first else [], chunks)):
        added += one
        progress(added.files, len(files))
    added.skipped += folders_without_results(paths)
    return added


def _new_files(files: Iterable[tuple[Path, bool]], known: Set[str], added: Added) -> Iterator[_File]:
    """Yield the files that the store hasn't, each once; the others are counted.

    :param known: the ids of the runs in the store.
    """
    yielded: set[str] = set()
    for path, named in files:
        try:
            content = content_of_result(path)
        except ReadError as error:
            (added.refused if named else added.skipped).append(str(error))
            continue
        run = run_id(content)
        if run in known or run in yielded:
            added.known += 1
        else:
            yielded.add(run)
            yield path, named, content


def _chunks(files: Iterator[_File]) -> Iterator[list[_File]]:
    chunk: list[_File] = []
    size = 0
    for file in files:
        chunk.append(file)
        size += len(file[-1])
        if size >= CHUNK_BYTE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _add_chunk(store: Path, devices: DeviceTable, files: Iterable[_File]) -> Added:
    """Read files, and write a batch for each machine and day."""
    added = Added()
    partitions: dict[str, list[StoredRun]] = {}
    for path, named, content in files:
        try:
            result = read_file(path, content)
        except ReadError as error:
            (added.refused if named else added.skipped).append(str(error))
            continue
        added.notes += result.notes
        run = StoredRun(id=run_id(content), content=content, result=result)
        partitions.setdefault(run.partition, []).append(run)
    for runs in partitions.values():
        added.runs += len(runs)
        added.cases += write_batch(store, runs, devices)
    return added
