"""The tables of report.md that no command shows."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from roofline.model.point_groups import machine_names
from roofline.model.points import Point
from roofline.results.result import ResultFile
from roofline.schema.amounts import usable
from roofline.show.cases.machines_table import machine_column
from roofline.show.columns import notes_of, parameters_of, pick
from roofline.show.machine_columns import MACHINE_COLUMNS
from roofline.show.tables import Column, Table, grouped, number, words
from roofline.text.units import prefixed, significant


def environments(points: Sequence[Point]) -> Table[Point]:
    """A row for each machine and label."""
    columns: list[Column[Point]] = [
        machine_column(points),
        *pick("device_kind", "device"),
        *_of_result("device_memory_byte", "cpu", "cpu_count", "memory_byte", "os"),
        *pick("version_python", "version_torch", "version_cuda", "version_cudnn", "version_driver"),
        *notes_of(points),
    ]
    setups = grouped(points, lambda point: (point.machine, tuple(_noted(point).items())))
    return Table(title="Environments", columns=columns, rows=[own[0] for own in setups.values()])


def _noted(point: Point) -> Mapping[str, str]:
    return {} if point.result.session is None else point.result.session.noted


def _of_result(*names: str, of: str = "result") -> list[Column[Any]]:
    """Columns of machines.

    :param of: where a row has the result.
    """
    return [column.of(attrgetter(of)) for column in MACHINE_COLUMNS if column.name in names]


def matrix(points: Sequence[Point]) -> Table[list[Point]]:
    """List what was run: a row for each model and mode on each machine."""
    names = machine_names(points)
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in points:
        if point.benchmark.record is not None:
            case = point.benchmark.record.case
            groups.setdefault((point.machine, case.model, case.mode), []).append(point)
    columns: list[Column[list[Point]]] = [
        words("machine", get=lambda group: names[group[0].machine]),
        *(
            words(column.name, column.title, _values(column))
            for column in pick(
                *("model", "mode", "precision", "batch", "layout", "data", "protocol", "warmup_steps", "measured_steps")
            )
        ),
        number("cases", get=len),
    ]
    return Table(title="Run matrix", columns=columns, rows=list(groups.values()))


def _values(column: Column[Point]) -> Callable[[list[Point]], str | None]:
    """All that a column has in the cases: each once; of many numbers the ends."""

    def get(group: list[Point]) -> str | None:
        found = {value for point in group if (value := column.get(point)) is not None}
        if len(found) > _MOST_VALUES and all(isinstance(value, int) for value in found):
            return f"{min(found)} to {max(found)}"
        return ", ".join(map(str, sorted(found))) or None

    return get


_MOST_VALUES = 6


def complexity(points: Sequence[Point]) -> Table[Point]:
    """Show what a step has to do: a row for each workload, the same on every machine."""
    rows = [
        point
        for point, *_ in grouped(points, lambda point: point.workload).values()
        if point.mode in ("train", "infer") and point.benchmark.record is not None and point.benchmark.record.work
    ]
    columns: list[Column[Point]] = [
        *pick("case", "parameter_count", "flop_per_step"),
        number("flop_per_sample", "FLOP/sample", _flop_per_sample, prefixed),
        *pick("activation_byte", "saved_for_backward_byte", "byte_low_per_step", "byte_high_per_step", "intensity"),
    ]
    return Table(title="Work of a step", columns=columns, rows=rows)


def _flop_per_sample(point: Point) -> float | None:
    record = point.benchmark.record
    if record is None or record.work is None or record.own_samples_per_step < 1:
        return None
    return record.work.flop_per_step / record.own_samples_per_step


def timings(points: Sequence[Point]) -> Table[Point]:
    """Show how each case was timed and what came out."""
    columns = [
        machine_column(points),
        *pick("case"),
        *parameters_of(points),
        *pick("step_time_s", "spread", "margin", "samples_per_s", "samples_per_s_sd", "rounds"),
        *pick("rounds_left_out", "stop_reason", "real_s", "user_s", "system_s", "max_rss_byte", "input_share"),
        *pick("flop_per_step", "byte_low_per_step", "byte_high_per_step"),
    ]
    return Table(title="Timing", columns=columns, rows=points)


def placements(points: Sequence[Point]) -> Table[Point]:
    """Show where each case stands under the roofs."""
    columns = pick(
        *("case", "attained_flop_per_s", "intensity", "provenance", "knee_flop_per_byte", "fraction_of_roof"),
        *("fraction_of_speed_of_light", "roof_source", "bound", "bound_why"),
    )
    return Table(title="Points", columns=columns, rows=points)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRuns:
    """A workload on one machine at one commit. ``samples_per_s`` and ``sd`` are of the runs; of a single one, of its
    rounds or repeats.
    """

    point: Point
    runs: int
    samples_per_s: float | None
    sd: float | None


def measurements(points: Sequence[Point]) -> Table[CaseRuns]:
    """The table at the end of a report: environment, label, case, runs, throughput, FLOP/s, intensity, bound."""
    groups = grouped(
        points, lambda point: (point.machine, point.workload, point.result.commit or str(point.result.path))
    )
    rows = [_measured(group) for group in groups.values()]
    columns: list[Column[CaseRuns]] = [
        *pick("device_kind", of="point"),
        *_of_result("cpu", of="point.result"),
        *notes_of(points, of="point"),
        machine_column(points, of="point"),
        *pick("case", of="point"),
        *parameters_of(points, of="point"),
        *pick("model", "mode", "precision", "batch", of="point"),
        number("runs"),
        number("throughput", "samples/s\nmean ± sd", _mean_and_sd, _with_sd),
        *pick("step_time_s", "attained_flop_per_s", "intensity", "bound", "flags", of="point"),
    ]
    notes = [
        "Mean and standard deviation are of the runs at one commit; of a single run, of its rounds or repeats. All else"
        " is of the newest run"
    ]
    return Table(title="Measurements", columns=columns, rows=rows, notes=notes)


def _measured(group: Sequence[Point]) -> CaseRuns:
    last = max(group, key=lambda point: (point.result.when, str(point.result.path)))
    sound = [point for point in group if point.valid and usable(point.step_time_s or 0.0)]
    rates = [rate for point in sound if (rate := point.samples_per_s) is not None]
    if len(rates) > 1:
        return CaseRuns(point=last, runs=len(rates), samples_per_s=statistics.fmean(rates), sd=statistics.stdev(rates))
    (deviation,) = pick("samples_per_s_sd")
    return CaseRuns(point=last, runs=max(1, len(sound)), samples_per_s=last.samples_per_s, sd=deviation.get(last))


def _mean_and_sd(row: CaseRuns) -> tuple[float, float | None] | None:
    return None if row.samples_per_s is None else (row.samples_per_s, row.sd)


def _with_sd(value: tuple[float, float | None]) -> str:
    mean, deviation = value
    return significant(mean) if deviation is None else f"{significant(mean)} ± {significant(deviation, 2)}"


def commands(points: Sequence[Point]) -> Table[Any]:
    """A row for each run: when, of which code, and the command that repeats it."""
    columns: list[Column[Point]] = [
        machine_column(points),
        words("started", "started", lambda point: point.result.started_at),
        words("commit", "commit", lambda point: point.result.commit),
        words("changed", "with changes", _changed, lambda dirty: "yes" if dirty else "no"),
        words("command", "command", lambda point: _command(point.result)),
        *pick("file"),
    ]
    runs = grouped(points, lambda point: point.result.path)
    return Table(title="Runs", columns=columns, rows=[own[0] for own in runs.values()])


def _changed(point: Point) -> bool | None:
    """Tell whether the code had changes beside its commit; None without one."""
    return None if point.result.commit is None else point.result.commit_dirty


def _command(result: ResultFile) -> str | None:
    return None if result.session is None else shlex.join(("pytest", *result.session.arguments))
