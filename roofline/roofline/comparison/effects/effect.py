"""Estimate how far two sides differ, and how well that is known, from sessions and what is known of earlier ones.

The model: the logarithm of what a session observes is the case's true one, plus the session's own deviation (another
process, another hour), plus what its rounds leave open. The scatter of a side's sessions is estimated from both sides
together and moderated by what is known beforehand: a scaled inverse chi-squared distribution, as in G. Smyth, "Linear
Models and Empirical Bayes Methods for Assessing Differential Expression in Microarray Experiments", Statistical
Applications in Genetics and Molecular Biology 3 (2004). With a single session a side nothing but the prior tells it.

Machines drift over hours: between sides that were taken one after the other lies a drift that no scatter within a side
shows, and more sessions don't make smaller. It is taken to be in proportion to the scatter, one draw for each block of
a side's sessions that followed one another: it averages out the more, the more and the more alike the blocks are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from roofline.comparison.observations.observation import Observation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sessions = TypeVar("Sessions", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known of the scatter before a session is seen. By default all but the deviation is as of step times.

    :param deviation: standard deviation between sessions, relative.
    :param freedom: how many degrees of freedom that is worth.
    :param drift: standard deviation of the drift between two blocks of sessions, one taken after the other, over that
        between sessions.
    :param hour_drift: the same where no more than an hour lies between any two sessions that followed each other.
    :param unknown_error: taken for the standard error within a session that can't tell it, relative.
    :param included_error: the standard error within a session that ``deviation`` has in it already, relative.
    """

    deviation: float
    freedom: float = 4.0
    drift: float = 0.75
    hour_drift: float = 0.75
    unknown_error: float = 0.05
    included_error: float = 0.0


SESSIONS = Prior(deviation=0.02)
"""Between sessions in fresh processes on one machine."""


AN_HOUR = timedelta(hours=1)
"""Between the beginnings of two sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The difference of two sides.

    ``log_ratio`` is of new over base, so that above 0 is slower; ``error`` its standard error, with ``freedom`` degrees
    of freedom of a t distribution. ``deviation`` is the scatter of single sessions, ``drift`` the drift's part of
    ``error``. ``own_deviation`` is the scatter as these sessions alone show it, None where they are too few; ``gain``
    the degrees of freedom that one session more a side adds.
    """

    log_ratio: float
    error: float
    freedom: float
    deviation: float
    drift: float
    base_sessions: int
    new_sessions: int
    own_deviation: float | None = None
    gain: int = 2

    @property
    def ratio(self) -> float:
        """Time of new over base."""
        return math.exp(self.log_ratio)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Of the ratio."""
        from scipy import special

        half = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return math.exp(self.log_ratio - half), math.exp(self.log_ratio + half)

    def after(self, more: int) -> Effect:
        """Give the effect to expect of ``more`` sessions a side, if the estimate stays and they scatter as these do:
        what is known beforehand then counts for less.
        """
        error, deviation = self.error_after(more)
        return replace(
            self,
            error=error,
            freedom=self.freedom + self.gain * more,
            deviation=deviation,
            drift=self._drift_share * deviation,
            base_sessions=self.base_sessions + more,
            new_sessions=self.new_sessions + more,
        )

    def error_after(self, more: Sessions) -> tuple[Sessions, Sessions]:
        """Error and deviation of `after`, of one number of sessions or of an array of them."""
        own = self.deviation if self.own_deviation is None else self.own_deviation
        added = self.gain * more
        deviation = ((self.freedom * self.deviation**2 + added * own**2) / (self.freedom + added)) ** 0.5
        of_sessions = 1 / (self.base_sessions + more) + 1 / (self.new_sessions + more)
        return deviation * (of_sessions + self._drift_share**2) ** 0.5, deviation

    @property
    def _drift_share(self) -> float:
        return self.drift / self.deviation if self.deviation else 0.0

    @property
    def chance(self) -> float:
        """Probability of a difference at least as large if there were none (two-sided)."""
        from scipy import special

        return float(2 * special.stdtr(self.freedom, -abs(self.log_ratio) / self.error))


def effect_of(base: Sequence[Observation], new: Sequence[Observation], prior: Prior = SESSIONS) -> Effect:
    """The difference of two sides of at least one session each."""
    logs = [[math.log(session.value) for session in side] for side in (base, new)]
    errors = [prior.unknown_error if session.error is None else session.error for session in (*base, *new)]
    within = max(0.0, statistics.fmean(error**2 for error in errors) - prior.included_error**2)
    freedom = prior.freedom + len(base) + len(new) - 2
    scatter = sum(sum((value - statistics.fmean(side)) ** 2 for value in side) for side in logs)
    apart = prior.hour_drift if len(hours((*base, *new))) == 1 else prior.drift
    drift = apart**2 / 2 * sum(sum(share**2 for share in side) for side in blocks(base, new))
    variance = (prior.freedom * (prior.deviation**2 + within) + scatter) / freedom
    return Effect(
        log_ratio=statistics.fmean(logs[1]) - statistics.fmean(logs[0]),
        error=math.sqrt(variance * (1 / len(base) + 1 / len(new) + drift)),
        freedom=freedom,
        deviation=math.sqrt(variance),
        drift=math.sqrt(variance * drift),
        base_sessions=len(base),
        new_sessions=len(new),
        own_deviation=math.sqrt(scatter / own) if (own := len(base) + len(new) - 2) else None,
    )


def hours(sessions: Iterable[Observation]) -> list[list[Observation]]:
    """The sessions in the order they were taken, in parts between which more than `AN_HOUR` lies. Those that don't tell
    when they began are each a part.
    """
    found: list[list[Observation]] = []
    last: datetime | None = None
    for session in sorted(sessions, key=lambda one: one.started_at):
        began = datetime.fromisoformat(session.started_at) if session.started_at else None
        if last is None or began is None or began - last > AN_HOUR:
            found.append([])
        found[-1].append(session)
        last = began
    return found


def blocks(base: Sequence[Observation], new: Sequence[Observation]) -> tuple[list[float], list[float]]:
    """Of each side, the shares of its sessions that were taken with none of the other side between them, in the order
    they were taken. One share of all where a session doesn't tell when it began: the sides may lie apart.
    """
    if any(not session.started_at for session in (*base, *new)):
        return [1.0], [1.0]
    began = sorted((session.started_at, side) for side, sessions in enumerate((base, new)) for session in sessions)
    found: tuple[list[float], list[float]] = ([], [])
    for side, block in groupby(side for _, side in began):
        found[side].append(sum(1 for _ in block) / len((base, new)[side]))
    return found
