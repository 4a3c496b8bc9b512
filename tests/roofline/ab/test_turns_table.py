"""What is shown of a comparison."""

from __future__ import annotations

import json

import pytest

from roofline.ab.measuring_in_turns import AbCase, AbResult, Rules
from roofline.ab.turns_table import found_in, sentence, verdict_table
from roofline.comparison.gate import judge
from roofline.show.render import render
from roofline.show.tables import Format
from tests.roofline.ab.made import (
    BUSY,
    FAILED,
    NEW,
    OPEN,
    REMOVED,
    SAME,
    SKIPPED,
    SLOWER,
    TIMELESS,
    case,
    trial,
    turns,
)


def shown(made: AbResult, form: Format = "table", width: int = 200) -> str:
    return render(verdict_table(made, exit_code(made)), form, width)


def exit_code(made: AbResult) -> int:
    return judge(found_in(made), allow_removed=False, strict=False).exit_code


def test_the_worst_comes_first() -> None:
    """A row a case."""
    made = trial(SAME, SLOWER, OPEN, FAILED, REMOVED, NEW, SKIPPED)
    table = verdict_table(made, 1)
    assert [row.case for row in table.rows] == ["slow", "old", "failed", "open", "young", "same", "left"]


@pytest.mark.parametrize(
    ("cases", "title"),
    [
        ((SAME, OPEN), "Passed: {}: no case shown to be slower; 1 of 2 inconclusive (1 inconclusive, 1 same)"),
        ((OPEN,), "Undecided: {}: no case shown to be slower, and none to be the same (1 inconclusive)"),
        ((SLOWER, SAME, REMOVED), "Regression: {}: 1 case slower, of 2 compared (1 slower, 1 removed, 1 same)"),
        ((SLOWER, case("b", turns(1.2), turns(1.2))), "Regression: {}: 2 cases slower, of 2 compared (2 slower)"),
        (
            (SAME, REMOVED),
            "Not passed: {}: no case shown to be slower, but not all of it could be judged (1 removed, 1 same)",
        ),
        ((BUSY, SKIPPED), "Cannot compare: {}: no case could be judged (1 inconclusive, 1 skipped)"),
        ((TIMELESS,), "Cannot compare: {}: no case could be judged (1 inconclusive)"),
    ],
)
def test_the_title_says_whether_it_passed(cases: tuple[AbCase, ...], title: str) -> None:
    """As that of ``roofline check`` does; then which sides, and the verdicts, the worst first."""
    made = trial(*cases)
    assert sentence(made, exit_code(made)) == title.format("the new against the base")


def test_the_reasons_stand_below() -> None:
    """Of every case that has one, each line of it; and which code was run."""
    text = shown(trial(SLOWER, OPEN, FAILED), width=100)
    assert "failed: not comparable: new: failed: precision" in text
    assert "    | it ran in tf32" in text
    assert "open: inconclusive: anything from" in text
    assert "base: the base; 3 files" in text
    assert "Less than 2.0 % doesn't matter." in " ".join(text.split())


def test_the_confidence_of_the_intervals_is_told() -> None:
    """One for all where there is one look; else that of the last and of those before, and a row has its own."""
    noisy = [turns(1.0, noise=0.1)] * 3
    ends = {}
    for pairs in (3, 5):
        table = verdict_table(trial(case("a", *noisy), rules=Rules(pairs=pairs)), 0)
        (row,) = json.loads(render(table, "json", 80))
        ends[pairs] = row["change_low"], row["change_high"]
        assert row["confidence"] == pytest.approx({3: 0.99, 5: 0.999}[pairs])
        note = " ".join(table.notes[0].split())
        assert {3: "interval: at 99 %.", 5: "at 99.2 % after 5 pairs, at 99.9 % after fewer, so that all"}[
            pairs
        ] in note
    assert ends[5][0] < ends[3][0] < ends[3][1] < ends[5][1]


def test_a_row_has_its_numbers_in_every_form() -> None:
    """In SI units, with the turns that were left out and those that were disturbed and are in it all the same."""
    made = trial(SLOWER, BUSY)
    first, second = json.loads(shown(made, "json"))
    assert first["base_step_time_s"] == pytest.approx(0.01)
    assert first["change"] == pytest.approx(0.1)
    assert first["change_low"] < 0.1 < first["change_high"]
    names = ("verdict", "turns", "pairs", "left_out", "disturbed")
    assert [first[name] for name in names] == ["slower", 18, 2, 0, 0]
    assert [second[name] for name in names] == ["inconclusive", 18, 2, 0, 18]
    assert "18 of 18 turns were disturbed" in second["why"]
    assert shown(made, "markdown").startswith("**Regression: the new against the base: 1 case slower, of 2 compared (")


def test_what_would_settle_it_is_told_as_options() -> None:
    """More pairs need more time, for it is shared out among them: each is to take as long as those there were."""
    few = case("few", *(turns(ratio) for ratio in (1.02, 1.04, 1.03)))
    made = trial(few, rules=Rules(pairs=3, max_time_s=60.0, least=0.01, confidence=0.9999))
    (settled,) = made.cases
    assert settled.verdict is not None
    assert settled.verdict.more_sessions == 1
    told = " ".join(shown(made).split())
    assert "(if the estimate stays, about 1 more pair would settle it: --pairs 4 --max-time 80)" in told
