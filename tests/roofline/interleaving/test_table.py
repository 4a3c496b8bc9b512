"""What is shown of a comparison."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from roofline.commands.ab import exit_code
from roofline.interleaving.table import sentence, verdict_table
from roofline.interleaving.trial import CaseTrial, Rules
from roofline.tables import render
from tests.roofline.interleaving.made import case, trial, turns

SLOWER = case("slow", turns(1.1), turns(1.1))
SAME = case("same", turns(), turns())
OPEN = case("open", turns(1.0, noise=0.4), turns(1.1, noise=0.4))
LOUD = case("loud", turns(1.4), turns(0.8))
TIMELESS = case("timeless", turns(math.nan), turns(math.nan))
FAILED = case("failed", problem="new: failed: precision\n  | it ran in tf32")
REMOVED = case("old", only_in="base")
NEW = case("young", only_in="new")
SKIPPED = case("left", problem="base: skipped: no; new: skipped: no", skipped=True)


def test_the_verdict_comes_first_and_the_worst_of_it() -> None:
    """One sentence over all cases; then a row a case, in the same order."""
    made = trial(SAME, SLOWER, OPEN, FAILED, REMOVED, NEW, SKIPPED)
    assert sentence(made) == (
        "the new against the base: 1 slower, 1 not comparable, 1 removed, 1 inconclusive, 1 the same, 1 new, 1 skipped"
    )
    table = verdict_table(made)
    assert [row.case for row in table.rows] == ["slow", "failed", "old", "open", "same", "young", "left"]


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_terminal(width: int) -> None:
    """Times, change, interval and verdict at 80 columns, too."""
    shown = render(verdict_table(trial(SLOWER, SAME)), "table", width)
    assert max(map(len, shown.splitlines())) <= width
    row = next(line for line in shown.splitlines() if line.startswith("slow"))
    assert row.split()[:6] == ["slow", "10.00", "ms", "11.00", "ms", "+10.0"]
    assert "slower" in row


def test_the_reasons_stand_below() -> None:
    """Of every case that has one, each line of it; and which code was run."""
    shown = render(verdict_table(trial(SLOWER, OPEN, FAILED)), "table", 100)
    assert "failed: not comparable: new: failed: precision" in shown
    assert "    | it ran in tf32" in shown
    assert "open: inconclusive: anything from" in shown
    assert "base: the base; 3 files" in shown
    assert "Less than 2.0 % doesn't matter." in " ".join(shown.split())


def test_the_confidence_of_the_intervals_is_told() -> None:
    """One for all where there is one look; else that of the last and of those before, and a row has its own."""
    noisy = [turns(1.0, noise=0.1)] * 3
    ends = {}
    for pairs in (3, 5):
        table = verdict_table(trial(case("a", *noisy), rules=Rules(pairs=pairs)))
        (row,) = json.loads(render(table, "json", 80))["rows"]
        ends[pairs] = row["interval"]
        note = " ".join(table.notes[0].split())
        assert {3: "interval: at 99 %.", 5: "at 99.2 % after 5 pairs, at 99.9 % after fewer, so that all"}[
            pairs
        ] in note
    assert ends[5][0] < ends[3][0] < ends[3][1] < ends[5][1]


def test_json_has_numbers_and_markdown_the_sentence() -> None:
    """The same table in every form."""
    made = verdict_table(trial(SLOWER))
    (row,) = json.loads(render(made, "json", 80))["rows"]
    assert row["base_step_time_s"] == pytest.approx(0.01)
    assert row["change"] == pytest.approx(0.1)
    assert row["interval"][0] < 0.1 < row["interval"][1]
    assert (row["outcome"], row["turns"], row["pairs"], row["disturbed"]) == ("slower", 18, 2, 0)
    assert render(made, "markdown", 80).startswith("**the new against the base: 1 slower**\n")


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
        ((SAME, LOUD, TIMELESS), False, False, 0),
        ((OPEN,), False, False, 0),
        ((LOUD, LOUD), False, False, 3),
        ((TIMELESS, NEW), False, True, 3),
        ((SKIPPED,), False, False, 3),
        ((REMOVED,), False, True, 3),
    ],
)
def test_exit_codes(cases: tuple[CaseTrial, ...], strict: bool, allowed: bool, code: int) -> None:
    """A slower case counts most; what can't be compared, or nothing compared at all, is 3."""
    assert exit_code(trial(*cases), allow_removed=allowed, strict=strict) == code


def test_an_inconclusive_case_is_told_as_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, for it doesn't change the exit code; and where it was the machine."""
    for cases, told in (
        ((SAME, OPEN), "warning: inconclusive: open\n"),
        ((SAME, OPEN, LOUD), "warning: inconclusive: open, loud; the machine is too busy for loud\n"),
    ):
        assert exit_code(trial(*cases), allow_removed=False, strict=False) == 0
        assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("cases", "why"),
    [
        ((LOUD, TIMELESS), "the machine is too busy. Measure again when it is left alone"),
        ((TIMELESS,), "see below the table"),
    ],
)
def test_where_no_case_could_be_judged_it_says_so(
    cases: tuple[CaseTrial, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A gate that saw nothing doesn't pass."""
    assert exit_code(trial(*cases), allow_removed=False, strict=False) == 3
    assert capsys.readouterr().err == f"Error: cannot compare. No case could be judged: {why}.\n"


def test_a_case_that_was_lost_later_says_nothing() -> None:
    """Whatever a look at its first pairs of processes was."""
    (looked_at,) = trial(OPEN).cases
    assert looked_at.judged
    assert not replace(looked_at, problem="new: its pytest ended with exit code 9").judged


def test_what_would_settle_it_is_told_as_options() -> None:
    """More pairs need more time, for it is shared out among them: each is to take as long as those there were."""
    few = case("few", *(turns(ratio) for ratio in (1.02, 1.04, 1.03)))
    made = trial(few, rules=Rules(pairs=3, max_time_s=60.0, least=0.01, confidence=0.9999))
    (settled,) = made.cases
    assert settled.verdict is not None
    assert settled.verdict.more_sessions is not None
    pairs = 3 + settled.verdict.more_sessions
    told = " ".join(render(verdict_table(made), "table", 200).split())
    assert (
        f"(if the estimate stays, some {settled.verdict.more_sessions} more pairs would settle it: --pairs {pairs} "
        f"--max-time {20 * pairs})"
    ) in told


def test_a_case_that_only_the_others_leave_open_says_so() -> None:
    """Its interval is its own, and the verdict is over all cases: why an interval beyond 0 is no slowdown is told."""
    ratios = (1.015, 1.025, 1.02)
    rules = Rules(pairs=3, least=0.005, confidence=0.99)
    alone = case("a", *map(turns, ratios))
    others = [case(f"b{number}", *[turns()] * 3) for number in range(59)]
    assert [one.outcome for one in trial(alone, rules=rules).of("slower")] == ["slower"]
    made = trial(alone, *others, rules=rules)
    (case_,) = (one for one in made.of("inconclusive") if one.case == alone.case)
    assert case_.effect is not None
    assert case_.effect.interval(rules.confidence)[0] > 1.005
    shown = " ".join(render(verdict_table(made), "table", 200).split())
    assert "a: inconclusive: by itself beyond chance, but among 60 cases together it could still be chance" in shown
