"""The tables of cases: `points` (where each stands), `metrics` (everything known of each) and the summary of a run."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from roofline.counters.quantities import QUANTITIES
from roofline.machine.roof_choice import doubts
from roofline.model import input_pipeline
from roofline.model.bounds import NEAR_KNEE, STRADDLES
from roofline.model.points import Point, cases
from roofline.results.result import ResultFile
from roofline.schema.session import NotMeasured, Roof
from roofline.show.columns import CASE_COLUMNS, notes_of, parameters_of, pick, started_at
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import counted, minute, percent, prefixed, scaled, significant, some_of
from roofline.text.wrapping import cut

_COUNTED_BYTES = tuple(f"counter_{one.name}_per_step" for one in QUANTITIES if one.unit == "B")

_POINT_COLUMNS = pick(
    *("machine", "device_kind", "device", "case", "workload_hash", "model", "mode", "batch", "precision", "layout"),
    *("data", "samples_per_s", "samples_per_s_sd", "sample_unit", "step_time_s", "step_time_sd_s", "margin"),
    *("rounds_left_out", "flop_per_step", "byte_low_per_step", "byte_high_per_step", "attained_flop_per_s"),
    *("time_basis", "provenance", "flop_source", "counter_status", "tensor_share", *_COUNTED_BYTES),
    *("intensity_low_flop_per_byte", "intensity_high_flop_per_byte"),
    *("compute_roof_flop_per_s", "memory_roof_byte_per_s", "memory_level", "roof_source", "knee_flop_per_byte"),
    *("fraction_of_roof_low", "fraction_of_roof_high", "fraction_of_compute_roof", "speed_of_light_s"),
    *("fraction_of_speed_of_light", "bound", "bound_why", "bound_evidence", "plottable", "why_not_plottable"),
    *("valid", "flags", "label", "started_at", "session", "session_set", "file", "test"),
)
"""What places a case; `metrics` has every column."""


def _rate(point: Point) -> tuple[float, float | None] | None:
    """Samples per second, and the margin of the step time, which is theirs."""
    return None if point.samples_per_s is None else (point.samples_per_s, point.margin)


def _with_margin(rate: tuple[float, float | None], digits: int = 2) -> str:
    """:param digits: of a margin below 10 %."""
    value, margin = rate
    if margin is None:
        return significant(value)
    return f"{significant(value)} ±{significant(100 * margin, digits if margin < 0.1 else 2)}%"


_STANDING: tuple[Column[Point], ...] = (
    # Throughput and margin in one column: neither gives way to another.
    number("throughput", "samples/s\n± margin", _rate, _with_margin, narrow=partial(_with_margin, digits=1)),
    *(replace(column, narrow=lambda value: prefixed(value).replace(" ", "")) for column in pick("attained_flop_per_s")),
    # ``.21-.31`` for ``0.21-0.31``
    *(
        replace(column, narrow=lambda text: re.sub(r"\b0\.", ".", text))
        for column in pick("intensity", "fraction_of_roof")
    ),
    *pick("fraction_of_speed_of_light", "bound"),
)
"""What a case's row shows after its name: how fast, how far from its limits, and which limit it is."""

_TIMED = pick("step_time_s", "spread")


