"""Results as pandas frames: the columns of the commands' tables, under the same names, with units and dtypes.

Units are SI and stand in a column's name and in ``frame.attrs["units"]``. What is missing is ``NA``; `Results.missing`
has the reasons. A list, such as the names of a case's flags, is a text, its items separated by ``"; "``; ``none``
without any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from itertools import chain, islice, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from roofline.model.point_groups import cases
from roofline.model.points import Point
from roofline.schema.record import Rounds
from roofline.show.cases.roof_tables import RoofOfFile, all_roofs_table
from roofline.show.columns import CASE_COLUMNS, notes_of, parameters_of, pick
from roofline.show.export import PANDAS_TIME, frame, frame_of, frame_of_values
from roofline.show.machine_columns import machine_columns
from roofline.show.reasons import (
    why_missing,
    why_no_series,
    why_not_of_kernel,
    why_not_of_machine,
    why_not_of_operation,
    why_not_of_roof,
)
from roofline.show.step.kernel_tables import KernelLine, kernels_table
from roofline.show.step.operation_tables import Line, operations_table, taken_apart
from roofline.show.tables import Column, Dtype, Table, grouped, plain_value

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
        """Say why values of the other frames are NA: of each ``table`` and ``column`` the ``reason``.

        ``row`` is the index in that frame, which ``case``, ``machine`` and ``file`` name as well. Values of one case,
        file or machine that are missing for one reason have one row together: ``rows`` is how many they are, and
        ``row`` the first.

        A parameter (``param_...``) is NA where a test has none of that name, a note (``note_...``) where nobody wrote
        it; neither is listed.
        """
        return _missing([self._gaps(name) for name in FRAMES[:-1]])

    def each(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Each frame by its name, in the order of `FRAMES`, made anew and kept by nobody here.

        All frames of many results together take more memory than the results.
        """
        gaps = []
        for name in FRAMES[:-1]:
            own = Results(self.points, self.skipped)
            yield name, getattr(own, name)
            gaps.append(own._gaps(name))
            del own
        yield FRAMES[-1], _missing(gaps)

    def _gaps(self, name: str) -> list[_Gap]:
        """Make what `missing` says of one frame."""
        rows_of, point_of, why = _MADE_OF[name]
        rows = rows_of(self)
        counts = [len(_rounds(point).wall_s) for point in rows] if name == "rounds" else 1
        return _gaps(name, getattr(self, name), rows, counts, point_of, why)

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """A row for each timed round: its steps and times, and what the machine reported meanwhile."""
        shown = cases(self.points)
        rounds = [*map(_rounds, shown)]
        counts = [len(one.wall_s) for one in rounds]

        def of_points(columns: Iterable[Column[Point]]) -> Iterator[tuple[str, list[Any], Dtype | Literal[""]]]:
            for column in columns:
                values = map(column.get, shown)
                yield column.name, [*chain.from_iterable(map(repeat, values, counts))], column.dtype

        def of_rounds() -> Iterator[tuple[str, list[Any], Dtype]]:
            for name, dtype in _OF_ROUNDS.items():
                yield name, [*chain.from_iterable(one.values_of(name) for one in rounds)], dtype

        key = pick("case", "machine", "file")
        return frame_of_values(chain(of_points(key), of_rounds(), of_points(notes_of(shown))))

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
        return frame_of(self._roofs)

    @cached_property
    def _roofs(self) -> Table[RoofOfFile]:
        return all_roofs_table(self.points)

    @cached_property
    def machines(self) -> pd.DataFrame:
        """A row for each machine and label: processor, device, versions, threads and limits."""
        columns = machine_columns([point.result for point in self._machines])
        return frame([column.of(attrgetter("result")) for column in columns], self._machines)

    @cached_property
    def _machines(self) -> list[Point]:
        """A point of each machine and label."""
        labels = grouped(self.points, lambda point: (point.result.machine_key, point.result.machine_label))
        return [own[0] for own in labels.values()]


_GAP: Mapping[str, Dtype] = {
    "table": "category",
    "row": "Int64",
    "rows": "Int64",
    **dict.fromkeys(("case", "machine", "file", "column", "reason"), "category"),
}
"""The columns of `Results.missing`."""

_Gap = list[Any]
"""A row of `Results.missing`, in the order of `_GAP`."""


