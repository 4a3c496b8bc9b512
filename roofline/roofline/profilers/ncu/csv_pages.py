"""What ``ncu --csv`` printed, in each of its pages, to launches with their metrics in base units.

Where sections collected the metrics, the details page has labels in place of their names (below `metric_of`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from roofline.counters.quantities import BY_NAME, DRAM_RATE, OF_KERNEL, TIME, Dimension, dimension
from roofline.files.text import ReadError
from roofline.profilers.ncu.csv_lines import Header, Lines, how, integer, remedy
from roofline.profilers.ncu.installation import print_command
from roofline.profilers.ncu.launches import Capture, Launch
from roofline.profilers.ncu.values import (
    LEAST,
    MOST,
    Evidence,
    NumberFormat,
    NumberFormatError,
    factors,
    plausible,
)
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


class _Cell(NamedTuple):
    metric: str
    unit: str
    text: str
    line: int
    column: str


@dataclass(slots=True, kw_only=True)
class _LaunchRows:
    """A launch as it is found, row by row. ``invocations``, of a summary, are launches that it stands for. ``again``:
    it stands in the file a second time.
    ``labelled``: its page has labels in place of names, and so not all that was collected.
    """

    name: str
    line: int
    grid: str | None
    block: str | None
    compute_capability: str | None
    invocations: int = 1
    ranges: tuple[str, ...] | None = None
    again: bool = False
    labelled: bool = False
    cells: list[_Cell] = field(default_factory=list)


def parse(path: Path, text: str, given: NumberFormat | None = None) -> Capture:
    """The launches of a file.

    :param given: how it writes its numbers, where the user knows; else all its numbers are asked.
    :raises ReadError: no table of ncu, none of its rows, a row that was cut off or edited, a number that is none, or
        numbers that don't tell how they are written.
    """
    lines = Lines(path, text)
    evidence = Evidence()
    found = _Table(path, evidence)
    for header, number, cells in lines.rows():
        found.take(header, number, cells)
    if not found.launches:
        lines.refuse()
    try:
        form = evidence.decide(given)
    except NumberFormatError as error:
        raise ReadError(f"{path}: {error}") from error
    unprinted_why = why_unprinted()
    return Capture(
        source=str(path),
        launches=tuple(_launch(path, one, form, unprinted_why) for one in found.launches.values()),
        passes=max((one for one in (lines.passes, found.passes) if one is not None), default=None),
        notes=(*_said(lines), *found.gaps(), *found.twice()),
    )


class _Table:
    """Takes rows, and puts those of one launch together."""

    def __init__(self, path: Path, evidence: Evidence) -> None:
        self._path = path
        self._evidence = evidence
        self._header: Header | None = None
        self._columns: dict[int, _Named] | None = None
        self._ids: list[set[int]] = []
        self.passes: int | None = None
        self._names: dict[tuple[str, str, str | None, str | None], _Named] = {}
        self._last: tuple[tuple[str | None, ...], _LaunchRows] | None = None
        self.launches: dict[tuple[object, ...], _LaunchRows] = {}

    def take(self, header: Header, number: int, cells: Sequence[str]) -> None:
        """:raises ReadError: a row of a raw page without its row of units, or an ID of two kernels."""
        if header is not self._header:
            self._header, self._columns, self._last = header, None, None
            self._ids.append(set())
        if header.page == "raw":
            self._raw(header, number, cells)
        elif header.page == "details":
            self._details(header, number, cells)
        else:
            self._summary(header, number, cells)

    def gaps(self) -> Iterator[str]:
        """ncu numbers launches without gaps: some that are missing were filtered out, or lost in the stream."""
        for ids in self._ids:
            if ids and (lacking := max(ids) - min(ids) + 1 - len(ids)):
                between = f"{min(ids)} to {max(ids)}"
                yield f"Not in the file: {lacking} of the launches with IDs from {between}. Sums are without them."

    def _raw(self, header: Header, number: int, cells: Sequence[str]) -> None:
        if not header.get(cells, "ID"):
            self._columns = self._columns or {
                place: _Named.of(name, cells[place].strip()) for place, name in enumerate(header.cells) if "__" in name
            }
            return
        if self._columns is None:
            raise ReadError(
                f"{self._path}:{number}: no row of units below the columns of line {header.line}, so a value may be"
                f" anything. Was it taken out? {how()}"
            )
        one = self._open(header, number, cells)
        for place, named in self._columns.items():
            self._take(one, named, cells[place], number, named.metric)
        if (passes := integer(header.get(cells, _PASSES))) is not None:
            self.passes = max(self.passes or 0, passes)

    def _details(self, header: Header, number: int, cells: Sequence[str]) -> None:
        one = self._open(header, number, cells)
        column = header.column
        place = (header.get(cells, "Section Name"), header.get(cells, "Body Item Label"))
        printed = (cells[column["Metric Name"]], cells[column["Metric Unit"]], *place)
        named = self._names.get(printed)
        if named is None:
            named = self._names[printed] = _Named.of(printed[0].strip(), printed[1].strip(), *place)
        # Rows of rules name no metric.
        if named.metric:
            self._take(one, named, cells[column["Metric Value"]].strip(), number, "Metric Value")

    def _take(self, one: _LaunchRows, named: _Named, text: str, number: int, column: str) -> None:
        one.labelled |= named.label
        if named.telling:
            self._evidence.add(text, number, whole=named.whole)
        if named.wanted:
            one.cells.append(_Cell(named.metric, named.unit, text, number, column))

    def _summary(self, header: Header, number: int, cells: Sequence[str]) -> None:
        identity = ("Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations")
        place = tuple(header.get(cells, name) for name in identity)
        key = (self._table_of(place[0]), *place)
        one = self.launches.get(key)
        if one is not None and (self._last is None or self._last[1] is not one):
            one.again = True
        if one is None:
            invocations = integer(header.get(cells, "Invocations"))
            if not invocations:
                raise ReadError(f"{self._path}:{number}: a kernel with no invocations. {how()}")
            one = self.launches[key] = _begin(header, number, cells)
            one.invocations = invocations
        self._last = (place, one)
        printed, unit = header.get(cells, "Metric Name") or "", header.get(cells, "Metric Unit") or ""
        named = _Named.of(printed, unit, header.get(cells, "Section Name"), header.get(cells, "Body Item Label"))
        for name in ("Minimum", "Maximum"):
            self._evidence.add(header.get(cells, name) or "", number, whole=named.whole)
        # A mean of whole numbers may have decimals.
        self._take(one, replace(named, whole=False), header.get(cells, "Average") or "", number, "Average")

    def _table_of(self, process: str | None) -> int:
        """In which table a launch of the process is looked for: a process numbers its launches once, so in any; where
        the process isn't known, in the one that is read.
        """
        return len(self._ids) if process is None else 0

    def twice(self) -> Iterator[str]:
        """Launches that a log has twice, as one that was appended to: the same process, the same number."""
        if again := sum(one.again for one in self.launches.values()):
            which = f"{again} launch{'' if again == 1 else 'es'} of {len(self.launches)}"
            yield f"More than once in the file (same process and ID), counted once: {which}."

    def _open(self, header: Header, number: int, cells: Sequence[str]) -> _LaunchRows:
        """The launch of the row.

        :raises ReadError: one ID with two kernels.
        """
        printed = tuple(header.get(cells, name) for name in ("ID", "Process ID", "Kernel Name"))
        if self._last is not None and self._last[0] == printed and header.page == "details":
            return self._last[1]
        launch = integer(printed[0])
        assert launch is not None  # else it would be no row
        key = (self._table_of(printed[1]), printed[1], launch)
        self._ids[-1].add(launch)
        one = self.launches.get(key)
        if one is None:
            one = self.launches[key] = _begin(header, number, cells)
        elif one.name != (name := printable(printed[2] or "")):
            raise ReadError(
                f"{self._path}:{number}: launch {launch} is {name!r:.80} here and {one.name!r:.80} in line"
                f" {one.line}. Are these two runs in one file? Give a file of each."
            )
        else:
            one.again = True
        self._last = (printed, one)
        return one


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """What the name or label of a metric and its unit say. ``telling``: its values say how numbers are written."""

    metric: str
    unit: str
    label: bool
    telling: bool
    whole: bool
    wanted: bool

    @staticmethod
    def of(printed: str, unit: str, section: str | None = None, item: str | None = None) -> _Named:
        metric = metric_of(printed, unit, section, item)
        return _Named(
            metric=metric,
            unit=unit,
            label=is_label(printed),
            telling=not metric.startswith(_ATTRIBUTES),
            whole=_whole(metric, unit),
            wanted=dimension(metric) is not None,
        )


def _begin(header: Header, number: int, cells: Sequence[str]) -> _LaunchRows:
    return _LaunchRows(
        name=printable(header.get(cells, "Kernel Name") or ""),
        line=number,
        grid=header.get(cells, "Grid Size"),
        block=header.get(cells, "Block Size"),
        compute_capability=header.get(cells, "CC"),
        ranges=_ranges(header, cells),
    )


def _ranges(header: Header, cells: Sequence[str]) -> tuple[str, ...] | None:
    """Names of the NVTX ranges that the launch was in; None where the table has no column of them."""
    there = _range_columns(header.cells)
    if not there:
        return None
    return tuple(name for place, numbered in there for name in range_names(cells[place], numbered))


_PUSHED, _STARTED = ":Push/Pop_Range:", ":Start/Stop_Range:"
_FIELDS_BEHIND = 6
"""Behind a range's name: type and value of its payload, its colour, and its message."""

