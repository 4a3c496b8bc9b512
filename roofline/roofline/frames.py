"""Results as pandas frames: the columns of the commands' tables, under the same names, with units and dtypes.

Units are SI and stand in a column's name and in ``frame.attrs["units"]``. What is missing is ``NA``; `Results.missing`
has the reasons. A list, such as the names of a case's flags, is a text, its items separated by ``"; "``; ``none``
without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from roofline.model.points import Point, cases
from roofline.schema.record import Roof, Rounds
from roofline.show.columns import CASE_COLUMNS, notes_of, parameters_of
from roofline.show.export import PANDAS_TIME, flat, frame, frame_of, frame_of_values
from roofline.show.kernel_tables import KernelLine, kernels_table
from roofline.show.operation_tables import Line, operations_table, taken_apart
from roofline.show.point_tables import ROOF_COLUMNS
from roofline.show.reasons import (
    why_missing,
    why_no_series,
    why_not_of_kernel,
    why_not_of_machine,
    why_not_of_operation,
    why_not_of_roof,
)
from roofline.show.tables import Column, Dtype, Table, plain_value

if TYPE_CHECKING:
    import pandas as pd


Row = TypeVar("Row")

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
        """Why values of the other frames are NA: of each ``table`` and ``column`` the ``reason``.

        ``row`` is the index in that frame, which ``case``, ``machine`` and ``file`` name as well. In `cases` each value
        has a row here; elsewhere values of one case, file or machine that are missing for one reason have one together:
        ``rows`` is how many they are, and ``row`` the first.

        A parameter (``param_...``) is NA where a test has none of that name, a note (``note_...``) where nobody wrote
        it; neither is listed.
        """
        columns = {column.name: column for column in CASE_COLUMNS}
        shown = cases(self.points)
        gaps = [
            *_gaps("cases", self.cases, shown, lambda point: point, lambda point, name: _why_na(point, columns[name])),
            *_gaps("rounds", self.rounds, _point_of_each_round(shown), lambda point: point, why_no_series),
            *_gaps("operations", self.operations, self._operations.rows, _OF_OPERATION, why_not_of_operation),
            *_gaps("kernels", self.kernels, self._kernels.rows, attrgetter("point"), why_not_of_kernel),
            *_gaps("roofs", self.roofs, self._roofs, itemgetter(0), lambda row, name: why_not_of_roof(row[1], name)),
            *_gaps("machines", self.machines, self._machines, lambda point: point, why_not_of_machine),
        ]
        return frame_of_values(
            {
                name: ([gap[place] for gap in gaps], "Int64" if name in ("row", "rows") else "category")
                for place, name in enumerate(_GAP)
            }
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
            count = _round_count(point)
            of_point = {**_key(point), **{column.name: column.get(point) for column in noted}}
            of_rounds = {"round": range(count), **_rounds(point)}
            for name, (column, _) in columns.items():
                values = of_rounds.get(name, ()) if name not in of_point else [of_point[name]] * count
                column.extend(values)
                column.extend([None] * (count - len(values)))
        return frame_of_values(columns)

    @cached_property
    def operations(self) -> pd.DataFrame:
        """A row for each operation of a step that was timed by the profiler, with its speed of light and its bound.

        ``attrs["left_out"]`` says of the other cases why they have none.
        """
        made = frame_of(self._operations)
        _, left_out = taken_apart(cases(self.points))
        made.attrs["left_out"] = {point.id: why for point, why in left_out}
        return made

    @cached_property
    def _operations(self) -> Table[Line]:
        taken, _ = taken_apart(cases(self.points))
        return operations_table(taken)

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """A row for each kernel of a step, by the profiler and by hardware counters."""
        return frame_of(self._kernels)

    @cached_property
    def _kernels(self) -> Table[KernelLine]:
        return kernels_table(cases(self.points))

    @cached_property
    def roofs(self) -> pd.DataFrame:
        """A row for each roof over the cases of a file: measured ones, and published ones where none was."""
        columns: list[Column[Any]] = [
            Column(name="machine", title="", get=lambda row: row[0].result.machine_label, dtype="category"),
            Column(name="file", title="", get=lambda row: row[0].result.name, dtype="category"),
            *(column.of(lambda row: row[1]) for column in ROOF_COLUMNS),
            *(column.of(lambda row: row[0]) for column in notes_of(point for point, _ in self._roofs)),
        ]
        return frame(columns, self._roofs)

    @cached_property
    def _roofs(self) -> list[tuple[Point, Roof]]:
        of_files = {(point.result.path, point.roofs.roofs): point for point in self.points if point.roofs.roofs}
        return [(point, roof) for point in of_files.values() for roof in point.roofs.roofs]

    @cached_property
    def machines(self) -> pd.DataFrame:
        """A row for each machine and label: processor, device, versions, threads and limits."""
        rows = [_machine(point) for point in self._machines]
        names = dict.fromkeys([*_MACHINE_DTYPES, *(name for row in rows for name in row)])
        return frame_of_values({name: ([row.get(name) for row in rows], _machine_dtype(name)) for name in names})

    @cached_property
    def _machines(self) -> list[Point]:
        """A point of each machine and label."""
        first: dict[tuple[str, str], Point] = {}
        for point in self.points:
            first.setdefault((point.result.machine_key, point.result.machine_label), point)
        return list(first.values())


_OF_OPERATION = attrgetter("case.point")

_GAP = ("table", "row", "rows", "case", "machine", "file", "column", "reason")
"""The columns of `Results.missing`."""


def _gaps(
    table: str,
    made: pd.DataFrame,
    rows: Sequence[Row],
    point_of: Callable[[Row], Point],
    why: Callable[[Row, str], str],
) -> list[tuple[Any, ...]]:
    """What `Results.missing` has of one frame: values of `_GAP`.

    :param rows: what its rows were made of.
    """
    import numpy as np

    # Rounds that follow each other are of one point, which tells all that is said of them.
    begins = [row is not before for row, before in zip(rows, [None, *rows], strict=False)]
    owners = [row for row, begun in zip(rows, begins, strict=True) if begun]
    owner_of = np.cumsum(begins) - 1
    places = [_place(table, point_of(row)) for row in owners]
    found: dict[tuple[Any, ...], list[int]] = {}
    for column in (str(name) for name in made.columns if not str(name).startswith(("param_", "note_"))):
        missing = made[column].isna().to_numpy().nonzero()[0]
        distinct, firsts, counts = np.unique(owner_of[missing], return_index=True, return_counts=True)
        for owner, first, count in zip(distinct.tolist(), missing[firsts].tolist(), counts.tolist(), strict=True):
            apart = owner if table == "cases" else 0
            gap = found.setdefault((apart, *places[owner], column, why(owners[owner], column)), [first, 0])
            gap[1] += count
    gaps = [(table, first, count, *of[1:]) for of, (first, count) in found.items()]
    return sorted(gaps, key=itemgetter(1))


def _place(table: str, point: Point) -> tuple[str | None, str, str | None]:
    """The case, machine and file of a row, as far as its table is of one."""
    return (
        None if table in ("roofs", "machines") else point.id,
        point.result.machine_label,
        None if table == "machines" else point.result.name,
    )


def _why_na(point: Point, column: Column[Point]) -> str:
    """Say why a frame has no value: the point has none, or one that the column's dtype doesn't take."""
    if column.dtype == PANDAS_TIME and (value := plain_value(column, point)) is not None:
        return f"no time of ISO 8601: {value}"
    return why_missing(point, column)


_SERIES: dict[str, Dtype] = {
    one.name: "category" if "str" in one.type else "Int64" if "Whole" in one.type else "Float64"
    for one in fields(Rounds)
    if one.name != "steps"
}
"""The series of a round, as `roofline.schema.record.Rounds` has them."""


def _key(point: Point) -> dict[str, str]:
    return {"case": point.id, "machine": point.result.machine_label, "file": point.result.name}


def _point_of_each_round(points: Iterable[Point]) -> list[Point]:
    return [point for point in points for _ in range(_round_count(point))]


def _round_count(point: Point) -> int:
    record = point.benchmark.record
    if record is None:
        return len(point.benchmark.stats.round_times_s or ())
    return 0 if record.timing is None else len(record.timing.rounds.wall_s)


def _rounds(point: Point) -> dict[str, Sequence[Any]]:
    """Give the values of its rounds by column; a series that lacks the last rounds is shorter."""
    record, count = point.benchmark.record, _round_count(point)
    if record is None:
        times = point.benchmark.stats.round_times_s or ()
        return {"steps": [1] * count, "step_time_s": times, "wall_s": times}
    if record.timing is None:
        return {}
    rounds = record.timing.rounds
    return {
        "steps": [rounds.steps] * count,
        "step_time_s": [wall / rounds.steps for wall in rounds.wall_s] if rounds.steps else (),
        **{name: values[:count] for name in _SERIES if (values := getattr(rounds, name)) is not None},
    }


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
