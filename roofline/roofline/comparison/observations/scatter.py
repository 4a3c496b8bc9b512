"""How far sessions of the same code scatter, case by case: what a gate has to know before it calls a case slower."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofline.comparison.observations.observation import (
    Observation,
    Unusable,
    disturbed_session,
    observe,
    observe_stats,
    rounds_of,
)
from roofline.model.machines import machine_names
from roofline.model.points import MachineKey, Point, cases
from roofline.show.tables import Column, Table, number, seconds, share, words
from roofline.text.units import counted, significant
from roofline.timing.step_time import mostly_disturbed


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


def observations(
    measured: Sequence[Point], *, with_error: bool = True
) -> tuple[list[tuple[Point, Observation]], dict[str, list[str]]]:
    """What each session says of each case; and by the case's id why sessions say nothing of it.

    :param measured: cases, without the roofs.
    :param with_error: of records' rounds; it takes most of the time.
    """
    disturbed = {
        path: disturbed_session(rounds_of(result)) is not None
        for path, result in {one.result.path: one.result for one in measured}.items()
    }
    observed: list[tuple[Point, Observation]] = []
    left_out: dict[str, list[str]] = {}
    for point in measured:
        try:
            observed.append((point, _observation(point, disturbed[point.result.path], with_error)))
        except Unusable as error:
            left_out.setdefault(point.id, []).append(str(error))
    return observed, left_out


def left_out_notes(left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each case with all that was left out of it, the most frequent reasons first."""
    lines = []
    for case, reasons in left_out.items():
        counts = Counter(reasons).most_common()
        told = [f"{why} ({counted(count, 'session')} left out)" for why, count in counts]
        lines.append(f"{case}: {'; '.join(told)}")
    return lines


def _observation(point: Point, disturbed: bool, with_error: bool) -> Observation:
    """:param disturbed: whether nothing of its session is taken that knows what disturbed it."""
    if not point.valid:
        raise Unusable(point.why_invalid)
    record = point.benchmark.record
    if record is None:
        return observe_stats(point.benchmark.stats, point.result.when)
    if record.timing is None:
        raise Unusable("no rounds in the record")
    rounds = record.timing.rounds
    if mostly_disturbed(rounds.disturbed) is not None:
        # Without its own numbers: of several sessions it is one reason.
        raise Unusable("most rounds were disturbed from outside")
    if disturbed and rounds.disturbed is not None:
        raise Unusable("most cases of the session were mostly disturbed from outside")
    return observe(rounds, point.result.when, with_error=with_error)


def _commit(point: Point) -> str | None:
    result = point.result
    return None if result.commit is None else result.commit[:10] + (" (changed)" if result.commit_dirty else "")


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
