"""Measure how far the 99th percentile of single steps scatters between stretches of unchanged code.

    python -m benchmarks latency

The recordings of `margin_record` are cut into stretches of so many seconds, each in the place of a session. The scatter
of a quiet machine is held against what ``check --figure latency_p99`` assumes of sessions about which nothing else is
known: how far they scatter, and how wrong each is by itself. Sessions are fresh processes, so they may scatter more.
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from benchmarks.figures import Figure
from benchmarks.margin_coverage import Stretch, recordings
from roofline.comparison.sides.compared_figures import FIGURES

STRETCH_S = 2.0
"""About as long as the single steps of a case are timed."""

LEAST_STEPS = 100
"""Of a stretch: fewer have no 99th percentile."""


def scatter(steps: Stretch) -> float | None:
    """Relative standard deviation of the stretches' 99th percentiles; None of fewer than three stretches."""
    passed_s = np.cumsum(steps.times)
    ends = np.searchsorted(passed_s, STRETCH_S * np.arange(1, passed_s[-1] // STRETCH_S + 1))
    stretches = np.split(steps.times, ends)[: len(ends)]
    highest = [float(np.log(np.percentile(one, 99))) for one in stretches if len(one) >= LEAST_STEPS]
    return statistics.stdev(highest) if len(highest) >= 3 else None


def run(*, quick: bool) -> tuple[Figure, ...]:  # noqa: ARG001 (nothing is measured anew)
    prior = FIGURES["latency_p99"].prior
    assert prior is not None
    found = []
    for label, series in recordings().items():
        samples = tuple(one for steps in series.values() if (one := scatter(steps)) is not None)
        if samples:
            found.append(
                Figure(
                    name=f"p99 between stretches of {STRETCH_S:g} s, relative standard deviation, {label}",
                    unit="",
                    samples=samples,
                    at_most=math.hypot(prior.deviation, prior.unknown_error) if label == "quiet" else None,
                )
            )
    return tuple(found)
