"""The order of the turns, when there are enough, and what is said of a test that one side can't measure."""

from __future__ import annotations

from typing import Any

import pytest

from roofline.ab.messages import Message, Took
from roofline.ab.turn_taking import BUILDS, LEAST_TURNS, TurnsOfTest, alternate
from roofline.comparison.effects.paired import PairTurns
from tests.roofline.ab.fakes import FakeProcess, Table


def duel(
    table: Table, tests: tuple[str, ...] = ("a",), *, budget_s: float = 1.0, first: Any = "base", **of: Any
) -> list[TurnsOfTest]:
    """:param of: arguments of the fakes, under their side's name."""
    processes = {name: FakeProcess(name, table, tests, **of.get(name, {})) for name in ("base", "new")}
    return list(alternate(processes, tests, first, budget_s, clock=table.clock))


def played(table: Table, **of: Any) -> PairTurns:
    """The turns of the only test."""
    (met,) = duel(table, **of)
    assert met.turns is not None
    return met.turns


def turns(table: Table) -> str:
    """Who had the turns: ``b`` for base, ``n`` for new."""
    return "".join(said[0] for said in table.heard if said.endswith("Turn"))


def test_turns_go_a_b_b_a() -> None:
    """Whatever is slower at one time of a pair than at the other falls on both sides alike."""
    table = Table()
    pair = played(table, budget_s=1.2)
    assert turns(table) == "bnnbbnnbbnnb"
    assert pair.first == "base"
    assert pair.base_s == pair.new_s == (0.1,) * 6


def test_one_process_runs_at_a_time() -> None:
    """Nobody is spoken to before the other one has answered; proofs and counts come one after the other, too. What is
    built anew is so on both sides before either has a turn.
    """
    table = Table()
    duel(table, ("a", "b"), budget_s=0.1)
    agreed, done = ["base Agreed", "new Agreed"], ["base Enough", "new Enough"]
    build = [*agreed, "base Turn", "new Turn", "new Turn", "base Turn", *done]
    begin, then = ["base Begin", "new Begin"], ["base Next", "new Next"]
    case = [*build, *then, *build, *then, *build]
    assert table.heard == [*begin, *case, *then, *case, *then]


@pytest.mark.parametrize(
    ("budget_s", "build"),
    [
        (0.1, (0, 0, 1, 1, 2, 2)),
        (1.2, (0, 0, 1, 1, 2, 2)),
        (2.01, (0, 0, 1, 1, 2, 2, 3, 3, 4, 4)),
        (7.21, tuple(number for number in range(BUILDS) for _ in range(3))),
    ],
)
def test_no_turns_are_begun_that_would_end_beyond_the_budget(budget_s: float, build: tuple[int, ...]) -> None:
    """Of both sides together, an equal share for each building of the models; and a few are taken even where the budget
    is too small.
    """
    pair = played(Table(), budget_s=budget_s)
    assert len(pair.base_s) == len(pair.new_s) >= LEAST_TURNS
    assert pair.build == build


@pytest.mark.parametrize(
    ("preparing_s", "build"),
    [(0.0, (0, 0, 1, 1, 2, 2, 3, 3, 4, 4)), (1.1, (0, 0, 1, 1, 1, 1, 1, 1, 1, 1)), (2.1, (0,) * 10)],
)
def test_no_more_time_is_spent_on_building_than_on_turns(preparing_s: float, build: tuple[int, ...]) -> None:
    """Where a model takes long to build, it is built less often, and has all its turns at once."""
    pair = played(Table(), budget_s=2.01, base={"preparing_s": preparing_s})
    assert pair.build == build


def test_buildings_share_what_is_left_of_the_budget() -> None:
    """How many there will be is known from the second on, and what the first took less than its share is theirs."""
    pair = played(Table(), budget_s=6.01, base={"preparing_s": 1.0})
    assert [pair.build.count(build) for build in range(7)] == [2, 4, 4, 5, 5, 5, 5]
    assert len(pair.build) == 30


def test_a_b_b_a_goes_on_over_what_is_built_anew() -> None:
    """An odd number of turns in one building, and the other side begins the next."""
    table = Table()
    duel(table, budget_s=7.21)
    assert turns(table) == "bnnb" * (3 * BUILDS // 2)


def test_both_sides_take_the_same_steps() -> None:
    """The larger number of the two: a round is long enough on either side."""
    pair = played(Table(), base={"steps": 3}, new={"steps": 8})
    assert pair.steps == 8


@pytest.mark.parametrize(
    ("base", "new", "told"),
    [
        ({"parameters": 7, "batch": 2}, {"parameters": 8, "batch": 2}, "parameters 8, base 7"),
        ({"config": {"lr": 0.1}}, {"config": {"lr": 0.1, "betas": [1, 2]}}, "betas [1, 2], base none"),
        ({}, {}, "its hash differs"),
    ],
)
def test_another_workload_is_not_measured(base: dict[str, Any], new: dict[str, Any], told: str) -> None:
    """The same test with another hash is another workload: no turn is taken, and it is told what changed and what to
    do.
    """
    table = Table()
    (met,) = duel(table, base={"work": base}, new={"hashes": {"a": "other"}, "work": new})
    assert turns(table) == ""
    assert met.turns is None
    assert met.problem == (
        f"another workload in the same test: {told} (hash other, base h). If that is intended, give the test another "
        "name (then it is a new case, and the old one is removed: --allow-removed), or let a person decide"
    )


@pytest.mark.parametrize("skipping", ["base", "new"])
def test_a_test_that_one_side_skips_is_a_problem(skipping: str) -> None:
    """Of the side that skips, with its reason; the one that stood ready in vain isn't blamed."""
    (met,) = duel(Table(), **{skipping: {"skips": ["a"]}})
    assert (met.turns, met.problem, met.skipped) == (None, f"{skipping}: skipped: not here", False)


def test_a_failed_proof_makes_it_incomparable() -> None:
    """The turns are taken; the reason says which side and why."""
    (met,) = duel(Table(), new={"fails": {"a": "failed: precision: ran in tf32"}})
    assert (met.turns, met.problem) == (None, "new: failed: precision: ran in tf32")


def test_marks_stay_with_their_turns() -> None:
    """What disturbed a turn is told at the end of its building, in the order of the turns."""
    pair = played(Table(), new={"disturbs": lambda turn: "noise" if turn == 1 else None})
    assert pair.new_disturbed == (None, "noise") * 3
    assert pair.quiet == (True, False) * 3


def test_files_are_shown_to_whoever_watches() -> None:
    """What the watch raises ends the duel: a side with the wrong code must not be measured."""

    def watch(_side: object, _files: object) -> None:
        raise ValueError("wrong code")

    table = Table()
    processes = {name: FakeProcess(name, table) for name in ("base", "new")}
    with pytest.raises(ValueError, match="wrong code"):
        list(alternate(processes, ("a",), "base", 1.0, watch, table.clock))
    assert turns(table) == ""


def test_a_process_out_of_step_is_not_believed() -> None:
    """A message of another test would put one case's times under another's name."""

    class Confused(FakeProcess):
        def _answer(self, message: Message) -> Message | None:
            answer = super()._answer(message)
            return (
                answer
                if answer is None or isinstance(answer, Took)
                else type(answer)(**{**_values(answer), "test": "z"})
            )

    table = Table()
    processes = {"base": FakeProcess("base", table), "new": Confused("new", table)}
    (met,) = alternate(processes, ("a",), "base", 1.0, clock=table.clock)
    assert (met.problem or "").startswith("new: out of step in a")


def _values(message: Message) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}
