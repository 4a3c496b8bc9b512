"""Verdicts counted, the bounds that the rates are held to, and what each rule finds where all are wrong as often."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from benchmarks.figures import Figure, Share
from benchmarks.gate_counts import (
    OURS,
    Count,
    Counts,
    Scores,
    at_equal_false_alarms,
    beyond_others,
    caught,
    count_of,
    evidence,
    false_alarms_beyond,
    rates,
    total,
)
from roofline.comparison.effects.effect import Effect

LEAST_CAUGHT = {0.05: 0.99, 0.03: 0.95}


def counts(unchanged: Count | None = None, slowed: Count | None = None, other: Count | None = None) -> Counts:
    """A gate that is never wrong and a rule that never alarms, except as given."""
    right, found, silent = Count(same=1000), Count(slower=1000), Count(undecided=1000)
    return {
        0.0: {OURS: unchanged or right, "other": other or silent},
        0.05: {OURS: slowed or found, "other": silent},
        0.03: {OURS: slowed or found, "other": silent},
    }


def missed(figures: list[Figure]) -> list[str]:
    return [figure.name for figure in figures if not figure.reached]


def test_verdicts_are_counted() -> None:
    """Each once; what is no verdict of a comparison is not counted."""
    kinds = ["slower", "slower", "faster", "same", "inconclusive", "not comparable"]
    count = total(map(count_of, kinds))
    assert count == Count(slower=2, faster=1, same=1, undecided=1)
    assert (count.alarms, count.found_slower) == (Share(3, 5), Share(2, 5))
    assert count.called_same == count.left_open == Share(1, 5)


def test_every_rule_has_its_rates() -> None:
    """Of the others too, with counts; only ours can say *same*."""
    figures = {figure.name: figure for figure in rates("quiet", "quiet, drawn", counts(), LEAST_CAUGHT)}
    assert list(figures) == [
        "false alarms, quiet, drawn, unchanged: this gate",
        "called same, quiet, drawn, unchanged: this gate",
        "false alarms, quiet, drawn, unchanged: other",
        "caught, quiet, drawn, 5% slower: this gate",
        "called same, quiet, drawn, 5% slower: this gate",
        "caught, quiet, drawn, 5% slower: other",
        "caught, quiet, drawn, 3% slower: this gate",
        "called same, quiet, drawn, 3% slower: this gate",
        "caught, quiet, drawn, 3% slower: other",
    ]
    assert figures["caught, quiet, drawn, 5% slower: other"].share == Share(0, 1000)
    assert all(figure.reached for figure in figures.values())


@pytest.mark.parametrize(
    ("label", "unchanged", "slowed", "found"),
    [
        ("loud", Count(slower=4, faster=6, same=990), None, []),
        ("loud", Count(slower=4, faster=7, same=989), None, ["false alarms, unchanged"]),
        ("quiet", Count(slower=4, faster=7, same=989), None, ["false alarms, unchanged"]),
        ("quiet_2", None, Count(slower=990, same=10), []),
        ("quiet", None, Count(slower=989, same=11), ["caught, 5%", "called same, 5%", "called same, 3%"]),
        ("loud", None, Count(slower=999, same=1), ["called same, 5%", "called same, 3%"]),
        ("quiet", None, Count(slower=989, undecided=11), ["caught, 5%"]),
        ("quiet", None, Count(slower=950, undecided=50), ["caught, 5%"]),
        ("quiet", None, Count(slower=949, undecided=51), ["caught, 5%", "caught, 3%"]),
        ("loud", None, Count(slower=949, undecided=51), []),
    ],
)
def test_the_bounds_of_the_rates(label: str, unchanged: Count | None, slowed: Count | None, found: list[str]) -> None:
    """False alarms in 1 %, anywhere. Slowed code is called the same in 1 %, in a loud hour never; a slowdown of 5 % is
    found in 99 %, one of 3 % in 95 %, except in a loud hour."""
    names = missed(list(rates(label, label, counts(unchanged, slowed), LEAST_CAUGHT)))
    assert [
        name.replace(f", {label}", "").replace(" slower", "").removesuffix(": this gate") for name in names
    ] == found


def test_more_false_alarms_than_another_rule_are_not_better() -> None:
    """As many are allowed."""
    alarms = Count(slower=1, faster=1, undecided=998)
    few = counts(unchanged=Count(slower=2, same=998), other=alarms)
    more = counts(unchanged=Count(slower=2, faster=1, same=997), other=alarms)
    assert not missed(list(false_alarms_beyond("quiet", few)))
    assert missed(list(false_alarms_beyond("quiet", more))) == ["false alarms beyond other, quiet"]


def effect(change: float) -> Effect:
    """Known to 1 %, by as good as a normal distribution."""
    return Effect(log_ratio=change, error=0.01, freedom=1e6, deviation=0.01, drift=0.0, base_sessions=1, new_sessions=1)


@pytest.mark.parametrize(("change", "expected"), [(0.0, -0.5), (0.01, -0.158655), (-0.01, -1 + 0.158655)])
def test_our_measure_is_the_chance(change: float, expected: float) -> None:
    """One-sided: of no difference a half, less of a slower one, more of a faster one; the larger, the slower."""
    assert evidence(effect(change)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("unchanged", "slowed", "share"),
    [
        (range(1, 200), [0.5, 197.5, 198.5, 199.5], Share(2, 4)),
        (range(1, 201), [0.5, 197.5, 198.5, 199.5], Share(2, 4)),
        (range(1, 101), [98.5, 99.5, 100.5], Share(2, 3)),
        ([1.0, 2.0], [2.0, 2.1], Share(1, 2)),
        ([0.0] * 98 + [5.0] * 2, [4.0, 6.0], Share(1, 2)),
        ([-math.inf] * 100, [-math.inf] * 10, Share(0, 10)),
    ],
)
def test_one_of_a_hundred_may_be_wrong(unchanged: Sequence[float], slowed: Sequence[float], share: Share) -> None:
    """The threshold is the second largest of a hundred and ninety-nine, the third of two hundred, the largest of few.
    Equal ones are not told apart."""
    assert caught(unchanged, slowed) == share


def scores(ours: float, theirs: float) -> Scores:
    """Slowed code looks like so much, unchanged code like 0 to 0.99. The other was asked about half of the comparisons:
    of the others ours would find nothing.
    """
    unchanged = [number / 100 for number in range(100)]
    slowed = {OURS: [ours] * 100 + [0.0] * 100, "other": [theirs] * 100}
    return {0.0: {OURS: unchanged * 2, "other": unchanged}, 0.05: slowed, 0.03: slowed}


def test_what_every_rule_finds() -> None:
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
        ([scores(0.5, 1.5), scores(0.5, 1.5), scores(2.0, 0.5)], -1.0),
    ],
)
def test_ours_must_not_find_less(comparisons: list[Scores], median: float) -> None:
    """Over all slowdowns and kinds of comparison: one alone, here of two or three, decides nothing."""
    (figure,) = beyond_others("quiet", comparisons)
    assert figure.name == "caught beyond other at 1% of false alarms, quiet"
    assert len(figure.samples) == 2 * len(comparisons)
    assert (figure.median, figure.reached) == (median, median >= 0)
