"""Whether a comparison in turns passes, and what is said of why not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from roofline.ab.measuring_in_turns import AbCase
from roofline.ab.turns_table import found_in
from roofline.comparison.gate import judge
from tests.roofline.ab.made import (
    BUSY,
    FAILED,
    NEW,
    OPEN,
    REMOVED,
    SAME,
    SCATTERED,
    SKIPPED,
    SLOWER,
    TIMELESS,
    case,
    trial,
)


@pytest.mark.parametrize(
    ("cases", "strict", "allowed", "code"),
    [
        ((SAME,), False, False, 0),
        ((SLOWER, FAILED, REMOVED), True, False, 1),
        ((SAME, FAILED), False, False, 3),
        ((SAME, REMOVED), False, False, 3),
        ((SAME, REMOVED), False, True, 0),
        ((SAME, NEW, SKIPPED), True, False, 0),
        ((SAME, OPEN), False, False, 0),
        ((SAME, OPEN), True, False, 3),
        ((SAME, BUSY, TIMELESS), False, False, 0),
        ((OPEN,), False, False, 0),
        ((BUSY, BUSY), False, False, 3),
        ((TIMELESS, NEW), False, True, 3),
        ((SKIPPED,), False, False, 3),
        ((REMOVED,), False, True, 3),
    ],
)
def test_exit_codes(cases: tuple[AbCase, ...], strict: bool, allowed: bool, code: int) -> None:
    """A slower case counts most; what can't be compared, or nothing compared at all, is 3."""
    outcome = judge(found_in(trial(*cases)), allow_removed=allowed, strict=strict)
    assert (outcome.exit_code, outcome.strict, outcome.allow_removed) == (code, strict, allowed)
    assert bool(outcome.failures) == (code != 0)


def test_pairs_that_lie_far_apart_are_no_proof_of_a_busy_machine() -> None:
    """On one left alone they do in up to one of twenty cases that didn't change: a gate of a single case may not
    end with 3 for it. It is inconclusive, and a warning says what it may be.
    """
    outcome = judge(found_in(trial(SCATTERED)), allow_removed=False, strict=False)
    assert (outcome.exit_code, outcome.failures) == (0, ())
    assert outcome.warnings == (
        "inconclusive, neither slower nor the same: scattered; the machine may be too busy for scattered",
    )
    assert judge(found_in(trial(SCATTERED)), allow_removed=False, strict=True).exit_code == 3


@pytest.mark.parametrize("strict", [False, True])
def test_an_inconclusive_case_is_a_warning(strict: bool) -> None:
    """Or what is in the way, where that is asked for; and where it was the machine, that is told."""
    for cases, told in (
        ((SAME, OPEN), "open"),
        ((SAME, OPEN, BUSY), "open, busy; the machine may be too busy for busy"),
    ):
        outcome = judge(found_in(trial(*cases)), allow_removed=False, strict=strict)
        lines = (f"inconclusive, neither slower nor the same: {told}",)
        assert (outcome.failures, outcome.warnings) == ((lines, ()) if strict else ((), lines))


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        ((BUSY, TIMELESS), "the machine is too busy. Measure again on a quieter machine"),
        ((TIMELESS,), "see below the table"),
    ],
)
def test_where_no_case_could_be_judged_it_says_so(cases: tuple[AbCase, ...], why: str) -> None:
    """A gate that saw nothing doesn't pass."""
    outcome = judge(found_in(trial(*cases)), allow_removed=False, strict=False)
    assert (outcome.exit_code, outcome.failures) == (3, (f"no case could be judged: {why}",))


def test_what_is_in_the_way_is_told_with_its_cases() -> None:
    """A line for each slower case, with what it is slower by; of the others one for each reason, the names of a few."""
    lost = [replace(FAILED, test=f"test_{number}", case=f"failed {number}") for number in range(4)]
    other = case("skips", problem="base: skipped: no")
    outcome = judge(found_in(trial(SLOWER, SAME, *lost, other, REMOVED)), allow_removed=False, strict=False)
    slower, *rest = outcome.failures
    assert re.fullmatch(r"slower: slow: \+10\.0 % \(\+\d\.\d to \+\d+\.\d %\)", slower)
    assert rest == [
        "not comparable: failed 0, failed 1, failed 2 and 1 more: new: failed: precision",
        "not comparable: skips: base: skipped: no",
        f"removed, only in base: {REMOVED.test}",
    ]
    assert judge(found_in(trial(SAME, REMOVED)), allow_removed=True, strict=False).warnings == (rest[-1],)


def test_a_case_that_was_lost_later_says_nothing() -> None:
    """Whatever a look at its first pairs of processes was."""
    (looked_at,) = trial(OPEN).cases
    assert looked_at.judged
    assert not replace(looked_at, problem="new: its pytest ended with exit code 9").judged
