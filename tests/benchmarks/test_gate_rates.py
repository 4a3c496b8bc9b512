"""Verdicts counted, and the bounds that the rates are held to."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, Share
from benchmarks.gate_rates import OURS, Count, Counts, count_of, false_alarms_beyond, rates, told, total

LEAST_CAUGHT = {0.05: 0.99, 0.03: 0.95}


def counts(
    unchanged: Count | None = None,
    slowed: Count | None = None,
    other: Count | None = None,
    other_slowed: Count | None = None,
) -> Counts:
    """A gate that is never wrong and a rule that never alarms, except as given."""
    right, found, silent = Count(same=1000), Count(slower=1000), Count(undecided=1000)
    return {
        0.0: {OURS: unchanged or right, "other": other or silent},
        0.05: {OURS: slowed or found, "other": other_slowed or silent},
        0.03: {OURS: slowed or found, "other": other_slowed or silent},
    }


def missed(figures: list[Figure]) -> list[str]:
    return [figure.name for figure in figures if not figure.reached]


def test_verdicts_are_counted() -> None:
    """Each once; what is no verdict of a comparison is not counted."""
    kinds = ["slower", "slower", "faster", "same", "inconclusive", "not comparable"]
    count = total(map(count_of, kinds))
    assert count == Count(slower=2, faster=1, same=1, undecided=1)
    assert count.comparisons == 5
    assert count.alarms == Share(3, 5)
    assert count.found_slower == Share(2, 5)
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


@pytest.mark.parametrize("label", ["quiet", "quiet_2", "one_build", "loud"])
def test_false_alarms_are_bounded_on_every_recording(label: str) -> None:
    """In either direction: ten of a thousand are allowed."""
    allowed = counts(unchanged=Count(slower=4, faster=6, same=990))
    beyond = counts(unchanged=Count(slower=4, faster=7, same=989))
    assert not missed(list(rates(label, label, allowed, LEAST_CAUGHT)))
    assert missed(list(rates(label, label, beyond, LEAST_CAUGHT))) == [f"false alarms, {label}, unchanged: this gate"]


@pytest.mark.parametrize(("label", "most"), [("quiet", 10), ("quiet_2", 10), ("one_build", 10), ("loud", 0)])
def test_slowed_code_is_hardly_ever_called_the_same(label: str, most: int) -> None:
    """At 5 and at 3 %: in at most 1 % of the comparisons, and of a loud hour never."""
    allowed = counts(slowed=Count(slower=1000 - most, same=most))
    beyond = counts(slowed=Count(slower=999 - most, same=most + 1))
    assert not missed(list(rates(label, label, allowed, LEAST_CAUGHT)))
    assert missed(list(rates(label, label, beyond, {}))) == [
        f"called same, {label}, 5% slower: this gate",
        f"called same, {label}, 3% slower: this gate",
    ]


@pytest.mark.parametrize("label", ["quiet", "quiet_2", "one_build"])
def test_a_slowdown_is_found_except_in_a_loud_hour(label: str) -> None:
    """5 % in 99 of 100, 3 % in 95: whatever isn't labelled loud is held to it."""
    left_open = counts(slowed=Count(slower=989, undecided=11))
    assert missed(list(rates(label, label, left_open, LEAST_CAUGHT))) == [f"caught, {label}, 5% slower: this gate"]
    assert not missed(list(rates(label, label, counts(slowed=Count(slower=990, undecided=10)), LEAST_CAUGHT)))
    most_open = counts(slowed=Count(slower=949, undecided=51))
    assert len(missed(list(rates(label, label, most_open, LEAST_CAUGHT)))) == 2
    assert not missed(list(rates("loud", "loud", most_open, LEAST_CAUGHT)))


def test_more_false_alarms_than_another_rule_are_not_better() -> None:
    """As many are allowed; what the other catches doesn't matter here."""
    alarms = Count(slower=1, faster=1, undecided=998)
    few = counts(unchanged=Count(slower=2, same=998), other=alarms)
    more = counts(unchanged=Count(slower=2, faster=1, same=997), other=alarms)
    assert not missed(list(false_alarms_beyond("quiet", few)))
    assert missed(list(false_alarms_beyond("quiet", more))) == ["false alarms beyond other, quiet"]


def test_what_stands_behind_the_rates_is_told() -> None:
    """The number of different draws, and of comparisons, which is not the same for each rule."""
    few = {0.0: {OURS: Count(same=1000), "criterion": Count(undecided=200)}}
    assert told("quiet, in turns", 100, "70 of them different", few) == (
        "quiet, in turns: 100 draws, 70 of them different; comparisons of a case each with unchanged and slowed code: "
        "this gate 1000, criterion 200"
    )
