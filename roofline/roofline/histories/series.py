"""The sessions of a case in order of time: one machine, one case, one workload, never pooled with another's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.point_observations import left_out_notes, observations
from roofline.comparison.observations.runs import setup_of
from roofline.model.point_groups import cases, machine_names
from roofline.model.points import MachineKey, Point
from roofline.text.units import short_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One session of a case, or all sessions of one set, which are of one hour and one code.

    ``sessions`` are in order of time, ``step_time_s`` is the geometric mean of theirs. All else is told of the first.
    """

    sessions: tuple[Point, ...]
    step_time_s: float

    @property
    def started_at(self) -> str:
        """UTC, ISO 8601."""
        return self.sessions[0].result.when

    @property
    def commit(self) -> str | None:
        return self.sessions[0].result.commit

    @property
    def dirty(self) -> bool:
        return bool(self.sessions[0].result.commit_dirty)

    @property
    def setup(self) -> Mapping[str, str]:
        """Collect what may make the same code faster or slower, in words."""
        return setup_of(self.sessions[0].result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The entries of one workload on one machine, in order of time. ``machine`` is its name among those read."""

    case: str
    machine: str
    entries: tuple[Entry, ...]

    @property
    def times_s(self) -> list[float]:
        return [entry.step_time_s for entry in self.entries]


def series_of(points: Sequence[Point]) -> tuple[list[Series], list[str]]:
    """Put the cases in order; and a line for each case of which something was left out, and why.

    Sessions that are invalid or were disturbed are left out, and those that don't tell when they began.
    """
    measured = cases(points)
    names = machine_names(measured)
    observed, left_out = observations(measured, with_error=False)
    groups: dict[tuple[MachineKey, tuple[str, str]], dict[str, list[tuple[Point, Observation]]]] = {}
    for point, seen in sorted(observed, key=lambda one: one[0].result.when):
        if not point.result.when:
            left_out.setdefault(point.id, []).append("no time recorded")
            continue
        session = point.result.session
        of_set = str(point.result.path) if session is None or session.set is None else session.set.id
        groups.setdefault((point.machine, point.workload), {}).setdefault(of_set, []).append((point, seen))
    found = [
        Series(case=case, machine=names[machine], entries=tuple(map(_entry, of_sets.values())))
        for (machine, (case, _)), of_sets in groups.items()
    ]
    return found, left_out_notes(left_out)


def _entry(sessions: Sequence[tuple[Point, Observation]]) -> Entry:
    return Entry(
        sessions=tuple(point for point, _ in sessions),
        step_time_s=math.exp(statistics.fmean(math.log(seen.value) for _, seen in sessions)),
    )


def commit_of(entry: Entry) -> str:
    """In words: ``0123456789``, with a plus behind it where there were changes beside the commit."""
    return "no commit" if entry.commit is None else short_commit(entry.commit) + ("+" if entry.dirty else "")


def commits_between(before: Entry, after: Entry) -> str:
    """The commits that came between two entries, as git writes them: ``0123456789..abcdef0123``."""
    return f"{commit_of(before)}..{commit_of(after)}"
