"""Show how far sessions of the same code scatter, case by case: what a gate must know before it calls a case slower."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.point_observations import left_out_notes, observations
from roofline.model.point_groups import cases, machine_names
from roofline.model.points import MachineKey, Point
from roofline.show.tables import Column, Table, grouped, number, seconds, share, words
from roofline.text.units import SHOWS_ALL, counted, short_commit, significant


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


def scatters_of(points: Sequence[Point]) -> tuple[list[Scatter], list[str]]:
    """Put the sessions of each case together, and tell in lines what was left out: rows that are invalid or say nothing
    of the case.

    Another machine, another workload or another commit is apart: nothing of it is pooled.
    """
    measured = cases(points)
    names = machine_names(measured)
    groups: dict[tuple[MachineKey, tuple[str, str], str | None], list[Observation]] = {}
    observed, left_out = observations(measured)
    for point, seen in observed:
        groups.setdefault((point.machine, point.workload, _commit(point)), []).append(seen)
    found = [
        Scatter(case=case, machine=names[machine], commit=commit, seen=of_group)
        for (machine, (case, _), commit), of_group in groups.items()
    ]
    return found, left_out_notes(left_out)


def sessions_table(scatters: Sequence[Scatter], left_out: Sequence[str], *, verbose: bool) -> Table[Scatter]:
    """A row a case. Those of several machines or commits stand below a heading each.

    :param left_out: lines on what isn't in them.
    :param verbose: have rows of cases with one session, too. Else they are counted.
    """
    blocks = grouped(scatters, _heading(scatters))
    alone = sum(len(one.seen) == 1 for one in scatters)
    notes = [*left_out]
    if alone:
        notes.append(
            f"{counted(alone, 'case')} with one session, which tells nothing of how far sessions scatter"
            f"{'' if verbose else f' {SHOWS_ALL}'}: measure more of them, pytest --roofline-sessions 5"
        )
    return Table(
        title="Sessions of the same code: how far they scatter",
        columns=_COLUMNS,
        rows=[one for block in blocks.values() for one in block if verbose or len(one.seen) > 1],
        display=[column for column in _COLUMNS if column.name not in _HEADING],
        section=_heading(scatters) if len(blocks) > 1 else None,
        section_title="sessions of",
        notes=notes,
    )


def _heading(scatters: Sequence[Scatter]) -> Callable[[Scatter], str]:
    """Name the machine and the commit, as far as they aren't the same everywhere."""
    differing = [name for name in _HEADING if len({getattr(one, name) for one in scatters}) > 1]

    def heading(one: Scatter) -> str:
        commit = "no commit" if one.commit is None else f"commit {one.commit}"
        parts = {"machine": one.machine, "commit": commit}
        return ", ".join(parts[name] for name in differing)

    return heading


def _commit(point: Point) -> str | None:
    result = point.result
    return (
        None if result.commit is None else short_commit(result.commit) + (" (changed)" if result.commit_dirty else "")
    )


_HEADING = ("machine", "commit")

_COLUMNS: tuple[Column[Scatter], ...] = (
    words("case", dtype="category"),
    words("machine", dtype="category"),
    words("commit"),
    number("sessions", get=lambda row: len(row.seen), dtype="Int64"),
    seconds("step_time_s", "step"),
    share("between_sessions", "± between\nsessions %", "between"),
    share("within_session", "± within\none %", "within"),
    number("slowest_over_fastest", "slowest /\nfastest", show=significant),
)
