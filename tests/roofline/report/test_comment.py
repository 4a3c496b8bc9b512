"""The comment for a pull request: the worst first, and never too long."""

from __future__ import annotations

import pytest

from roofline.comparison.comparison import Comparison, Settings, compare_paths
from roofline.comparison.gate import gate
from roofline.machine.published import load
from roofline.report.comment import LONGEST, comment
from tests.roofline.comparison import sessions

TIMES = {"same": 0.01, "slower": 0.1, "removed": 0.1, "much_slower": 0.1}
NOW = {"same": 0.01, "slower": 0.15, "much_slower": 0.3}


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """One case the same, two slower, one gone."""
    folder = tmp_path_factory.mktemp("sides")
    base, new = sessions.side(folder / "base", TIMES), sessions.side(folder / "new", NOW, first=10)
    return compare_paths(base, new, Settings(least_effect=0.2), load())


def _comment(comparison: Comparison, longest: int = LONGEST) -> str:
    return comment(comparison, gate(comparison, allow_removed=False, strict=False, in_full=False), longest)


def _rows(text: str) -> list[str]:
    return [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")][2:]


def test_the_worst_stand_first_and_what_is_the_same_is_counted(comparison: Comparison) -> None:
    """Under a sentence that says what came of it, with what the gate says."""
    text = _comment(comparison)
    assert text.startswith("**Regression: 2 cases slower, of 3 compared (2 slower, 1 removed, 1 same)**")
    assert _rows(text) == [f"{model}-train-b32-fp32" for model in ("much_slower", "slower", "removed")]
    assert "- Not in the table: 1 case the same" in text
    assert "- Error: slower: " in text


@pytest.mark.parametrize(
    ("less", "told"), [(10, "for want of room: 2 cases"), (1100, "There is more: it does not fit")]
)
def test_what_does_not_fit_is_left_out_and_told(comparison: Comparison, less: int, told: str) -> None:
    """First rows, from the best on; then whatever stands last."""
    longest = len(_comment(comparison)) - less
    text = _comment(comparison, longest)
    assert len(text) <= longest
    assert told in text
