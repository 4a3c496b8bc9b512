"""Flags of the rounds of a case: what speaks against one time that stands for all of them.

- ``mostly_disturbed``: more than half of the rounds were disturbed from outside.
- ``drift``: the last rounds took 5 % more or less than the first, by more than rounds differ from one to the next.
- ``bimodal``: the rounds fall into two clusters with nothing between them, as when memory lies on one NUMA node or the
  other, or clocks have two levels: no one time stands for both.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from roofline.schema.record import Flag, Timing
from roofline.text.units import scaled
from roofline.timing.margin import MEDIAN_OVER_MEAN
from roofline.timing.step_time import has_times, mostly_disturbed, step_times_s

BIMODAL_ROUNDS = 10
"""Fewer rounds show no clusters,"""
BIMODAL_SHARE = 0.2
"""nor does one of less than this share of them,"""
BIMODAL_GAP = 0.1
"""nor a gap of less than this share of their mean."""
_BEYOND_DRIFT = 0.25
"""Rounds that changed once, by less than this, may have drifted: a device that warms up has such a step."""

DRIFT_ROUNDS = 10
"""Fewer rounds show no drift."""
DRIFT = 0.05
"""Between the ends of a session, relative to its beginning; less is usual."""
DRIFT_ENDS_SHARE = 0.1
"""Of the rounds, at either end, and at least"""
DRIFT_ENDS = 5
_BEYOND_NOISE = 4.0
"""Standard errors of the difference between the ends."""
_USUAL = 0.8
"""Share of the changes from round to round that tell of the noise, the smallest,"""
_NORMAL_USUAL = 0.5586
"""and their mean in a normal distribution, over its standard deviation."""


def usable_step_times(timing: Timing | None) -> list[float]:
    """Of the undisturbed rounds, in their order; empty where there are none, or one can't be calculated with."""
    return step_times_s(timing.rounds) if timing is not None and has_times(timing.rounds) else []


def mostly_disturbed_flag(timing: Timing | None) -> Flag | None:
    """The flag for a step time that rests on rounds of a disturbed machine."""
    why = None if timing is None else mostly_disturbed(timing.rounds.disturbed)
    if timing is None or why is None:
        return None
    left = sum(mark is None for mark in timing.rounds.disturbed or ())
    made_of = f"the {left} undisturbed" if left else "all of them, for lack of others"
    return Flag(name="mostly_disturbed", evidence=f"{why}: the step time is the median of {made_of}")


def series_flags(step_times: Sequence[float]) -> tuple[Flag, ...]:
    """The flags of a series of rounds.

    :param step_times: one a round, in the order they were taken; usable, and only of rounds that nothing disturbed.
    """
    return tuple(flag for flag in (drift(step_times), bimodal(step_times)) if flag is not None)


def drift(step_times: Sequence[float]) -> Flag | None:
    """The flag for rounds that get slower or faster over the session, smoothly or in a step."""
    if len(step_times) < DRIFT_ROUNDS:
        return None
    count = max(DRIFT_ENDS, round(len(step_times) * DRIFT_ENDS_SHARE))
    first, last = statistics.median(step_times[:count]), statistics.median(step_times[-count:])
    if abs(last - first) < DRIFT * first:
        return None
    # From one round to the next. The largest changes are pauses, or the step itself.
    changes = sorted(abs(after - before) for before, after in pairwise(step_times))
    noise = statistics.fmean(changes[: math.ceil(_USUAL * len(changes))]) / (_NORMAL_USUAL * math.sqrt(2))
    error = MEDIAN_OVER_MEAN * noise * math.sqrt(2 / count)
    if abs(last - first) < _BEYOND_NOISE * error:
        return None
    clusters = _clusters(step_times)
    if clusters is not None and _moves(step_times, clusters) > 1:
        return None
    return Flag(
        name="drift",
        evidence=f"{last / first - 1:+.1%} over the session: {scaled(first, 's')} a step in its first {count} rounds,"
        f" {scaled(last, 's')} in its last {count}",
    )


def bimodal(step_times: Sequence[float]) -> Flag | None:
    """The flag for rounds in two clusters.

    Two clusters are separated by the widest gap between neighbours, where it is wider than either cluster. Rounds that
    went from one to the other once and stayed have drifted, unless they are further apart than a drift goes.
    """
    clusters = _clusters(step_times)
    if clusters is None:
        return None
    fast, slow = clusters
    if _moves(step_times, clusters) == 1 and slow[0] - fast[-1] < _BEYOND_DRIFT * statistics.fmean(step_times):
        return None
    return Flag(
        name="bimodal",
        evidence=f"{len(fast)} rounds at {scaled(statistics.fmean(fast), 's')} a step and {len(slow)} at"
        f" {scaled(statistics.fmean(slow), 's')}, none between: no one time stands for both",
    )


def _clusters(step_times: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """The fast and the slow rounds, sorted, where they form two clusters."""
    if len(step_times) < BIMODAL_ROUNDS:
        return None
    times = sorted(step_times)
    least_gap = BIMODAL_GAP * statistics.fmean(times)
    if times[-1] - times[0] < least_gap:
        return None
    least = math.ceil(BIMODAL_SHARE * len(times))
    split = max(range(least, len(times) - least + 1), key=lambda index: times[index] - times[index - 1])
    fast, slow = times[:split], times[split:]
    gap, width = slow[0] - fast[-1], max(fast[-1] - fast[0], slow[-1] - slow[0])
    return (fast, slow) if gap >= least_gap and gap > width else None


def _moves(step_times: Sequence[float], clusters: tuple[list[float], list[float]]) -> int:
    """Count the changes from one cluster of rounds to the other."""
    slowest = clusters[0][-1]
    return sum((before <= slowest) != (after <= slowest) for before, after in pairwise(step_times))
