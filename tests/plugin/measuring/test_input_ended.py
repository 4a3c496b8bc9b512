"""Data that ends while a step is measured, on a clock of its own: what is kept, and what is told."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring import InputEnded, Plan
from tests.plugin.measuring.fakes import Lab


class Finite(Lab):
    """A lab whose data ends after some steps of a quarter of a second."""

    def __init__(self, batches: int) -> None:
        super().__init__(0.25)
        self._batches = batches

    def step(self) -> None:
        if self.steps == self._batches:
            raise InputEnded(f"the data ended after {self.steps} batches")
        super().step()


_TWO_A_ROUND = Plan(warmup_steps=3, steps=2, margin=1e-6)


@pytest.mark.parametrize(("batches", "where"), [(2, "the warm-up"), (3, "timed round 1"), (4, "timed round 1")])
def test_data_that_ends_before_a_round_is_complete_leaves_nothing(batches: int, where: str) -> None:
    """There is no number to give, and the reason says how far it came."""
    with pytest.raises(InputEnded) as error:
        Finite(batches).measure(_TWO_A_ROUND)
    assert str(error.value) == (f"the data ended after {batches} batches, in {where}: not one timed round was complete")


@pytest.mark.parametrize(
    ("plan", "batches", "rounds", "where"),
    [
        # Three of warm-up, two rounds of two, and one step of a third: that one is in no time.
        (_TWO_A_ROUND, 8, 2, "timed round 3"),
        (Plan(protocol="window", warmup_steps=1, steps=4, repeats=3), 12, 2, "timed round 1 of repeat 3"),
        (Plan(protocol="window", warmup_steps=2, steps=4, repeats=3), 13, 2, "the warm-up of repeat 3"),
        (Plan(protocol="steps", warmup_steps=1, steps=9), 8, 7, "timed round 8"),
    ],
    ids=["adaptive", "in a repeat", "in a repeat's warm-up", "steps"],
)
def test_data_may_end_in_any_protocol(plan: Plan, batches: int, rounds: int, where: str) -> None:
    """Of repeats those that have a round are kept; single steps are rounds of one."""
    measured = Finite(batches).measure(plan)
    assert (len(measured.timing.rounds.wall_s), measured.timing.step_time_s) == (rounds, 0.25)
    assert measured.timing.stop_reason == "input_ended"
    assert measured.input_ended == f"the data ended after {batches} batches, in {where}"


def test_no_single_steps_are_taken_where_the_data_has_ended() -> None:
    """They would only meet its end once more."""
    measured = Finite(8).measure(_TWO_A_ROUND, latency=True)
    assert measured.missing["timing.latency"] == "the data ended after 8 batches, in timed round 3"
