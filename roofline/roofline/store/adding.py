"""Files and folders into a store, each file once: read and written in processes of their own where there are many."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from roofline.files.decoding import ReadError
from roofline.files.places import is_empty, write_whole
from roofline.machine.published import DeviceTable
from roofline.results.reader import content_of_result, folders_without_results, read_file, result_files
from roofline.results.stored_runs import MARKER, VERSION, is_store, run_paths
from roofline.store.batches import Run, run_id, write_batch

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

    def __iadd__(self, other: Added) -> Added:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file that was found; ``id`` is that of its run."""

    path: Path
    named: bool
    id: str
    content: bytes


def add(store: Path, paths: Iterable[Path], devices: DeviceTable) -> Added:
    """Add files, the ``*.json`` of folders and the runs of other stores. What is there already is left alone.

    :param devices: published roofs, for those that were not measured.
    :raises NoStoreError: ``store`` is no store, and not empty.
    :raises ReadError: it, or another store, can't be read.
    :raises OSError: it can't be written.
    """
    is_new = not is_store(store)
    if is_new and not is_empty(store):
        raise NoStoreError(f"{store}: no store, and not empty. Name a store, or a new or empty folder.")
    paths = tuple(paths)
    added = Added(skipped=folders_without_results(paths))
    known = set() if is_new else {path.parent.name for path in run_paths(store)}
    chunks = _chunks(_new_files(paths, known, added))
    first = next(chunks, None)
    if first is None:
        return added
    if is_new:
        write_whole(store / MARKER, f"{VERSION}\n".encode())
    second = next(chunks, None)
    if second is None:
        added += _add_chunk(store, first, devices)
        return added
    for one in _in_processes(store, chain([first, second], chunks), devices):
        added += one
    return added


def _new_files(paths: Sequence[Path], known: set[str], added: Added) -> Iterator[_File]:
    """Yield the files that the store hasn't; the others are counted.

    :param known: ids of the runs in the store; those that are yielded are added to it.
    """
    for path, named in result_files(paths):
        try:
            content = content_of_result(path)
        except ReadError as error:
            (added.refused if named else added.skipped).append(str(error))
            continue
        run = run_id(content)
        if run in known:
            added.known += 1
        else:
            known.add(run)
            yield _File(path=path, named=named, id=run, content=content)


def _chunks(files: Iterator[_File]) -> Iterator[list[_File]]:
    chunk: list[_File] = []
    size = 0
    for file in files:
        chunk.append(file)
        size += len(file.content)
        if size >= CHUNK_BYTE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _in_processes(store: Path, chunks: Iterator[list[_File]], devices: DeviceTable) -> Iterator[Added]:
    """Add chunks in as many processes as there are cores, and no more of them in memory than these work at."""
    # A process that is forked could inherit a lock of one of pyarrow's threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_cores(), context, initializer=_prepare) as pool:
        running: deque[Future[Added]] = deque()
        for chunk in chunks:
            running.append(pool.submit(_add_chunk, store, chunk, devices))
            if len(running) > _cores():
                yield running.popleft().result()
        for future in running:
            yield future.result()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _prepare() -> None:
    # As the program does: none of the many small objects is garbage.
    gc.set_threshold(1_000_000)


def _add_chunk(store: Path, files: Sequence[_File], devices: DeviceTable) -> Added:
    """Read files, and write a batch for each machine and day."""
    added = Added()
    partitions: dict[str, list[Run]] = {}
    for file in files:
        try:
            result = read_file(file.path, file.content)
        except ReadError as error:
            (added.refused if file.named else added.skipped).append(str(error))
            continue
        added.notes += result.notes
        run = Run(id=file.id, content=file.content, result=result)
        partitions.setdefault(run.partition, []).append(run)
    for runs in partitions.values():
        added.runs += len(runs)
        added.cases += write_batch(store, runs, devices)
    return added
