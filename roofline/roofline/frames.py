"""Results as pandas frames: the columns of the commands' tables, under the same names, with units and dtypes.

Units are SI and stand in a column's name and in ``frame.attrs["units"]``. What is missing is ``NA``; `Results.missing`
has the reasons. A list, such as the names of a case's flags, is a text, its items separated by ``"; "``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from roofline.model.points import Point, cases
from roofline.schema.record import Rounds
from roofline.show.columns import CASE_COLUMNS, notes_of, parameters_of, why_missing
from roofline.show.export import flat, frame, frame_of, frame_of_values
from roofline.show.kernel_tables import kernels_table
from roofline.show.operation_tables import operations_table, taken_apart
from roofline.show.point_tables import ROOF_COLUMNS
from roofline.show.tables import Column, Dtype, plain_value

if TYPE_CHECKING:
    import pandas as pd


FRAMES = ("cases", "rounds", "operations", "kernels", "roofs", "machines", "missing")
"""The names of what `Results` has."""


class Results:
    """Results that were read, as frames; each is made when it is first asked for.

    Frames are joined by ``case``, ``machine`` (its label) and ``file``: its name, or as much of its path as tells it
    from others of that name. What was noted of a run stands in all rows of it, in columns ``note_...``. ``points`` are
    the benchmarks they are made of, placed and judged; ``skipped`` says of the files of folders that were left out why.
    """

    def __init__(self, points: Iterable[Point], skipped: Iterable[str] = ()) -> None:
        self.points = tuple(points)
        self.skipped = tuple(skipped)

    def __repr__(self) -> str:
        files = {point.result.path for point in self.points}
        return f"<Results: {len(cases(self.points))} cases of {len(files)} files>"

    @cached_property
    def cases(self) -> pd.DataFrame:
        """A row for each case and session, with all columns of `roofline points` and `roofline metrics`.

        ``attrs["notes"]`` says what was left out of the files, and which files of folders were, as the commands do.
        """
        shown = cases(self.points)
        made = frame([*CASE_COLUMNS, *parameters_of(shown), *notes_of(shown)], shown)
        files = {point.result.path: point.result for point in self.points}
        made.attrs["notes"] = [
            *(f"skipped {reason}" for reason in self.skipped),
            *(note for file in files.values() for note in file.notes),
        ]
        return made

    @cached_property
    def missing(self) -> pd.DataFrame:
        """Why a value of `cases` is NA: ``row`` (its index there), ``case``, ``column`` and ``reason``.

        A parameter (``param_...``) is NA where a test has none of that name, a note (``note_...``) where nobody wrote
        it; neither is listed.
        """
        absent = {column.name: self.cases[column.name].isna().to_list() for column in CASE_COLUMNS}
        rows = [
            (index, point.id, column.name, _why_na(point, column))
            for index, point in enumerate(cases(self.points))
            for column in CASE_COLUMNS
            if absent[column.name][index]
        ]
        names: tuple[tuple[str, Dtype], ...] = (
            *(("row", "Int64"), ("case", "category"), ("column", "category"), ("reason", "category")),
        )
        return frame_of_values(
            {name: ([row[place] for row in rows], dtype) for place, (name, dtype) in enumerate(names)}
        )

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """A row for each timed round: its steps and times, and what the machine reported meanwhile."""
        columns: dict[str, tuple[list[Any], Dtype]] = {
            **{name: ([], "category") for name in ("case", "machine", "file")},
            **{name: ([], "Int64") for name in ("round", "steps")},
            "step_time_s": ([], "Float64"),
            **{name: ([], dtype) for name, dtype in _SERIES.items()},
        }
        shown = cases(self.points)
        noted = notes_of(shown)
        columns |= {column.name: ([], "category") for column in noted}
        for point in shown:
            of_point = {**_key(point), **{column.name: column.get(point) for column in noted}}
            for index, values in enumerate(_rounds(point)):
                row = {**of_point, "round": index, **values}
                for name, (column, _) in columns.items():
                    column.append(row.get(name))
        return frame_of_values(columns)

    @cached_property
    def operations(self) -> pd.DataFrame:
        """A row for each operation of a step that was timed by the profiler, with its speed of light and its bound.

        ``attrs["left_out"]`` says of the other cases why they have none.
        """
        taken, left_out = taken_apart(cases(self.points))
        made = frame_of(operations_table(taken))
        made.attrs["left_out"] = {point.id: why for point, why in left_out}
        return made

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """A row for each kernel of a step, by the profiler and by hardware counters."""
        return frame_of(kernels_table(cases(self.points)))

    @cached_property
    def roofs(self) -> pd.DataFrame:
        """A row for each roof over the cases of a file: measured ones, and published ones where none was."""
        of_files = {(point.result.path, point.roofs.roofs): point for point in self.points if point.roofs.roofs}
        rows = [(point, roof) for point in of_files.values() for roof in point.roofs.roofs]
        columns: list[Column[Any]] = [
            Column(name="machine", title="", get=lambda row: row[0].result.machine_label, dtype="category"),
            Column(name="file", title="", get=lambda row: row[0].result.name, dtype="category"),
            *(column.of(lambda row: row[1]) for column in ROOF_COLUMNS),
            *(column.of(lambda row: row[0]) for column in notes_of(of_files.values())),
        ]
        return frame(columns, rows)

    @cached_property
    def machines(self) -> pd.DataFrame:
        """A row for each machine and label: processor, device, versions, threads and limits."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for point in self.points:
            rows.setdefault((point.result.machine_key, point.result.machine_label), _machine(point))
        names = dict.fromkeys([*_MACHINE_DTYPES, *(name for row in rows.values() for name in row)])
        return frame_of_values(
            {name: ([row.get(name) for row in rows.values()], _machine_dtype(name)) for name in names}
        )


