"""What each rule finds where all are wrong as often."""

from __future__ import annotations

import math

import pytest

from benchmarks.figures import Share
from benchmarks.gate_curves import Scores, at_equal_false_alarms, caught, slower
from benchmarks.gate_rates import OURS
from roofline.compare.effect import Effect


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


def test_every_rule_is_told_and_ours_held_against_the_others() -> None:
    """In the comparisons that both were asked about."""
    figures = {figure.name: figure for figure in at_equal_false_alarms("quiet", scores(2.0, 1.5))}
    assert list(figures) == [
        f"{name}, quiet, {by}% slower{rule}"
        for by in (5, 3)
        for name, rule in (
            ("caught at 1% of false alarms", ": this gate"),
            ("caught at 1% of false alarms", ": other"),
            ("caught beyond other at 1% of false alarms", ""),
        )
    ]
    assert figures["caught at 1% of false alarms, quiet, 5% slower: this gate"].share == Share(100, 200)
    assert figures["caught at 1% of false alarms, quiet, 5% slower: other"].share == Share(100, 100)
    assert figures["caught beyond other at 1% of false alarms, quiet, 5% slower"].median == 0.0
    assert all(figure.reached for figure in figures.values())


def test_finding_less_is_not_better() -> None:
    """Than each of the others."""
    missed = [figure for figure in at_equal_false_alarms("quiet", scores(0.5, 1.5)) if not figure.reached]
    assert [(figure.name, figure.median) for figure in missed] == [
        (f"caught beyond other at 1% of false alarms, quiet, {by}% slower", -1.0) for by in (5, 3)
    ]
