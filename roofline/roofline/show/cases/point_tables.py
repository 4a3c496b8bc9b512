"""The tables of `roofline points`, where each case stands, and of `roofline metrics`, everything known of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from roofline.counters.quantities import QUANTITIES
from roofline.machine.roof_choice import doubts
from roofline.model.points import Point
from roofline.results.result import ResultFile
from roofline.show.columns import CASE_COLUMNS, notes_of, parameters_of, pick
from roofline.show.tables import Column, Table, number
from roofline.text.units import prefixed, short_commit, significant, some_of

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


def points_table(points: Sequence[Point]) -> Table[Point]:
    """A row a case: what ``roofline_points.csv`` holds. Those of several runs stand below their run's heading."""
    parameters = parameters_of(points)
    return Table(
        title="Points on the roofline",
        columns=[*_POINT_COLUMNS, *parameters, *notes_of(points)],
        rows=points,
        display=[*pick("case"), *parameters, *standing_columns(points), *pick("flags")],
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
    """Find what heads the rows of a run; None where all are of one. Runs alike in all else are told by their path."""
    headings = {point.result.path: run_heading(point.result) for point in points}
    if len(headings) < 2:
        return None
    alike = {heading for heading, count in Counter(headings.values()).items() if count > 1}
    named = {path: f"{one} ({path})" if one in alike else one for path, one in headings.items()}
    return lambda point: named[point.result.path]


def standing_columns(points: Sequence[Point]) -> list[Column[Point]]:
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


def run_heading(result: ResultFile) -> str:
    """A run in a line: machine, device, start, place in its set, what was noted of it, commit."""
    parts = [result.machine_label]
    if result.machine is not None and result.machine.device.name not in parts[0]:
        parts.append(result.machine.device.name)
    if (when := result.started_at) is not None:
        parts.append(when)
    if result.session is not None and result.session.set is not None:
        parts.append(f"session {result.session.set.index} of {result.session.set.count}")
    if result.session is not None and result.session.shard is not None:
        parts.append(f"shard {result.session.shard.index} of {result.session.shard.count}")
    if result.session is not None:
        parts += [f"{name} {value}" for name, value in result.session.noted.items()]
    if result.commit:
        parts.append(f"commit {short_commit(result.commit)}{' (changed)' if result.commit_dirty else ''}")
    return ", ".join(parts)
