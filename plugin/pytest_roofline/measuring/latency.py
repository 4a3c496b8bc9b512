"""Latency: single synchronised steps, one request at a time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from pytest_roofline.measuring.rounds import Stopwatch
from roofline.schema.record import Latency

BUDGET_S = 2.0
LEAST_STEPS, MOST_STEPS = 10, 1000

_P99_STEPS = 100
"""With fewer steps the 99th percentile lies between the two slowest."""


def single_steps(stopwatch: Stopwatch, after_step: Callable[[], object] | None = None) -> list[float]:
    """Times of single synchronised steps: at least 10, else for 2 seconds, at most 1000.

    :param after_step: called after each, outside of its time.
    """
    times: list[float] = []
    spent_s = 0.0
    while len(times) < LEAST_STEPS or (spent_s < BUDGET_S and len(times) < MOST_STEPS):
        times.append(stopwatch.window(1))
        spent_s += times[-1]
        if after_step is not None:
            after_step()
    return times


def summarise(times: Sequence[float]) -> tuple[Latency, dict[str, str]]:
    """Percentiles (linear between the order statistics), and what is to be said against them, by path in the record.

    :param times: at least two.
    """
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    latency = Latency(steps=len(times), median_s=statistics.median(times), p95_s=cuts[94], p99_s=cuts[98])
    if len(times) >= _P99_STEPS:
        return latency, {}
    return latency, {
        "timing.latency.p99_s": f"of {len(times)} steps only: a value between the slowest two, no 99th percentile"
    }
