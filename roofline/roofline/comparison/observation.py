"""What one session says of a case's step time: its middle, and how well the session's own rounds know that."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from roofline.schema.record import Rounds
from roofline.timing.margin import LARGEST, LEAST_ROUNDS, MarginEstimator
from roofline.timing.step_time import mostly_disturbed, step_times_s, too_many

OUTLIER = 1.5
"""A round that takes this many times the median or longer is an outlier: the median doesn't see it, so it is told."""

_ONE_DEVIATION = math.erf(math.sqrt(0.5))
"""Confidence of an interval of one standard deviation to either side, 68.3 %."""


class Unusable(ValueError):
    """A session that says nothing of the case. The message tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One session's time of a case.

    ``step_time_s`` is the case's step time in it (see `roofline.timing.step_time`); ``error`` its standard error,
    relative, as far as the rounds of this session show it; None where they are too few. ``outliers`` are the rounds
    among those that took `OUTLIER` times as long or longer, ``slowest`` the longest of all over the step time.
    ``started_at`` is UTC, ISO 8601, or empty.
    """

    step_time_s: float
    error: float | None
    rounds: int
    left_out: int
    outliers: int = 0
    slowest: float = 1.0
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


def loud_session(cases: Iterable[Rounds]) -> str | None:
    """Why a session says nothing of any case: most of its cases were mostly disturbed. None where enough weren't. Each
    case counts alike, however many rounds it has. A case that met no other program in an hour that was full of them is
    slower, too.

    :param cases: the rounds of each; those of which nobody looked what disturbed them tell nothing.
    """
    known = [rounds for rounds in cases if rounds.disturbed is not None]
    loud = sum(mostly_disturbed(rounds.disturbed) is not None for rounds in known)
    return f"{loud} of {len(known)} cases were mostly disturbed from outside" if too_many(loud, len(known)) else None


def observe(rounds: Rounds, started_at: str = "") -> Observation:
    """Read a session's rounds. Those marked as disturbed are left out, by that evidence alone.

    :raises Unusable: no rounds, times that are no times, or hardly a round that was left alone.
    """
    if rounds.steps < 1 or not rounds.wall_s:
        raise Unusable("no rounds in the record")
    loud = mostly_disturbed(rounds.disturbed)
    if loud is not None:
        raise Unusable(loud)
    kept = step_times_s(rounds)
    return observe_times(kept, left_out=len(rounds.wall_s) - len(kept), started_at=started_at)


def observe_times(step_times_s: Sequence[float], *, left_out: int = 0, started_at: str = "") -> Observation:
    """The same of times that carry no marks, such as another project's rounds.

    :param step_times_s: one a round, in the order they were taken.
    :raises Unusable: none, or one that is not finite and above zero.
    """
    if not step_times_s or not all(math.isfinite(time) and time > 0 for time in step_times_s):
        raise Unusable("a round's time is not a time" if step_times_s else "no rounds in the file")
    median = statistics.median(step_times_s)
    return Observation(
        step_time_s=median,
        error=_error(step_times_s) if len(step_times_s) >= LEAST_ROUNDS else None,
        rounds=len(step_times_s),
        left_out=left_out,
        outliers=sum(time >= OUTLIER * median for time in step_times_s),
        slowest=max(step_times_s) / median,
        started_at=started_at,
    )


def _error(step_times_s: Sequence[float]) -> float:
    """At least five times. Of rounds that spread too far for a claim: the largest that is one."""
    claimed = _estimator().of(step_times_s, math.inf).half_width_relative
    return LARGEST if claimed is None else claimed


@cache
def _estimator() -> MarginEstimator:
    return MarginEstimator(_ONE_DEVIATION)
