"""Audit files: read each into rows (pytest-benchmark's JSON, or a table), and hold all rules against all rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.audits import benchmark_rows, csv_rows
from roofline.audits.known_models import load
from roofline.audits.row import StatedRow
from roofline.audits.rule import Known, Rule, RuleResult, run
from roofline.audits.rules import RULES
from roofline.files.decoding import ReadError, decoded
from roofline.files.paths import folders_without
from roofline.machine.published import DeviceTable
from roofline.results import journal
from roofline.results.reader import content_of_result, read_file, result_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The rows that were read and the results of the rules."""

    rows: tuple[StatedRow, ...]
    results: tuple[RuleResult, ...]

    @property
    def contradicted(self) -> bool:
        return any(result.contradictions for result in self.results)

    @property
    def examined(self) -> int:
        """The number of times that a rule had something to look at. 0: this audit says nothing."""
        return sum(result.examined for result in self.results)


def audit(
    rows: Sequence[StatedRow],
    devices: DeviceTable,
    tolerances: Mapping[str, float] | None = None,
    rules: Iterable[Rule] = RULES,
) -> Audit:
    """Apply rules to rows of any number of files.

    :param tolerances: by the name of a rule, instead of its own.
    """
    known = Known(devices=devices, models=load())
    chosen = tolerances or {}
    results = tuple(run(rule, rows, known, chosen.get(rule.name)) for rule in rules)
    return Audit(rows=tuple(rows), results=results)


def on_devices(rows: Iterable[StatedRow], names: Mapping[str, str], otherwise: str | None) -> tuple[StatedRow, ...]:
    """The rows with the full names of their devices in place of what the table calls them.

    :param names: a table's word -> the name in the table of published roofs.
    :param otherwise: the device of rows that state none.
    """
    renamed = []
    for row in rows:
        device = otherwise if row.device is None else names.get(row.device, row.device)
        kind = row.device_kind if device == row.device else row.device_kind or "accelerator"
        renamed.append(replace(row, device=device, device_kind=kind))
    return tuple(renamed)


SUFFIXES = (".csv", ".json", journal.SUFFIX)
"""Of the files that are looked for in a folder."""

_ADVICE = "Save the table as CSV in UTF-8."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """One file.

    :param unknown: columns of a table, and figures of a result file, that no rule can look at.
    :param incomplete: how far its run came, where that did not end.
    :param left_out: why parts of a result file can't be read.
    """

    rows: tuple[StatedRow, ...]
    unknown: tuple[str, ...] = ()
    incomplete: str | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFiles:
    """The files that were read, and the reasons for the others.

    :param files: those that were read, by their paths.
    :param refused: why files that were named can't be read.
    :param skipped: the same of files that were found in a folder, which may hold anything, and of a folder without any.
    """

    files: dict[Path, FileRows]
    refused: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def rows(self) -> tuple[StatedRow, ...]:
        return tuple(row for file in self.files.values() for row in file.rows)


def read(paths: Iterable[Path], devices: DeviceTable) -> AuditFiles:
    """Read files and, recursively, the ``*.json`` and ``*.csv`` of folders; each file once.

    :param devices: for the roofs of result files.
    """
    files: dict[Path, FileRows] = {}
    refused: list[str] = []
    skipped: list[str] = []
    # Files first, so that one that lies in a folder as well counts as named.
    paths = sorted(paths, key=os.path.isdir)
    for path, named in result_files(paths, SUFFIXES):
        try:
            files[path] = read_one(path, devices)
        except ReadError as error:
            (refused if named else skipped).append(str(error))
    if any(file.rows for file in files.values()):
        skipped += folders_without(paths, SUFFIXES)
    return AuditFiles(files=files, refused=tuple(refused), skipped=tuple(skipped))


def read_one(path: Path, devices: DeviceTable) -> FileRows:
    """Read one file.

    :param devices: for the roofs of result files.
    :raises ReadError: it can't be read, and why.
    """
    content = content_of_result(path)
    text = decoded(path, content, _ADVICE)
    if not text.strip():
        raise ReadError(f"{path}: empty.")
    if text.lstrip()[0] not in "{[":
        rows, unread = csv_rows.table_of(path, text)
        return FileRows(rows=rows, unknown=unread)
    result = read_file(path, content)
    return FileRows(
        rows=benchmark_rows.rows_of(result, devices),
        unknown=benchmark_rows.unread(result),
        incomplete=None if result.session is None else result.session.why_incomplete,
        left_out=result.left_out,
    )
