"""Marks of disturbed rounds: used on both sides of a comparison or on neither.

What disturbs a round is told by what the system counts, which not every system does and not every version asked for.
Marked rounds are the slow ones: left out of one side alone, whatever disturbs the machine would speak against the
other. So where a session of a case wasn't looked at, all rounds of all its sessions are taken, those of sessions that
were mostly disturbed as well; the sessions' scatter has to tell what that costs.

A side of which every session was mostly disturbed is not judged: what is known of it isn't forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roofline.comparison.observation import observe_times
from roofline.comparison.seen import Seen


def not_looked_at(seen: Sequence[Seen]) -> list[Seen]:
    """Of a case's sessions on both sides those that don't tell which of their rounds were disturbed, while others have
    marked ones; none where no round is marked.
    """
    timed = [one for one in seen if _timed(one)]
    return [one for one in timed if not one.marked] if any(one.all_rounds_s for one in timed) else []


def without_marks(seen: Seen) -> Seen:
    """The session by all of its rounds, whatever disturbed them."""
    if not seen.all_rounds_s or not _timed(seen):
        return seen
    observation = observe_times(seen.all_rounds_s, started_at=seen.run.when)
    return replace(
        seen,
        observation=observation if seen.least_s is None else observation.over(seen.least_s, seen.least_error),
        step_time_s=observation.step_time_s,
        problem="",
        loud=False,
    )


def _timed(seen: Seen) -> bool:
    """Whether nothing but disturbed rounds is in the way of using it."""
    return seen.observation is not None or seen.loud