def _gaps(
    table: str,
    made: pd.DataFrame,
    rows: Sequence[Row],
    counts: Sequence[int] | int,
    point_of: Callable[[Row], Point],
    why: Callable[[Row, str], str],
) -> list[_Gap]:
    """Make what `Results.missing` has of one frame.

    :param rows: what its rows were made of.
    :param counts: how many of its rows each of them made.
    """
    import numpy as np

    owner_of = np.repeat(np.arange(len(rows)), counts)
    places = [_place(table, point_of(row)) for row in rows]
    gaps: list[_Gap] = []
    for column in map(str, made.columns):
        if column.startswith(("param_", "note_")):
            continue
        missing = made[column].isna().to_numpy().nonzero()[0]
        # Rows that follow each other have one owner, which tells all that is said of them.
        owners, firsts, times = np.unique(owner_of[missing], return_index=True, return_counts=True)
        found: dict[object, _Gap] = {}
        for owner, first, count in zip(owners.tolist(), missing[firsts].tolist(), times.tolist(), strict=True):
            place, reason = places[owner], why(rows[owner], column)
            if (gap := found.get((place, reason))) is None:
                found[place, reason] = [table, first, count, *place, column, reason]
            else:
                gap[2] += count
        gaps += found.values()
    return sorted(gaps, key=itemgetter(1))


def _missing(gaps: Sequence[list[_Gap]]) -> pd.DataFrame:
    columns = enumerate(_GAP.items())
    return frame_of_values(
        (name, [gap[place] for own in gaps for gap in own], dtype) for place, (name, dtype) in columns
    )


def _place(table: str, point: Point) -> tuple[str | None, str, str | None]:
    """The case, machine and file of a row, as far as its table is of one."""
    return (
        None if table in ("roofs", "machines") else point.id,
        point.result.machine_label,
        None if table == "machines" else point.result.name,
    )


def _why_na(point: Point, name: str) -> str:
    """Say why a frame has no value: the point has none, or one that the column's dtype doesn't take."""
    (column,) = pick(name)
    if column.dtype == PANDAS_TIME and (value := plain_value(column, point)) is not None:
        return f"no time of ISO 8601: {value}"
    return why_missing(point, column)


_MADE_OF: Mapping[str, tuple[Callable[[Results], Sequence[Any]], Callable[[Any], Point], Callable[[Any, str], str]]] = {
    "cases": (lambda results: cases(results.points), lambda point: point, _why_na),
    "rounds": (lambda results: cases(results.points), lambda point: point, why_no_series),
    "operations": (lambda results: results._operations.rows, attrgetter("point"), why_not_of_operation),
    "kernels": (lambda results: results._kernels.rows, attrgetter("point"), why_not_of_kernel),
    "roofs": (
        lambda results: results._roofs.rows,
        attrgetter("point"),
        lambda row, name: why_not_of_roof(row.roof, name),
    ),
    "machines": (lambda results: results._machines, lambda point: point, why_not_of_machine),
}
"""What the rows of a frame are made of, the point of each, and what says why one has no value in a column."""

_OF_ROUNDS: Mapping[str, Dtype] = {
    "round": "Int64",
    "steps": "Int64",
    "step_time_s": "Float64",
    **{
        one.name: "category" if "str" in one.type else "Int64" if "Whole" in one.type else "Float64"
        for one in fields(Rounds)
        if one.name != "steps"
    },
}
"""The columns that rounds have beside their case's: the series as `roofline.schema.record.Rounds` has them."""


class _RoundsOf(NamedTuple):
    """The rounds of a point. ``series`` is None without a record, of which the times alone are known."""

    steps: int
    wall_s: Sequence[float | None]
    series: Rounds | None

    def values_of(self, name: str) -> Iterable[Any]:
        """A value for each round in their order; None where a series lacks it."""
        if name == "round":
            return range(len(self.wall_s))
        if name == "steps":
            return (self.steps,) * len(self.wall_s)
        if name == "step_time_s":
            return [wall / self.steps if self.steps and wall is not None else None for wall in self.wall_s]
        series = self.wall_s if name == "wall_s" else getattr(self.series, name, None)
        return islice(chain(series or (), repeat(None)), len(self.wall_s))


def _rounds(point: Point) -> _RoundsOf:
    record = point.benchmark.record
    if record is None:
        return _RoundsOf(1, point.benchmark.stats.round_times_s or (), None)
    if record.timing is None:
        return _RoundsOf(1, (), None)
    return _RoundsOf(record.timing.rounds.steps, record.timing.rounds.wall_s, record.timing.rounds)
