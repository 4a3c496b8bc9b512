"""A measurement that waits for its turns: who decides when a round is taken, and what happens around it."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring import InputEnded, Plan
from pytest_roofline.measuring.loop import REBUILT_STEPS
from pytest_roofline.measuring.rounds import Round
from tests.plugin.measuring.fakes import Lab


class Turns:
    """Gives a number of turns, and notes on the lab's list what it was asked.

    :param steps: of a round; None is what the warm-up says. ``before``: of its rounds when it was measured before.
    """

    def __init__(self, lab: Lab, turns: int, steps: int | None = None, before: int | None = None) -> None:
        self._lab = lab
        self._left = turns
        self._steps = steps
        self.agreed_before = before
        self.asked: int | None = None
        self.taken: list[float] = []

    def agree(self, steps: int) -> int:
        self._lab.calls.append("agree")
        self.asked = steps
        return self._steps or steps

    def next_round(self) -> bool:
        self._lab.calls.append("wait")
        self._left -= 1
        return self._left >= 0

    def took(self, round: Round) -> None:
        self._lab.calls.append("took")
        self.taken.append(round.wall_s)


def test_there_are_as_many_rounds_as_turns() -> None:
    """Whatever margin and budget say: a steady step would be done after five, and the budget after one."""
    lab = Lab(0.01)
    turns = Turns(lab, 7)
    plan = Plan(margin=0.5, max_time_s=0.001)
    measured = lab.measure(plan, pace=turns)
    assert len(measured.timing.rounds.wall_s) == len(turns.taken) == 7
    assert list(measured.timing.rounds.wall_s) == turns.taken
    assert measured.timing.stop_reason == "fixed"


def test_the_other_side_may_ask_for_more_steps() -> None:
    """The round has what was agreed on, not what this side's warm-up found."""
    lab = Lab(0.01)
    turns = Turns(lab, 2, steps=25)
    measured = lab.measure(pace=turns)
    assert turns.asked == 10
    assert measured.timing.rounds.steps == 25
    assert measured.timing.step_time_s == pytest.approx(0.01)


def test_it_agrees_after_the_warm_up_and_is_warm_when_it_waits() -> None:
    """What is done between warm-up and rounds is done once both sides are there."""
    lab = Lab(0.01)
    lab.measure(pace=Turns(lab, 1), on_warm=lab.noted("warm"))
    calls = [call for call in lab.calls if call in ("agree", "warm", "wait", "took", "telemetry")]
    assert calls == ["agree", "warm", "wait", "telemetry", "telemetry", "took", "wait"]


@pytest.mark.parametrize(
    ("plan", "before", "warmup"),
    [
        (Plan(), 1, REBUILT_STEPS),
        (Plan(), 25, 25),
        (Plan(steps=7), 7, 7),
        (Plan(warmup_steps=1), 25, 1),
    ],
)
def test_what_is_built_anew_is_warm_after_a_round(plan: Plan, before: int, warmup: int) -> None:
    """A drift wouldn't settle for seconds, and that was waited for the first time; its length of a round is kept. Who
    asks for a number of steps gets it each time.
    """
    lab = Lab(*(0.01 + 0.0001 * step for step in range(200)))
    turns = Turns(lab, 2, before=before)
    measured = lab.measure(plan, pace=turns)
    assert lab.calls[: lab.calls.index("agree")].count("step") == warmup == measured.timing.warmup_steps
    assert measured.timing.warmup_settled is None
    assert turns.asked == measured.timing.rounds.steps == before


@pytest.mark.parametrize(("steps", "lead_in"), [(1, 0), (3, 0), (4, 1), (25, 3)])
def test_caches_are_filled_before_a_round(steps: int, lead_in: int) -> None:
    """Untimed steps, a tenth of the round's: the other process ran meanwhile. Long steps need none."""
    lab = Lab(0.01)
    turns = Turns(lab, 1, steps=steps)
    lab.measure(pace=turns)
    after = lab.calls[lab.calls.index("wait") :]
    assert after.count("step") == lead_in + steps
    assert turns.taken == [pytest.approx(0.01 * steps)]


def test_data_that_ends_in_a_turn_ends_the_measurement() -> None:
    """What was complete by then is kept, as in any other measurement."""
    lab = Lab(0.01)
    turns = Turns(lab, 9, steps=1)

    def step() -> None:
        if len(turns.taken) == 2:
            raise InputEnded("the data ended after 2 batches")
        lab.step()

    measured = lab.measure(step=step, pace=turns)
    assert len(measured.timing.rounds.wall_s) == 2
    assert measured.input_ended == "the data ended after 2 batches, in timed round 3"
