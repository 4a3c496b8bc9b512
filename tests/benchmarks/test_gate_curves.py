"""What ours finds where it may be wrong as often as another rule."""

from __future__ import annotations

import math

import pytest

from benchmarks.figures import Share
from benchmarks.gate_curves import at_their_false_alarms, chance_of_slower, threshold
from benchmarks.gate_rates import OURS, Count
from roofline.compare.effect import Effect


def effect(change: float) -> Effect:
    """Known to 1 %, by as good as a normal distribution."""
    return Effect(log_ratio=change, error=0.01, freedom=1e6, deviation=0.01, drift=0.0, base_sessions=1, new_sessions=1)


def test_a_faster_one_is_the_less_likely_slower() -> None:
    """One-sided: a half where nothing differs, less above, more below."""
    assert chance_of_slower(effect(0.0)) == pytest.approx(0.5)
    assert chance_of_slower(effect(0.01)) == pytest.approx(0.158655, rel=1e-4)
    assert chance_of_slower(effect(-0.01)) == pytest.approx(1 - 0.158655, rel=1e-4)


@pytest.mark.parametrize("wrong", [0, 1, 2, 4])
def test_no_more_false_alarms_than_the_other(wrong: int) -> None:
    """As many of unchanged code lie below as the other called slower; its *faster* is no such alarm."""
    unchanged = [effect(change) for change in (0.01, -0.02, 0.03, 0.0)]
    below = threshold(unchanged, Count(slower=wrong, faster=3, undecided=4 - wrong))
    assert sum(chance_of_slower(one) < below for one in unchanged) == wrong


def test_equal_ones_are_not_told_apart() -> None:
    """Of two that are alike both are alarms or neither: fewer are wrong, never more."""
    unchanged = [effect(0.02), effect(0.02), effect(0.0)]
    below = threshold(unchanged, Count(slower=1, undecided=2))
    assert sum(chance_of_slower(one) < below for one in unchanged) == 0


def test_found_at_their_rate() -> None:
    """In the comparisons that the other was asked about, which are the first eight of ten. Of unchanged code one looks
    2.5 % slower, and the other calls one slower; so all that looks slower than not at all is found.
    """
    unchanged = [effect(0.025), *[effect(0.0)] * 9]
    slowed = [*[effect(0.05)] * 6, *[effect(0.01)] * 2, *[effect(0.05)] * 2]
    counts = {
        0.0: {OURS: Count(same=10), "other": Count(slower=1, undecided=7)},
        0.05: {OURS: Count(undecided=10), "other": Count(slower=8)},
        0.03: {OURS: Count(undecided=10), "other": Count(slower=8)},
    }
    effects = {0.0: unchanged, 0.05: slowed, 0.03: slowed}
    found = at_their_false_alarms("quiet", counts, effects, asked=True)
    shown = {figure.name: figure for figure in found}
    share = shown["caught at as many false alarms as other, quiet, 5% slower: this gate"].share
    assert share == Share(8, 8)
    assert shown["caught beyond other at as many false alarms, quiet, 5% slower"].median == 0.0
    assert len(shown) == 4
    assert all(figure.reached for figure in shown.values())


def test_finding_less_is_not_better() -> None:
    """At the same rate of false alarms: bounded where it is asked, told where it isn't."""
    unchanged, slowed = [effect(0.02), effect(0.0)], [effect(0.03), effect(0.01)]
    counts = {
        0.0: {OURS: Count(same=2), "other": Count(undecided=2)},
        0.05: {OURS: Count(undecided=2), "other": Count(slower=2)},
        0.03: {OURS: Count(undecided=2), "other": Count(slower=1, undecided=1)},
    }
    effects = {0.0: unchanged, 0.05: slowed, 0.03: slowed}
    found = list(at_their_false_alarms("quiet", counts, effects, asked=True))
    missed = {figure.name: figure.median for figure in found if not figure.reached}
    assert missed == {"caught beyond other at as many false alarms, quiet, 5% slower": -0.5}
    assert all(figure.reached for figure in at_their_false_alarms("quiet", counts, effects, asked=False))
    assert math.isclose(found[-1].median, 0.0)