ROOF_COLUMNS: tuple[Column[Roof], ...] = (
    words("roof", get="name", dtype="category"),
    number("value"),
    words("unit", dtype="category"),
    number("spread", show=percent),
    words("source", dtype="category"),
    words("measured_at", "when", dtype="datetime64[us, UTC]"),
    words("from_file", "from", dtype="category"),
    words("disturbed"),
    words("kernel"),
    words("detail", "how counted"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotated:
    """A point and the numbers of the notes below the table that speak of it."""

    point: Point
    notes: tuple[int, ...]
    block: str = ""


class RoofOfFile(NamedTuple):
    """A roof, and a case under it."""

    point: Point
    roof: Roof


def all_roofs_table(points: Iterable[Point]) -> Table[RoofOfFile]:
    """A row for each roof over the cases of a file: measured ones, and published ones where none was."""
    # All cases of a device have the same object of its roofs, and the hash of one takes long.
    shared = {id(point.roofs): point for point in points if point.roofs.roofs}
    of_files = {(point.result.path, point.roofs.roofs): point for point in shared.values()}
    return Table(
        title="Roofs",
        columns=[
            *pick("machine", "file", of="point"),
            *(column.of(attrgetter("roof")) for column in ROOF_COLUMNS),
            *notes_of(of_files.values(), of="point"),
        ],
        rows=[RoofOfFile(point, roof) for point in of_files.values() for roof in point.roofs.roofs],
    )


def points_table(points: Sequence[Point]) -> Table[Point]:
    """A row a case: what ``roofline_points.csv`` holds. Those of several runs stand below their run's heading."""
    parameters = parameters_of(points)
    return Table(
        title="Points on the roofline",
        columns=[*_POINT_COLUMNS, *parameters, *notes_of(points)],
        rows=points,
        display=[*pick("case"), *parameters, *_standing(points), *pick("flags")],
        section=_run_of(points),
        section_title="run",
        notes=_doubtful_roofs(points),
    )


def _doubtful_roofs(points: Sequence[Point]) -> list[str]:
    """At most a line: which roofs over the points may be wrong."""
    found = {
        point.result.path: doubtful
        for point in points
        if (doubtful := doubts(point.roofs.roofs, point.roofs.published))
    }
    names = sorted({name for doubtful in found.values() for name in doubtful})
    if not found:
        return []
    files = some_of([path.name for path in found])
    return [f"Doubtful roofs ({', '.join(names)}) in {files}: `roofline summary` says why"]


def metrics_table(points: Sequence[Point]) -> Table[Point]:
    """A row a benchmark, roofs included: what ``metrics.csv`` holds. Those of several runs stand below their run's
    heading.
    """
    parameters = parameters_of(points)
    run = _run_of(points)
    return Table(
        title="Metrics",
        columns=[*CASE_COLUMNS, *parameters, *notes_of(points)],
        rows=points,
        display=[
            *pick("case", *(("machine",) if run is None else ())),
            *parameters,
            *pick("warmup_steps", "measured_steps", "elapsed_s", "user_s", "system_s", "max_rss_byte", "samples_per_s"),
            *pick("samples_per_s_sd", "step_time_s", "latency_median_s", "input_share", "data"),
        ],
        section=run,
        section_title="run",
    )


def _run_of(points: Sequence[Point]) -> Callable[[Point], str] | None:
    """What heads the rows of a run; None where all are of one. Runs that nothing else tells apart have their path."""
    headings = {point.result.path: _heading(point.result) for point in points}
    if len(headings) < 2:
        return None
    alike = {heading for heading, count in Counter(headings.values()).items() if count > 1}
    named = {path: f"{one} ({path})" if one in alike else one for path, one in headings.items()}
    return lambda point: named[point.result.path]


def _standing(points: Sequence[Point]) -> list[Column[Point]]:
    """The heading of the throughput speaks of a margin where a row has one. Of rows without a record only their time is
    known.
    """
    without = sum(point.benchmark.record is None for point in points)
    if points and without == len(points):
        return list(_TIMED)
    throughput, *others = _STANDING
    if all(point.margin is None for point in points):
        throughput = replace(throughput, title="samples\n/s")
    return [throughput, *(_TIMED[:1] if without else ()), *others]


def summary_table(result: ResultFile, points: Sequence[Point], *, verbose: bool = False) -> Table[_Annotated]:
    """A row a case of one run, with notes: what is said against a number, and why a bound is not determined.

    :param verbose: with the evidence of each case. Else a note is a line, and what is invalid has its first evidence.
    """
    texts: dict[str, list[tuple[str, str]]] = {}
    rows = []
    for point in points:
        for heading, evidence in _remarks(point):
            texts.setdefault(heading, []).extend([(point.id, evidence)] if evidence else [])
        numbers = [list(texts).index(heading) + 1 for heading, _ in _remarks(point)]
        rows.append(_Annotated(point=point, notes=tuple(numbers)))
    columns = [column.of(attrgetter("point")) for column in (*pick("case"), *parameters_of(points), *_standing(points))]
    numbered = words("notes", "flags", lambda row: sorted(row.notes), lambda numbers: ",".join(map(str, numbers)))
    notes = []
    for index, heading in enumerate(texts, 1):
        with_it = sum(index in row.notes for row in rows)
        notes += _note(index, heading, texts[heading], None if verbose else with_it)
    notes += [f"input: {line}" for line in input_pipeline.lines(result, verbose=verbose)]
    notes += _not_measured(result, verbose=verbose)
    if not verbose and any(texts.values()):
        notes.append(f"{_EVIDENCE}: roofline summary {result.path} -v")
    return Table(title=_heading(result), columns=[*columns, numbered], rows=rows, notes=notes)


_LEAST_ROWS = 3
"""Of a run's cases, shown on a screen that has too few lines."""

_NOTE_INDENT = 4
"""Columns that a note below a table can't use."""


def tables_that_fit(
    tables: Sequence[Table[Any]], points: Sequence[Point], height: int, width: int, lines_of: Callable[..., int]
) -> list[Table[Any]]:
    """The tables of a run; where they have more lines than a screen, its telling cases with notes of a line each.

    :param tables: as `run_tables` makes them, of these points.
    :param height: lines of the screen.
    :param width: columns of the screen.
    :param lines_of: how many lines tables take.
    """
    of_cases, of_roofs = tables
    shown, fitted = cases(points), [*tables]
    # What a case's fractions are made of makes room for its name.
    columns = [one for one in of_cases.columns if one.name not in ("attained_flop_per_s", "intensity")]
    notes = [*of_roofs.notes, *(note for note in of_cases.notes if not note.startswith(_EVIDENCE))]
    most = len(of_cases.rows)
    while lines_of(fitted) > height and most > _LEAST_ROWS:
        # How many lines its name takes differs from row to row.
        most = min(most - 1, height)
        chosen = [replace(of_cases.rows[place], block=block) for block, place in telling(shown, most)]
        all_of_them = f"{len(chosen)} of {len(shown)} cases. All: roofline summary {shown[0].result.path} -v"
        fitted = [
            replace(
                of_cases,
                columns=columns,
                rows=chosen,
                section=attrgetter("block"),
                notes=[*(cut(note, width - _NOTE_INDENT) for note in notes), all_of_them],
            )
        ]
    return fitted


def telling(points: Sequence[Point], most: int) -> list[tuple[str, int]]:
    """Choose at most ``most`` points: the heading of the block that each stands in, and its place among them all.

    First those that are invalid and, in a third of the rows with these, those whose margin was not reached. Then as
    many that are nearest to their roofs as are furthest from them, or have no place under them.
    """
    ranked = sorted(range(len(points)), key=lambda place: -(points[place].placement.fraction_high or 0.0))
    invalid = [place for place in ranked if not points[place].valid]
    missed = [place for place in ranked if points[place].valid and _misses_margin(points[place])]
    first = [*invalid, *missed[: max(0, math.ceil(most / 3) - len(invalid))]][:most]
    rest = [place for place in ranked if place not in first]
    left = min(most - len(first), len(rest))
    far = left // 2
    blocks = {
        "Need attention": first,
        "Nearest to their roofs": rest[: left - far],
        "Furthest from them, or not placed": rest[len(rest) - far :][::-1],
    }
    return [(block, place) for block, of_block in blocks.items() for place in of_block]


def _misses_margin(point: Point) -> bool:
    return any(flag.name == "margin" for flag in point.flags)


def roofs_table(points: Sequence[Point]) -> Table[Roof]:
    """The roofs over these points, each with its source; published ones only where a point needs them.

    :param points: of one device.
    """
    roofs = points[0].roofs
    records = [point.benchmark.record for point in points]
    works = [record.work for record in records if record is not None and record.work is not None]
    needed = {"dram"}.union(*(work.dtypes for work in works))
    shown = [roof for roof in roofs.roofs if roof.source == "measured" or roof.name in needed]
    knees = {roof.name: roofs.knee_flop_per_byte(roof.name) for roof in shown if roof.kind == "flop"}
    display: list[Column[Roof]] = [
        words("roof", get="name"),
        number("value", get=lambda roof: scaled(roof.value, roof.unit)),
        number("knee", "knee\nFLOP/byte", lambda roof: knees.get(roof.name), significant, drop=4),
        number("spread", show=percent, drop=3),
        words("source"),
        words("when", "when (UTC)", "measured_at", minute, drop=1),
        words("by", "kernel or document", lambda roof: roof.kernel or roof.detail, drop=5),
    ]
    older = sorted({roof.from_file for roof in shown if roof.from_file is not None})
    notes = [f"Taken over from an earlier run of this machine: {', '.join(older)}"] if older else []
    notes += roofs.notices
    if not shown:
        notes.append(f"None: {roofs.why_none}")
    return Table(title="Roofs", columns=ROOF_COLUMNS, rows=shown, display=display, notes=notes)


def run_tables(result: ResultFile, points: Sequence[Point], *, verbose: bool) -> list[Table[Any]]:
    """A run's cases, and the roofs in use; of a run without cases the roofs that it measured."""
    shown = cases(points)
    return [summary_table(result, shown, verbose=verbose), roofs_table(shown or points)]


def _remarks(point: Point) -> list[tuple[str, str | None]]:
    """Headings, equal for what can stand under one number, and the evidence of this case."""
    remarks: list[tuple[str, str | None]] = [
        (f"{flag.name}{_INVALID if flag.invalid else ''}", flag.evidence) for flag in point.flags
    ]
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    if timing is not None and timing.compile_s is not None:
        remarks.append(("compiled", f"{scaled(timing.compile_s, 's')} before its first step was done"))
    bound = point.bound
    if bound.kind == "undetermined" and not any(flag.evidence in bound.evidence for flag in point.flags):
        # Range and knee stand in the tables already.
        known = bound.why in (STRADDLES, NEAR_KNEE) or point.mode == "input"
        remarks.append((f"undetermined: {bound.why}", None if known else bound.evidence))
    if point.sol.time_s is None and point.roofs.roofs and point.mode in ("train", "infer"):
        remarks.append((f"no speed of light: {point.sol.why_none}", None))
    return remarks


def _note(index: int, heading: str, lines: Sequence[tuple[str, str]], count: int | None) -> list[str]:
    """The heading and the evidence of each case; evidence that is the same for several stands there once.

    :param count: say only how many cases these are.
    """
    if count is not None:
        first = f", first {': '.join(lines[0])}" if lines and heading.endswith(_INVALID) else ""
        return [f"[{index}] {heading}: {counted(count, 'case')}{first}"]
    cases: dict[str, list[str]] = {}
    for case, evidence in lines:
        cases.setdefault(evidence, []).append(case)
    return [f"[{index}] {heading}", *(f"    {', '.join(named)}: {evidence}" for evidence, named in cases.items())]


_INVALID = " (invalid)"
_EVIDENCE = "Evidence of each case"


def _heading(result: ResultFile) -> str:
    parts = [result.machine_label]
    if result.machine is not None and result.machine.device.name not in parts[0]:
        parts.append(result.machine.device.name)
    if (when := started_at(result)) is not None:
        parts.append(when)
    if result.session is not None and result.session.set is not None:
        parts.append(f"session {result.session.set.index} of {result.session.set.count}")
    if result.session is not None and result.session.shard is not None:
        parts.append(f"shard {result.session.shard.index} of {result.session.shard.count}")
    if result.session is not None:
        parts += [f"{name} {value}" for name, value in result.session.noted.items()]
    if result.commit:
        parts.append(f"commit {result.commit[:10]}{' (changed)' if result.commit_dirty else ''}")
    return ", ".join(parts)


def _not_measured(result: ResultFile, *, verbose: bool) -> list[str]:
    """:param verbose: a line a case. Else a line for all that are of one outcome, which of a single case says why."""
    outcomes: dict[str, list[NotMeasured]] = {}
    for case in () if result.session is None else result.session.not_measured:
        outcomes.setdefault(case.outcome, []).append(case)
    lines: list[str] = []
    for outcome, of in outcomes.items():
        if verbose or len(of) == 1:
            lines += [f"{case.id}: {case.why}" for case in of]
        else:
            lines.append(f"{outcome.replace('_', ' ')}: {len(of)} cases ({some_of([case.id for case in of], 2)})")
    return lines
