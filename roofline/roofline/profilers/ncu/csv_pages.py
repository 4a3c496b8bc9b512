"""Turn what ``ncu --csv`` printed, in each of its pages, into launches with their metrics in base units.

Where sections collected the metrics, the details page has labels in place of their names (`metric_of`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from roofline.counters.quantities import Dimension, dimension
from roofline.files.decoding import ReadError
from roofline.profilers.ncu.csv_lines import Header, Lines, how, integer, remedy
from roofline.profilers.ncu.installation import print_command
from roofline.profilers.ncu.launches import Capture, Launch
from roofline.profilers.ncu.values import (
    Evidence,
    Mark,
    NumberFormatError,
    factors,
    is_label,
    metric_of,
    parsed,
    unprinted,
)
from roofline.schema.amounts import LEAST, MOST, usable_or_zero
from roofline.text.printable import printable

_NOTHING = {"", "-", "n/a", "na", "#n/a", "nan", "-nan", "nan(ind)", "-nan(ind)", "inf", "-inf", "none", "null"}
"""What stands in place of a value, in lower case and without ncu's ``(!)``."""

_ATTRIBUTES = ("device__", "nvlink__", "numa__", "c2clink__", "profiler__", "launch__func")
"""Columns of a raw page that hold properties, some of them names: they tell nothing of how numbers are written."""

_WHOLE = {"launch__block_size", "launch__grid_size", "launch__thread_count", "launch__registers_per_thread"}
_ADDITIVE: tuple[Dimension, ...] = ("time", "byte", "count")
_SAME = 0.01
"""Relative difference of two prints of one value, rounded to three digits each."""

