"""Show how far sessions of the same code scatter, case by case: what a gate must know before it calls a case slower."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.point_observations import left_out_notes, observations
from roofline.model.point_groups import cases, machine_names
from roofline.model.points import MachineKey, Point
from roofline.show.tables import Column, Table, number, seconds, share, words
from roofline.text.units import short_commit, significant


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """The sessions of one workload on one machine at one commit."""

    case: str
    machine: str
    commit: str | None
    seen: Sequence[Observation]

    @property
    def logs(self) -> list[float]:
        return [math.log(one.value) for one in self.seen]

    @property
    def step_time_s(self) -> float:
        """The geometric mean of what the sessions say."""
        return math.exp(statistics.fmean(self.logs))

    @property
    def between(self) -> float | None:
        """Standard deviation of a single session around it, relative."""
        return statistics.stdev(self.logs) if len(self.seen) > 1 else None

    @property
    def slowest_over_fastest(self) -> float | None:
        return math.exp(max(self.logs) - min(self.logs)) if len(self.seen) > 1 else None

    @property
    def within(self) -> float | None:
        """Standard error that the sessions' own rounds leave open, root mean square, relative."""
        errors = [one.error for one in self.seen if one.error is not None]
        return math.sqrt(statistics.fmean(error**2 for error in errors)) if errors else None


def sessions_table(points: Sequence[Point]) -> Table[Scatter]:
    """A row a case. Rows that are invalid or say nothing of the case are left out and named.

    Another machine, another workload or another commit is another row: nothing of it is pooled.
    """
    measured = cases(points)
    names = machine_names(measured)
    groups: dict[tuple[MachineKey, tuple[str, str], str | None], list[Observation]] = {}
    observed, left_out = observations(measured)
    for point, seen in observed:
        groups.setdefault((point.machine, point.workload, _commit(point)), []).append(seen)
    rows = [
        Scatter(case=case, machine=names[machine], commit=commit, seen=of_group)
        for (machine, (case, _), commit), of_group in groups.items()
    ]
    notes = left_out_notes(left_out)
    if rows and all(len(row.seen) == 1 for row in rows):
        notes.append(
            "One session that can be used tells nothing of how far sessions scatter: measure more of them,"
            " pytest --roofline-sessions 5."
        )
    return Table(
        title="Sessions of the same code: how far they scatter",
        columns=_COLUMNS,
        rows=rows,
        display=[
            column
            for column in _COLUMNS
            if column.name not in ("machine", "commit") or len({column.get(row) for row in rows}) > 1
        ],
        notes=notes,
    )


def _commit(point: Point) -> str | None:
    result = point.result
    return (
        None if result.commit is None else short_commit(result.commit) + (" (changed)" if result.commit_dirty else "")
    )


_COLUMNS: tuple[Column[Scatter], ...] = (
    words("case", dtype="category"),
    words("machine", drop=1, dtype="category"),
    words("commit", drop=2),
    number("sessions", get=lambda row: len(row.seen), dtype="Int64"),
    seconds("step_time_s", "step"),
    share("between_sessions", "± between\nsessions %", "between"),
    share("within_session", "± within\none %", "within"),
    number("slowest_over_fastest", "slowest /\nfastest", show=significant),
)