def _why_na(point: Point, column: Column[Point]) -> str:
    """Say why a frame has no value: the point has none, or one that the column's dtype doesn't take."""
    value = plain_value(column, point)
    return why_missing(point, column) if value is None else f"no time of ISO 8601: {value}"


_SERIES: dict[str, Dtype] = {
    one.name: "category" if "str" in one.type else "Int64" if "Whole" in one.type else "Float64"
    for one in fields(Rounds)
    if one.name != "steps"
}
"""The series of a round, as `roofline.schema.record.Rounds` has them."""


def _key(point: Point) -> dict[str, str]:
    return {"case": point.id, "machine": point.result.machine_label, "file": point.result.name}


def _rounds(point: Point) -> Iterable[dict[str, Any]]:
    record = point.benchmark.record
    if record is None:
        times = point.benchmark.stats.round_times_s or ()
        return ({"steps": 1, "step_time_s": time, "wall_s": time} for time in times)
    if record.timing is None:
        return ()
    rounds = record.timing.rounds
    series = {name: values for name in _SERIES if (values := getattr(rounds, name)) is not None}
    return (
        {
            "steps": rounds.steps,
            "step_time_s": wall / rounds.steps if rounds.steps else None,
            **{name: values[index] for name, values in series.items() if index < len(values)},
        }
        for index, wall in enumerate(rounds.wall_s)
    )


_MACHINE_DTYPES: dict[str, Dtype] = {
    "fingerprint": "string",
    "machine": "category",
    "device_kind": "category",
    "device": "category",
    "device_memory_byte": "Int64",
    "last_level_cache_byte": "Int64",
    "compute_capability": "string",
    "cpu": "category",
    "cpu_count": "Int64",
    "memory_byte": "Int64",
    "os": "category",
}
"""Of the columns that every machine has."""

_LIMIT_DTYPES: dict[str, Dtype] = {
    "limit_affinity_cpus": "Int64",
    "limit_effective_cpus": "Int64",
    "limit_cgroup_cpu_quota_cpus": "Float64",
    "limit_container": "boolean",
    "limit_cpu_governor": "category",
    "limit_power_limit_w": "Float64",
}
"""Of limits that may be unknown; the others are in a record only where they are known."""


def _machine_dtype(name: str) -> Dtype | Literal[""]:
    if name.startswith("version_"):
        return "string"
    if name.startswith("threads_"):
        return "Int64"
    known: dict[str, Dtype | Literal[""]] = {**_MACHINE_DTYPES, **_LIMIT_DTYPES}
    return known.get(name, "")


def _machine(point: Point) -> dict[str, Any]:
    result = point.result
    row: dict[str, Any] = {"fingerprint": result.machine_key, "machine": result.machine_label}
    if result.machine is None:
        host = result.host
        return {**row, "cpu": host.cpu, "cpu_count": host.cpus, "os": host.system, "version_python": host.python}
    machine, device = result.machine, result.machine.device
    return {
        **row,
        "device_kind": device.kind,
        "device": device.name,
        "device_memory_byte": device.memory_byte,
        "last_level_cache_byte": device.last_level_cache_byte,
        "compute_capability": device.compute_capability,
        "cpu": machine.cpu,
        "cpu_count": machine.cpu_count,
        "memory_byte": machine.memory_byte,
        "os": machine.os,
        **{f"version_{name}": value for name, value in machine.versions.items()},
        **{f"threads_{name}": value for name, value in machine.threads.items()},
        **{f"limit_{name}": flat(value) for name, value in machine.limits.items()},
    }