_PASSES = "profiler__replayer_passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """What the name or label of a metric and its unit say. ``telling``: its values say how numbers are written."""

    metric: str
    unit: str
    label: bool
    telling: bool
    whole: bool
    wanted: bool


@lru_cache(maxsize=1024)
def _named(printed: str, unit: str, section: str | None = None, item: str | None = None) -> _Named:
    metric = metric_of(printed.strip(), unit.strip(), section, item)
    return _Named(
        metric=metric,
        unit=unit.strip(),
        label=is_label(printed.strip()),
        telling=bool(metric) and not metric.startswith(_ATTRIBUTES),
        whole=_whole(metric, unit.strip()),
        wanted=dimension(metric) is not None,
    )


class _Cell(NamedTuple):
    """A value as it is printed, and where: in which line, under which column."""

    named: _Named
    text: str
    line: int
    column: str


@dataclass(slots=True, kw_only=True)
class _LaunchRows:
    """A launch as it is found, row by row. ``invocations``, of a summary, are launches that it stands for.

    ``again``: it stands in the file a second time. ``labelled``: its page has labels in place of names, and so not all
    that was collected.
    """

    name: str
    line: int
    grid: str | None
    block: str | None
    compute_capability: str | None
    ranges: tuple[str, ...] | None
    invocations: int = 1
    again: bool = False
    labelled: bool = False
    cells: list[_Cell] = field(default_factory=list)


def parse(path: Path, text: str, decimal: Mark | None = None) -> Capture:
    """The launches of a file.

    :param decimal: what stands before its decimals, where the user knows; else all its numbers are asked.
    :raises ReadError: no table of ncu, none of its rows, a row that was cut off or edited, a number that is none, or
        numbers that don't tell how they are written.
    """
    lines = Lines(path, text)
    found = _Table(path)
    for header, number, cells in lines.rows():
        found.take(header, number, cells)
    if not found.launches:
        lines.refuse()
    try:
        decimal = decimal or found.evidence.decide()
    except NumberFormatError as error:
        raise ReadError(f"{path}: {error}") from error
    command = print_command()
    return Capture(
        source=str(path),
        launches=tuple(_launch(path, one, decimal, command) for one in found.launches.values()),
        passes=max((one for one in (lines.passes, found.passes) if one is not None), default=None),
        notes=(*_said(lines), *found.notes()),
    )


class _Table:
    """Takes rows, and puts those of one launch together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: Header | None = None
        self._columns: dict[int, _Named] = {}
        self._ids: list[set[int]] = []
        self._last: tuple[object, ...] = ()
        self.evidence = Evidence()
        self.passes: int | None = None
        self.launches: dict[tuple[object, ...], _LaunchRows] = {}

    def take(self, header: Header, number: int, cells: Sequence[str]) -> None:
        """:raises ReadError: a row of a raw page without its row of units, or an ID of two kernels."""
        if header is not self._header:
            self._header, self._columns, self._last = header, {}, ()
            self._ids.append(set())
        page = {"raw": self._raw, "details": self._details, "summary": self._summary}[header.page]
        page(header, number, cells)

    def notes(self) -> Iterator[str]:
        """Launches that are missing, for ncu numbers them without gaps: they were filtered out, or lost in the stream.
        And those that a log has twice, as one that was appended to: the same process, the same number.
        """
        for ids in self._ids:
            if ids and (lacking := max(ids) - min(ids) + 1 - len(ids)):
                between = f"{min(ids)} to {max(ids)}"
                yield f"Not in the file: {lacking} of the launches with IDs from {between}. Sums are without them."
        if again := sum(one.again for one in self.launches.values()):
            which = f"{again} launch{'' if again == 1 else 'es'} of {len(self.launches)}"
            yield f"More than once in the file (same process and ID), counted once: {which}."

    def _raw(self, header: Header, number: int, cells: Sequence[str]) -> None:
        if not header.get(cells, "ID"):
            places = enumerate(header.cells)
            self._columns = self._columns or {
                place: _named(name, cells[place]) for place, name in places if "__" in name
            }
            return
        if not self._columns:
            raise ReadError(
                f"{self._path}:{number}: no row of units below the columns of line {header.line}, so a value may be"
                f" anything. Was it taken out? {how()}"
            )
        one = self._numbered(header, number, cells)
        for place, named in self._columns.items():
            self._take(one, _Cell(named, cells[place], number, named.metric))
        if (passes := integer(header.get(cells, _PASSES))) is not None:
            self.passes = max(self.passes or 0, passes)

    def _details(self, header: Header, number: int, cells: Sequence[str]) -> None:
        one = self._numbered(header, number, cells)
        self._take(one, _Cell(_label(header, cells), header.get(cells, "Metric Value") or "", number, "Metric Value"))

    def _summary(self, header: Header, number: int, cells: Sequence[str]) -> None:
        identity = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations")
        invocations = integer(header.get(cells, "Invocations"))
        if not invocations:
            raise ReadError(f"{self._path}:{number}: a kernel with no invocations. {how()}")
        one = self._open(header, number, cells, tuple(header.get(cells, name) for name in identity))
        one.invocations = invocations
        named = _label(header, cells)
        for name in ("Minimum", "Maximum"):
            self.evidence.add(header.get(cells, name) or "", number, whole=named.whole)
        # A mean of whole numbers may have decimals.
        mean = replace(named, whole=False)
        self._take(one, _Cell(mean, header.get(cells, "Average") or "", number, "Average"))

    def _take(self, one: _LaunchRows, cell: _Cell) -> None:
        one.labelled |= cell.named.label
        if cell.named.telling:
            self.evidence.add(cell.text, cell.line, whole=cell.named.whole)
        if cell.named.wanted:
            one.cells.append(cell)

    def _numbered(self, header: Header, number: int, cells: Sequence[str]) -> _LaunchRows:
        """The launch of a row that has its ID.

        :raises ReadError: one ID with two kernels.
        """
        launch, name = integer(header.get(cells, "ID")), printable(header.get(cells, "Kernel Name") or "")
        assert launch is not None  # else it would be no row
        self._ids[-1].add(launch)
        one = self._open(header, number, cells, (header.get(cells, "Process ID"), launch))
        if one.name != name:
            raise ReadError(
                f"{self._path}:{number}: launch {launch} is {name!r:.80} here and {one.name!r:.80} in line"
                f" {one.line}. Are these two runs in one file? Give a file of each."
            )
        return one

    def _open(self, header: Header, number: int, cells: Sequence[str], identity: tuple[object, ...]) -> _LaunchRows:
        """The launch of a row.

        :param identity: its process first. A process numbers its launches once, so they are looked for in all tables;
            where it isn't known, in the one that is read.
        """
        key = (len(self._ids) if identity[0] is None else 0, *identity)
        if (one := self.launches.get(key)) is None:
            one = self.launches[key] = _LaunchRows(
                name=printable(header.get(cells, "Kernel Name") or ""),
                line=number,
                grid=header.get(cells, "Grid Size"),
                block=header.get(cells, "Block Size"),
                compute_capability=header.get(cells, "CC"),
                ranges=_ranges(header, cells),
            )
        # Of a raw page each row is a launch; of the others its rows stand together.
        elif key != self._last or header.page == "raw":
            one.again = True
        self._last = key
        return one


def _label(header: Header, cells: Sequence[str]) -> _Named:
    """Give what a row says of its metric; rows of rules name none."""
    names = ("Metric Name", "Metric Unit", "Section Name", "Body Item Label")
    printed, unit, section, item = (header.get(cells, name) for name in names)
    return _named(printed or "", unit or "", section, item)


def _ranges(header: Header, cells: Sequence[str]) -> tuple[str, ...] | None:
    """Names of the NVTX ranges that the launch was in; None where the table has no column of them."""
    there = _range_columns(header.cells)
    return tuple(name for place, numbered in there for name in _range_names(cells[place], numbered)) if there else None


_PUSHED, _STARTED = ":Push/Pop_Range:", ":Start/Stop_Range:"
_FIELDS_BEHIND = 6
"""Behind a range's name: type and value of its payload, its colour, and its message."""

