"""Files and folders to rows: JSON by pytest-benchmark, or a table. The first character tells which, not the name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from roofline.audits import benchmark_rows, csv_rows
from roofline.audits.row import Row
from roofline.files.paths import folders_without
from roofline.files.text import ReadError, text_of
from roofline.machine.published import DeviceTable
from roofline.results import journal

SUFFIXES = (".csv", ".json", journal.SUFFIX)
"""Of the files that are looked for in a folder."""

_ADVICE = "Save the table as CSV in UTF-8."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of the paths that were given.

    ``unknown`` are (file, columns) of tables with columns that were left alone because nothing knows their names.
    ``refused`` says of files that were named why they can't be read; ``skipped`` the same of files that were found in a
    folder, which may hold anything, and of a folder without any: these stand in nobody's way. ``incomplete`` names the
    runs that did not end.
    """

    rows: tuple[Row, ...]
    unknown: tuple[tuple[Path, tuple[str, ...]], ...]
    refused: tuple[str, ...]
    skipped: tuple[str, ...]
    incomplete: tuple[str, ...]


def read(paths: Iterable[Path], devices: DeviceTable) -> Reading:
    """Read files and, recursively, the ``*.json`` and ``*.csv`` of folders; each file once.

    :param devices: for the roofs of result files.
    """
    rows: list[Row] = []
    unknown: list[tuple[Path, tuple[str, ...]]] = []
    refused: list[str] = []
    skipped: list[str] = []
    incomplete: list[str] = []
    known: set[str] = set()
    paths = tuple(paths)
    for path, named in _files(paths):
        # Path.resolve fails on a link that leads to itself, before Python 3.13.
        real = os.path.realpath(path)
        if real in known:
            continue
        known.add(real)
        try:
            rows += rows_of(path, devices, incomplete)
            if columns := unread_columns(path):
                unknown.append((path, columns))
        except ReadError as error:
            (refused if named else skipped).append(str(error))
    if rows:
        skipped += folders_without(paths, SUFFIXES)
    return Reading(
        rows=tuple(rows),
        unknown=tuple(unknown),
        refused=tuple(refused),
        skipped=tuple(skipped),
        incomplete=tuple(incomplete),
    )


def unread_columns(path: Path) -> tuple[str, ...]:
    """Columns of a table, and figures of a result file, that were left alone because nothing knows their names.

    :raises ReadError: it can't be read, and why.
    """
    text = text_of(path, _ADVICE)
    return benchmark_rows.unread(path) if text.lstrip()[:1] in ("{", "[") else csv_rows.unread(path, text)


def rows_of(path: Path, devices: DeviceTable, incomplete: list[str] | None = None) -> tuple[Row, ...]:
    """The rows of one file.

    :param devices: for the roofs of result files.
    :param incomplete: how far its run came is added to it, where that did not end.
    :raises ReadError: it can't be read, and why.
    """
    text = text_of(path, _ADVICE)
    if not text.strip():
        raise ReadError(f"{path}: empty.")
    if text.lstrip()[0] in "{[":
        return benchmark_rows.rows_of(path, devices, incomplete)
    return csv_rows.rows_of(path, text)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it was named: those first, so that one that lies in a folder as well counts as named."""
    yield from ((path, True) for path in paths if not path.is_dir())
    for folder in paths:
        if folder.is_dir():
            found = (path for path in folder.rglob("*") if path.suffix.casefold() in SUFFIXES and not path.is_dir())
            found = (path for path in found if not journal.is_superseded(path))
            yield from ((path, False) for path in sorted(found))
