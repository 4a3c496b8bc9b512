"""The judge of the margin, by cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.margin_coverage import Coverage, Stretch, Tally, cut, judge, line, recordings, step_time_of
from benchmarks.margin_series import SERIES, STEP_S
from pytest_roofline.measuring import Plan

PLAN = Plan(max_time_s=5.0)


def _stretch(times: list[float], **counters: list[float]) -> Stretch:
    return Stretch(np.array(times), {name: np.array(values) for name, values in counters.items()})


def test_a_step_time_inside_the_margin_holds_and_one_outside_does_not() -> None:
    """Equal steps of 0.25 s claim 1 % after 5 s: a true step time 0.9 % off is inside, 1.1 % off outside."""
    steps = _stretch([0.25] * 40)
    assert judge(iter([steps]), lambda _: 0.25 * 1.009, PLAN) == Tally(1, 1, (0.01,), (5.0,))
    assert judge(iter([steps]), lambda _: 0.25 * 1.011, PLAN) == Tally(0, 1, (0.01,), (5.0,))


def test_the_truth_of_a_recording_is_its_step_time() -> None:
    """The median of the rounds that nothing disturbed, by rounds of so many steps; a rest of a round is left out."""
    marked = [float(100 * (number in (4, 5))) for number in range(11)]
    times = [0.25, 0.25, 0.26, 0.28, 2.0, 2.0, 0.3, 0.3, 0.3, 0.3, 9.0]
    steps = _stretch(times, involuntary_switches=marked, others_cpu_s=[0.3] * 11, steal_s=[0.0] * 11)
    assert step_time_of(steps)(2) == pytest.approx((0.27 + 0.3) / 2)


def test_a_run_that_claims_nothing_neither_holds_nor_fails() -> None:
    """Nor does one that was disturbed by what was recorded with it: the counters reach the loop."""
    disturbed = _stretch([0.25] * 60, involuntary_switches=[50.0] * 60, others_cpu_s=[0.25] * 60, steal_s=[0.0] * 60)
    tally = judge(iter([disturbed]), lambda _: 0.25, PLAN)
    assert (tally.held, tally.runs, tally.claims, tally.silence) == (0, 1, 0, 1.0)
    assert "no claim" in line("x", tally)


def test_a_stretch_that_is_too_short_is_no_run() -> None:
    """A run that would need more steps than there are isn't counted."""
    assert judge(iter([_stretch([0.25] * 10)]), lambda _: 0.25, PLAN).runs == 0


def test_stretches_have_the_length_asked_for() -> None:
    """Consecutive steps, as many as last so long and one more, beginning anywhere that leaves room."""
    steps = _stretch([0.1] * 100, steal_s=[float(n) for n in range(100)])
    for stretch in cut(steps, 2.0, 50, np.random.default_rng(0)):
        assert 2.0 <= stretch.times.sum() <= 2.2
        assert len(stretch.counters["steal_s"]) == len(stretch.times)
        assert set(np.diff(stretch.counters["steal_s"])) == {1.0}


def test_every_recording_counts() -> None:
    """What is said of all of them is the sum over the labels."""
    loud, quiet = Tally(9, 10, (0.1,) * 10, (5.0,) * 10), Tally(3, 8, (0.2,) * 4, (5.0,) * 8)
    assert Coverage({"loud": loud, "quiet": quiet}, quiet).all_recorded == loud + quiet


@pytest.mark.parametrize("name", SERIES)
def test_medians_of_the_synthetic_series(name: str) -> None:
    """What is called the true median is that of many draws: within four standard errors of 40 medians of 60 s."""
    draw, rng = SERIES[name], np.random.default_rng(3)
    medians = [np.median(draw(rng, 60.0)[:3000].reshape(-1, 5).mean(axis=1)) for _ in range(40)]
    error = np.std(medians, ddof=1) / np.sqrt(len(medians))
    assert abs(np.mean(medians) - draw.median_of(5)) <= 4 * error + 3e-4 * STEP_S


def test_the_recordings_can_be_read() -> None:
    """Every one has steps of plausible length, at least 40 s of each workload."""
    found = recordings()
    assert found
    for series in found.values():
        for steps in series.values():
            assert 40 < steps.times.sum() < 120
            assert steps.times.min() > 1e-4
