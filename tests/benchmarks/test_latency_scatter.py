"""The scatter of the 99th percentile, of steps that are made up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import latency_scatter
from benchmarks.margin_coverage import Stretch


def test_each_stretch_has_a_percentile_of_its_own() -> None:
    """Three stretches of 2 s, of steps of 4 ms, the middle one with every twentieth step twice as long; what is left is
    no stretch.
    """
    even, uneven = np.full(500, 4e-3), np.where(np.arange(477) % 20 == 19, 8e-3, 4e-3)
    steps = np.concatenate([even, uneven, even, even[:30]])
    high = math.log(2.0)
    assert latency_scatter.scatter(Stretch(steps, {})) == pytest.approx(high / math.sqrt(3), rel=1e-6)


def test_too_few_steps_have_none() -> None:
    assert latency_scatter.scatter(Stretch(np.full(300, 0.05), {})) is None


def test_a_quiet_machine_has_the_bound() -> None:
    bounds = {figure.name.rpartition(", ")[2]: figure.at_most for figure in latency_scatter.run(quick=True)}
    assert bounds["quiet"] == pytest.approx(math.hypot(0.15, 0.1))
    assert bounds["loud"] is None