_QUOTED = re.compile(r'"([^"]*)"')


@lru_cache(maxsize=8)
def _range_columns(names: tuple[str, ...]) -> tuple[tuple[int, bool], ...]:
    """The place of each column with ranges, and whether an ID stands before the domain in it."""
    return tuple((place, _STARTED in name) for place, name in enumerate(names) if _PUSHED in name or _STARTED in name)


def _range_names(cell: str, numbered: bool) -> Iterator[str]:
    """Read the names of the ranges in a cell, outer ones first.

    :param cell: such as ``4711  "<default domain>:timed:none:none:none:none:none:none"``.
    :param numbered: an ID stands before the domain.
    """
    for one in _QUOTED.findall(cell) or [cell.strip()]:
        name = one.split(":", 2 if numbered else 1)[-1].rsplit(":", _FIELDS_BEHIND)[0]
        if name:
            yield printable(name)


def _whole(metric: str, unit: str) -> bool:
    """Tell whether its values are whole numbers: sums of counters, in the unit that is counted in."""
    if metric in _WHOLE:
        return True
    if not metric.endswith(".sum"):
        return False
    what = dimension(metric)
    return what in ("byte", "count", "time") and factors(unit, what) == (1.0, 1e9 if what == "time" else 1.0)


def _launch(path: Path, found: _LaunchRows, decimal: Mark, print_command: str) -> Launch:
    """:param print_command: prints the metrics that a page of labels lacks.
    :raises ReadError: a cell that is no number, or one metric with two values.
    """
    metrics: dict[str, float] = {}
    absent: dict[str, str] = {}
    for cell in found.cells:
        metric, unit = cell.named.metric, cell.named.unit
        what = dimension(metric)
        assert what is not None
        value = _value(path, cell, what, decimal)
        if found.invocations > 1 and what not in _ADDITIVE:
            value = "a mean over launches, of which there is no sum"
        if isinstance(value, str):
            absent.setdefault(metric, value)
            continue
        value *= found.invocations
        before = metrics.setdefault(metric, value)
        if not math.isclose(before, value, rel_tol=_SAME):
            raise ReadError(
                f"{path}:{cell.line}: {metric} of launch {found.name!r:.80} is {cell.text} {unit} here and"
                " another value before. Are these two runs in one file? Give a file of each."
            )
    if found.labelled:
        absent = {**unprinted(metrics, print_command), **absent}
    return Launch(
        name=found.name,
        launches=found.invocations,
        grid=found.grid,
        block=found.block,
        compute_capability=found.compute_capability,
        ranges=found.ranges,
        metrics=metrics,
        absent={name: why for name, why in absent.items() if name not in metrics},
    )


def _value(path: Path, cell: _Cell, what: Dimension, decimal: Mark) -> float | str:
    """The value in base units, or why there is none.

    :raises ReadError: it is no number at all.
    """
    metric, unit, text = cell.named.metric, cell.named.unit, cell.text.strip()
    scale = factors(unit, what)
    # Of metrics with instances they follow in parentheses.
    bare = text.removeprefix("(!)").strip().partition(" (")[0] if "(" in text else text
    if bare.lower() in _NOTHING:
        return f"ncu printed {text!r}" if text else "ncu printed nothing"
    if scale is None:
        return f"its unit {unit!r} is not one of {_MEANT[what]}" if unit else "ncu printed no unit"
    try:
        value = parsed(bare, decimal)
    except ValueError as error:
        example = "1,234.5" if decimal == "." else "1.234,5"
        raise ReadError(
            f"{path}:{cell.line}: {metric}: {text!r:.80} is no number as the others of this file are, such as"
            f" {example}. {how()}"
        ) from error
    if value < 0:
        return f"ncu printed {text}, which can't be"
    times, over = scale
    scaled = value * times / over
    if not usable_or_zero(scaled):
        raise ReadError(
            f"{path}:{cell.line}: {cell.column}: {text!r:.80} {unit} can't be {metric} of a kernel: in base"
            f" units it is not 0 and not from {LEAST:g} to {MOST:g}. {how()}"
        )
    return scaled


_MEANT: Mapping[Dimension, str] = {
    "time": "time",
    "byte": "bytes",
    "count": "a count",
    "byte_per_s": "bytes a second",
    "frequency": "frequency",
    "per_cycle": "a count a cycle",
    "share": "per cent",
}


def _said(lines: Lines) -> Iterator[str]:
    for said in lines.errors:
        yield f"ncu reported an error: {' '.join(filter(None, (said, remedy(said))))}"
    for said in lines.warnings:
        yield f"ncu warned: {said}"
    if lines.left_out:
        number = len(lines.left_out)
        yield (
            f"Left out, for not of ncu's table: {number} line{'' if number == 1 else 's'} below the header, first line"
            f" {lines.left_out[0]}."
        )
