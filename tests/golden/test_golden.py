"""No command's figures change, whatever becomes of its words and layout."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.golden import corpus

COMMANDS = corpus.commands()


@pytest.fixture(scope="module", autouse=True)
def in_the_inputs() -> Iterator[None]:
    """Every command runs where the stored files lie."""
    with corpus.inputs():
        yield


@pytest.mark.parametrize("name", COMMANDS)
def test_no_figure_changed(name: str) -> None:
    assert corpus.differences(corpus.stored(name), corpus.figures_of(COMMANDS[name]), corpus.renamed()) == []


def test_each_stored_file_has_a_command() -> None:
    assert {path.stem for path in corpus.FIGURES.glob("*.json")} == set(COMMANDS)


def test_differences_are_found() -> None:
    """By a part in a thousand million, a judgement, a row that is gone; not what wasn't known, nor what is new."""
    before = {"[a] | time_s": 1.0, "[a] | bound": "memory", "[b] | time_s": 2.0, "[a] | loss": None}
    now = {"[a] | time_s": 1.00000001, "[a] | bound": "compute", "[a] | more": 3.0}
    assert [one.partition(":")[0] for one in corpus.differences(before, now, [])] == [
        *("[a] | time_s", "[a] | bound", "[b] | time_s"),
    ]
    assert corpus.differences({"[a] | t": 1.0}, {"[a] | step_time_s": 1.0}, [(r"\| t$", "| step_time_s")]) == []
