"""What one session says of a case's step time: its middle, and how well the session's own rounds know that."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from roofline.margin import LARGEST, MarginEstimator
from roofline.record import Rounds

LEAST_ROUNDS = 5
"""Of fewer rounds the mean is taken, and how well it is known can't be told."""

LEAST_QUIET_SHARE = 0.5
"""A session with fewer of its rounds undisturbed tells of the machine's other users: even the rounds that carry no mark
were slower then, by up to 15 % where this was recorded. That holds of a case's rounds, and of a session's cases: one
that met no other program in an hour that was full of them is slower, too."""

_ONE_DEVIATION = math.erf(math.sqrt(0.5))
"""Confidence of an interval of one standard deviation to either side, 68.3 %."""


class Unusable(ValueError):
    """A session that says nothing of the case. The message tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One session's time of a case.

    ``step_time_s`` is the median over the rounds that nothing disturbed (the mean of fewer than `LEAST_ROUNDS`): the
    mean of a session hangs on whatever else the machine did. ``error`` is the standard error of it, relative, as far as
    the rounds of this session show it; None where they are too few. ``started_at`` is UTC, ISO 8601, or empty.
    """

    step_time_s: float
    error: float | None
    rounds: int
    left_out: int
    started_at: str = ""

    def over(self, least_s: float, error: float) -> Observation:
        """The same of the time over the least that a machine's roofs allow.

        :param error: of that least time, relative.
        """
        return replace(
            self,
            step_time_s=self.step_time_s / least_s,
            error=None if self.error is None else math.hypot(self.error, error),
        )


def mostly_disturbed(rounds: Rounds) -> str | None:
    """Why the session says nothing of the case: hardly a round of it was left alone. None where enough were."""
    count, disturbed = len(rounds.wall_s), sum(mark is not None for mark in rounds.disturbed or ())
    return f"{disturbed} of {count} rounds were disturbed from outside" if _too_many(disturbed, count) else None


def loud_session(cases: Iterable[Rounds]) -> str | None:
    """Why a session says nothing of any case: of hardly one of them enough rounds were left alone. None where they were
    of enough cases. Each case counts alike, however many rounds it has: one alone doesn't make an hour loud.

    :param cases: the rounds of each; those of which nobody looked what disturbed them tell nothing.
    """
    known = [rounds for rounds in cases if rounds.disturbed is not None]
    loud = sum(mostly_disturbed(rounds) is not None for rounds in known)
    return f"{loud} of {len(known)} cases were mostly disturbed from outside" if _too_many(loud, len(known)) else None


def _too_many(disturbed: int, count: int) -> bool:
    return disturbed > 0 and count - disturbed < max(1, LEAST_QUIET_SHARE * count)


def observe(rounds: Rounds, started_at: str = "") -> Observation:
    """Read a session's rounds. Those marked as disturbed are left out, by that evidence alone.

    :raises Unusable: no rounds, times that are no times, or hardly a round that was left alone.
    """
    if rounds.steps < 1 or not rounds.wall_s:
        raise Unusable("no rounds in the record")
    loud = mostly_disturbed(rounds)
    if loud is not None:
        raise Unusable(loud)
    marks = rounds.disturbed or (None,) * len(rounds.wall_s)
    quiet = [wall / rounds.steps for wall, mark in zip(rounds.wall_s, marks, strict=True) if mark is None]
    return observe_times(quiet, left_out=len(rounds.wall_s) - len(quiet), started_at=started_at)


def observe_times(step_times_s: Sequence[float], *, left_out: int = 0, started_at: str = "") -> Observation:
    """The same of times that carry no marks, such as another project's rounds.

    :param step_times_s: one a round, in the order they were taken.
    :raises Unusable: none, or one that is not finite and above zero.
    """
    if not step_times_s or not all(math.isfinite(time) and time > 0 for time in step_times_s):
        raise Unusable("a round's time is not a time" if step_times_s else "no rounds in the file")
    enough = len(step_times_s) >= LEAST_ROUNDS
    return Observation(
        step_time_s=statistics.median(step_times_s) if enough else statistics.fmean(step_times_s),
        error=_error(step_times_s) if enough else None,
        rounds=len(step_times_s),
        left_out=left_out,
        started_at=started_at,
    )


def _error(step_times_s: Sequence[float]) -> float:
    """At least five times. Of rounds that spread too far for a claim: the largest that is one."""
    claimed = _estimator().of(step_times_s, math.inf).half_width_relative
    return LARGEST if claimed is None else claimed


@cache
def _estimator() -> MarginEstimator:
    return MarginEstimator(_ONE_DEVIATION)
