"""The difference of two sides of a figure that doesn't scatter: what is counted, and what an allocator gave out.

Each session has the figure itself and no estimate of it, so nothing is chance. Where the sessions of a side differ all
the same, the difference of the sides is a range: from the new side's least over the baseline's most, to its most over
the baseline's least.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from roofline.comparison.effects.verdict import Verdict
from roofline.comparison.observations.observation import Observation
from roofline.text.units import percent


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactChange:
    """``log_ratio`` is of new over base, by the means of their logarithms; it lies between ``low`` and ``high``."""

    log_ratio: float
    low: float
    high: float
    base_sessions: int
    new_sessions: int

    @property
    def ratio(self) -> float:
        """New over base."""
        return math.exp(self.log_ratio)

    @property
    def chance(self) -> None:
        """There is none."""
        return None

    def interval(self, _: float) -> tuple[float, float]:
        """Of the ratio, whatever the confidence."""
        return math.exp(self.low), math.exp(self.high)


def exact_change(base: Sequence[Observation], new: Sequence[Observation]) -> ExactChange:
    """The difference of two sides of at least one session each."""
    before, now = ([math.log(session.value) for session in side] for side in (base, new))
    return ExactChange(
        log_ratio=statistics.fmean(now) - statistics.fmean(before),
        low=min(now) - max(before),
        high=max(now) - min(before),
        base_sessions=len(base),
        new_sessions=len(new),
    )


def judge_exact(change: ExactChange, least_effect: float) -> Verdict:
    """The verdict of one case: what changed by at least ``least_effect``, relative, is slower (more) or faster (less),
    and anything less is the same. It is inconclusive only where sessions of a side differ so far that it may be either.
    """
    least = math.log1p(least_effect)
    if (change.low > 0 or change.high < 0) and abs(change.log_ratio) >= least:
        return Verdict(kind="slower" if change.log_ratio > 0 else "faster")
    if max(-change.low, change.high) < least:
        equal = change.low == change.high == 0
        why = "" if equal else f"changed, by less than the {percent(least_effect)} that matter"
        return Verdict(kind="same", why=why, by_figures=equal)
    return Verdict(kind="inconclusive", why="the sessions of a side differ from each other", by_figures=False)
