"""What each rule finds where all are wrong as often."""

from __future__ import annotations

import math

import pytest

from benchmarks.figures import Share
from benchmarks.gate_curves import Scores, at_equal_false_alarms, beyond_others, caught, slower
from benchmarks.gate_rates import OURS
from roofline.comparison.effect import Effect


def effect(change: float) -> Effect:
    """Known to 1 %, by as good as a normal distribution."""
    return Effect(log_ratio=change, error=0.01, freedom=1e6, deviation=0.01, drift=0.0, base_sessions=1, new_sessions=1)


def test_our_measure_is_the_chance() -> None:
    """One-sided: of no difference a half, less of a slower one, more of a faster one; the larger, the slower."""
    assert slower(effect(0.0)) == pytest.approx(-0.5)
    assert slower(effect(0.01)) == pytest.approx(-0.158655, rel=1e-4)
    assert slower(effect(-0.01)) == pytest.approx(-1 + 0.158655, rel=1e-4)


def test_one_of_a_hundred_may_be_wrong() -> None:
    """The threshold is the second largest of a hundred and ninety-nine, the third of two hundred."""
    slowed = [0.5, 197.5, 198.5, 199.5]
    assert caught(range(1, 200), slowed) == Share(2, 4)
    assert caught(range(1, 201), slowed) == Share(2, 4)
    assert caught(range(1, 101), [98.5, 99.5, 100.5]) == Share(2, 3)


def test_of_few_none_may_be_wrong() -> None:
    """And what is as large as the largest of unchanged code is not found."""
    assert caught([1.0, 2.0], [2.0, 2.1]) == Share(1, 2)


def test_equal_ones_are_not_told_apart() -> None:
    """Where the two largest are alike, both would be wrong, which is one too many."""
    assert caught([0.0] * 98 + [5.0] * 2, [4.0, 6.0]) == Share(1, 2)


def test_no_threshold_makes_a_measure_of_nothing() -> None:
    """A rule that is not sure of anything finds nothing, at whatever threshold."""
    assert caught([-math.inf] * 100, [-math.inf] * 10) == Share(0, 10)


def scores(ours: float, theirs: float) -> Scores:
    """Slowed code looks like so much, unchanged code like 0 to 0.99. The other was asked about half of the comparisons:
    of the others ours would find nothing.
    """
    unchanged = [number / 100 for number in range(100)]
    slowed = {OURS: [ours] * 100 + [0.0] * 100, "other": [theirs] * 100}
    return {0.0: {OURS: unchanged * 2, "other": unchanged}, 0.05: slowed, 0.03: slowed}


def test_what_every_rule_finds_is_told() -> None:
    """In the comparisons that it was asked about."""
    figures = {figure.name: figure.share for figure in at_equal_false_alarms("quiet", scores(2.0, 1.5))}
    assert figures == {
        f"caught at 1% of false alarms, quiet, {by}% slower: {rule}": Share(100, of)
        for by in (5, 3)
        for rule, of in (("this gate", 200), ("other", 100))
    }


@pytest.mark.parametrize(
    ("comparisons", "median"),
    [
        ([scores(2.0, 1.5)], 0.0),
        ([scores(2.0, 1.5), scores(2.0, 0.5)], 0.5),
        ([scores(0.5, 1.5), scores(2.0, 0.5), scores(2.0, 0.5)], 1.0),
        ([scores(0.5, 1.5)], -1.0),
        ([scores(0.5, 1.5), scores(0.5, 1.5), scores(2.0, 0.5)], -1.0),
    ],
)
def test_ours_must_not_find_less(comparisons: list[Scores], median: float) -> None:
    """Over all slowdowns and kinds of comparison: one alone, here of two or three, decides nothing."""
    (figure,) = beyond_others("quiet", comparisons)
    assert figure.name == "caught beyond other at 1% of false alarms, quiet"
    assert len(figure.samples) == 2 * len(comparisons)
    assert (figure.median, figure.reached) == (median, median >= 0)
