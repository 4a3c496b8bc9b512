"""The files of runs out of a store, byte by byte as they were added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from roofline.files import writing
from roofline.machine.published import DeviceTable
from roofline.plots.style import slug
from roofline.results.stored_runs import content_of_run, run_paths
from roofline.store.asking import answer


class NotFree(Exception):
    """A file with other content lies where one would be written."""


def export(
    store: Path, folder: Path, where: str | None, devices: DeviceTable, tell: Callable[[str], None]
) -> tuple[int, int]:
    """Write the files of a store into a folder for each machine, called by its label.

    Of several files of one name in a folder each has the first digits of its run's id behind its name.

    :param where: a condition of SQL: only runs with a case for which it holds.
    :param devices: as of `roofline.store.asking.ask`, as is ``tell``.
    :returns: how many files were written, and how many were there already.
    :raises NotFree: a file with other content is there. Nothing was written.
    :raises ReadError: the store can't be read.
    :raises roofline.store.asking.WrongQuery: ``where`` is no condition.
    :raises OSError: a file can't be written.
    """
    chosen = "" if where is None else f" WHERE run IN (SELECT run FROM cases WHERE ({where}\n))"
    labels = dict(
        zip(*answer(store, f"SELECT run, machine FROM runs{chosen}", devices, tell).to_pydict().values(), strict=True)
    )
    runs = {
        path: folder / slug(labels[path.parent.name]) / path.name
        for path in run_paths(store)
        if path.parent.name in labels
    }
    count = Counter(runs.values())
    for path, target in runs.items():
        if count[target] > 1:
            runs[path] = target.with_name(f"{target.stem}-{path.parent.name[:8]}{target.suffix}")
    there = {path for path, target in runs.items() if target.exists()}
    for path in there:
        if runs[path].read_bytes() != content_of_run(path):
            raise NotFree(f"{runs[path]}: another file than that of the store. Name another folder.")
    for path, target in runs.items():
        if path not in there:
            writing.write_bytes(target, content_of_run(path))
    return len(runs) - len(there), len(there)
