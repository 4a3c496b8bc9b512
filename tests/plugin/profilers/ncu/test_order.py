"""What a run and the process it starts under ncu say to each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.profilers.ncu.order import VARIABLE, Answer, Order, order


@pytest.mark.parametrize("file", [Path("/p/t.py"), None])
def test_an_order_arrives_as_it_was_given_and_once(file: Path | None) -> None:
    """Whatever the test is called; no process that the test starts finds it again."""
    given = Order(test="t.py::test[a b-é::[x]]", file=file, answer=Path("/a"))
    environment = {**given.environment(), "OTHER": "1"}
    assert order(environment) == given
    assert environment == {"OTHER": "1"}
    assert order(environment) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '["a", "b"]', "7", '["t", null, null]'])
def test_an_order_that_nobody_gave_is_refused(text: str) -> None:
    """The message says what the variable is for and what to do."""
    with pytest.raises(ValueError, match=rf"^{VARIABLE} is for the processes that --ncu starts\. Unset it\.$"):
        order({VARIABLE: text})


@pytest.mark.parametrize("problem", [None, "AssertionError: é"])
def test_an_answer_arrives_as_it_was_given(tmp_path: Path, problem: str | None) -> None:
    """The last one counts."""
    given = Order(test="t", file=None, answer=tmp_path / "answer")
    given.give(Answer(problem="another"))
    given.give(Answer(problem=problem))
    assert given.answered() == Answer(problem=problem)


@pytest.mark.parametrize("text", [None, "", "[", "[]"])
def test_no_answer_is_none(tmp_path: Path, text: str | None) -> None:
    """Nor is one that a process began and didn't end."""
    given = Order(test="t", file=None, answer=tmp_path / "answer")
    if text is not None:
        given.answer.write_text(text)
    assert given.answered() is None