_QUOTED = re.compile(r'"([^"]*)"')


@lru_cache(maxsize=8)
def _range_columns(names: tuple[str, ...]) -> tuple[tuple[int, bool], ...]:
    """The place of each column with ranges, and whether an ID stands before the domain in it."""
    return tuple((place, _STARTED in name) for place, name in enumerate(names) if _PUSHED in name or _STARTED in name)


def range_names(cell: str, numbered: bool) -> Iterator[str]:
    """Read the names of the ranges in a cell, outer ones first.

    :param cell: such as ``4711  "<default domain>:timed:none:none:none:none:none:none"``.
    :param numbered: an ID stands before the domain.
    """
    for one in _QUOTED.findall(cell) or [cell.strip()]:
        name = one.split(":", 2 if numbered else 1)[-1].rsplit(":", _FIELDS_BEHIND)[0]
        if name:
            yield printable(name)


def _whole(metric: str, unit: str) -> bool:
    """Whether its values are whole numbers: sums of counters, in the unit that is counted in."""
    if metric in _WHOLE:
        return True
    if not metric.endswith(".sum"):
        return False
    what = dimension(metric)
    return what in ("byte", "count", "time") and factors(unit, what) == (1.0, 1e9 if what == "time" else 1.0)


def _launch(path: Path, found: _LaunchRows, form: NumberFormat, unprinted_why: str) -> Launch:
    """:param unprinted_why: where the metrics are that a page of labels has not.
    :raises ReadError: a cell that is no number, or one metric with two values.
    """
    metrics: dict[str, float] = {}
    absent: dict[str, str] = {}
    for cell in found.cells:
        what = dimension(cell.metric)
        assert what is not None
        value = _value(path, cell, what, form)
        if found.invocations > 1 and what not in _ADDITIVE:
            value = "a mean over launches, of which there is no sum"
        if isinstance(value, str):
            absent.setdefault(cell.metric, value)
            continue
        value *= found.invocations
        before = metrics.setdefault(cell.metric, value)
        if not math.isclose(before, value, rel_tol=_SAME):
            raise ReadError(
                f"{path}:{cell.line}: {cell.metric} of launch {found.name!r:.80} is {cell.text} {cell.unit} here and"
                " another value before. Are these two runs in one file? Give a file of each."
            )
    if found.labelled:
        absent = {**unprinted(metrics, unprinted_why), **absent}
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


