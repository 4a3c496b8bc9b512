"""Half width of a confidence interval of the mean."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    mean: float
    half_width_relative: float | None
    autocorrelation_rounds: float | None
    effective_rounds: float | None


def margin(step_times: Sequence[float], confidence: float) -> Margin:
    from scipy import stats

    mean = statistics.fmean(step_times)
    count = len(step_times)
    if count < 10:
        return Margin(mean=mean, half_width_relative=None, autocorrelation_rounds=None, effective_rounds=None)
    size = count // 5
    batches = [statistics.fmean(step_times[start : start + size]) for start in range(0, 5 * size, size)]
    half = stats.t.ppf((1 + confidence) / 2, 4) * statistics.stdev(batches) / 5**0.5
    return Margin(mean=mean, half_width_relative=float(half / mean), autocorrelation_rounds=None, effective_rounds=None)
