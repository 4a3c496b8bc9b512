"""Latency: how many single steps are taken, and what their percentiles are."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring.latency import single_steps, summarise
from pytest_roofline.measuring.rounds import Stopwatch
from tests.plugin.measuring.fakes import Lab


def _count(step_s: float) -> int:
    lab = Lab(step_s)
    return len(single_steps(Stopwatch(lab.step, lab, lab.clock, lab, None)))


@pytest.mark.parametrize(("step_s", "steps"), [(1e-4, 1000), (0.0625, 32), (5.0, 10)], ids=["fast", "medium", "slow"])
def test_two_seconds_of_steps(step_s: float, steps: int) -> None:
    """As many as fit into 2 s, at least 10 and at most 1000."""
    assert _count(step_s) == steps


def test_each_step_is_synchronised() -> None:
    """Latency is that of one request at a time."""
    lab = Lab(0.5)
    single_steps(Stopwatch(lab.step, lab, lab.clock, lab, None))
    assert lab.calls == ["synchronize", "clock", "step", "synchronize", "clock"] * 10


def test_percentiles() -> None:
    """Linear between the order statistics, as numpy's default: 0, 1, ... 100 have themselves as percentiles."""
    latency, remarks = summarise([float(n) for n in range(101)])
    assert (latency.steps, latency.median_s, latency.p95_s, latency.p99_s) == (101, 50.0, 95.0, 99.0)
    assert remarks == {}


def test_few_steps_have_no_99th_percentile() -> None:
    """The value is given, with what is to be said against it."""
    latency, remarks = summarise([1.0, 2.0, 3.0, 4.0, 5.0])
    assert latency.p99_s == pytest.approx(4.96)
    assert remarks == {"timing.latency.p99_s": "of 5 steps only: a value between the slowest two, no 99th percentile"}