def _value(path: Path, cell: _Cell, what: Dimension, form: NumberFormat) -> float | str:
    """The value in base units, or why there is none.

    :raises ReadError: it is no number at all.
    """
    scale = factors(cell.unit, what)
    text = cell.text.strip()
    # Of metrics with instances they follow in parentheses.
    bare = text.removeprefix("(!)").strip().partition(" (")[0] if "(" in text else text
    if bare.lower() in _NOTHING:
        return f"ncu printed {text!r}" if text else "ncu printed nothing"
    if scale is None:
        return f"its unit {cell.unit!r} is not one of {_MEANT[what]}" if cell.unit else "ncu printed no unit"
    try:
        value = form.parse(bare)
    except ValueError as error:
        example = "1,234.5" if form.decimal == "." else "1.234,5"
        raise ReadError(
            f"{path}:{cell.line}: {cell.metric}: {text!r:.80} is no number as the others of this file are, such as"
            f" {example}. {how()}"
        ) from error
    if value < 0:
        return f"ncu printed {text}, which can't be"
    times, over = scale
    scaled = value * times / over
    # A number too small for a float becomes 0, which nobody measured.
    lost = scaled == 0 and re.search("[1-9]", bare.lower().partition("e")[0]) is not None
    if lost or not plausible(scaled):
        raise ReadError(
            f"{path}:{cell.line}: {cell.column}: {text!r:.80} {cell.unit} can't be {cell.metric} of a kernel: in base"
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


# Labels. Which metric one stands for is said by NVIDIA's section files, which ncu delivers (``SpeedOfLight.section``,
# ``SpeedOfLight_RooflineChart.section``, ``MemoryWorkloadAnalysis.section``).

_CLOCK = "SM Frequency"
_SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_OPERATIONS = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma")
"""What the roofline chart has: single and double precision. Of half precision and tensor cores it prints nothing."""

_METRICS: Mapping[str, str] = {
    "Duration": TIME,
    "Memory Throughput": DRAM_RATE,
    "DRAM Bandwidth": DRAM_RATE,
    _CLOCK: "smsp__cycles_elapsed.avg.per_second",
    **{
        f"Predicated-On {one.upper()} Thread Instructions Executed Per Cycle": f"{_SASS.format(one)}.per_cycle_elapsed"
        for one in _OPERATIONS
    },
}

_ACHIEVED = "Single Precision Achieved Value"
"""The part of the roofline chart whose clock is that of the instructions; its roofs have the clock of another unit."""

_AMOUNTS = tuple(BY_NAME[part].asked[0] for name in OF_KERNEL for part in BY_NAME[name].parts or (name,))
"""The metrics of all quantities but FLOPs."""


def is_label(printed: str) -> bool:
    """Whether what stands for a metric is a label alone: names are in lower case, or have ``__``."""
    return bool(printed) and "__" not in printed and not printed.islower()


def metric_of(printed: str, unit: str, section: str | None = None, item: str | None = None) -> str:
    """The metric's own name; what is printed, where that is a label of no quantity.

    :param printed: name, label, or, by ``--print-metric-name label-name``, both.
    :param section: the section it stands in; None where the table doesn't tell.
    :param item: the part of the section.
    """
    if not is_label(printed):
        last = printed.rpartition(" ")[2].strip("()[]")
        return last if "__" in last else printed
    # Two sections have a Memory Throughput: one is a rate, the other its share of the peak.
    if unit == "%" or (printed == _CLOCK and "Roofline" in (section or "") and item != _ACHIEVED):
        return printed
    return _METRICS.get(printed, printed)


def why_unprinted() -> str:
    """Of a metric that a page of labels has no label for: how to get it."""
    return f"not on this page; `{print_command()}` prints it, where the report has it at all"


def unprinted(had: Collection[str], why: str) -> dict[str, str]:
    """Metrics that a page of labels may leave out.

    :param had: what a launch has. Where it has instructions, those are the ones that were collected.
    :param why: what is said of each, by `why_unprinted`.
    """
    instructions = () if any("__sass_thread_inst_executed" in name for name in had) else (_SASS.format(_OPERATIONS[0]),)
    return dict.fromkeys((*_AMOUNTS, *instructions), why)
