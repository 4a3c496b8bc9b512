"""The energy of a step: of the timed rounds alone, and none where a counter can't tell it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_roofline.measuring import InputEnded, Plan
from tests.plugin.measuring.fakes import Lab
from tests.plugin.measuring.test_pace import Turns

STEPS = Plan(warmup_steps=3, steps=2, max_time_s=2.0)
SHORT = Plan(warmup_steps=0, steps=1, max_time_s=0.5)


@pytest.mark.parametrize(("power_w", "joule"), [(300.0, 75.0), (0.25, 0.0625)])
def test_what_the_rounds_used_over_their_steps(power_w: float, joule: float) -> None:
    """At 300 W a step of a quarter of a second takes 75 J; the dear warm-up is not in it. All may be below 1 J."""
    measured = Lab(50.0, 50.0, 50.0, 0.25, power_w=power_w).measure(STEPS)
    assert measured.energy_j_per_step == joule
    assert "energy_j_per_step" not in measured.missing


def test_repeats_are_taken_together_without_their_warm_ups() -> None:
    """Each is read before its first round and after its last one."""
    lab = Lab(9.0, 9.0, 9.0, *[0.25] * 8, 9.0, 9.0, 9.0, 0.75, power_w=100.0)
    measured = lab.measure(Plan(warmup_steps=3, steps=1, repeats=2, max_time_s=2.0, margin=1e-6))
    steps = len(measured.timing.rounds.wall_s)
    assert steps == 8 + 3
    assert measured.energy_j_per_step == pytest.approx(100.0 * (8 * 0.25 + 3 * 0.75) / steps)


def test_the_single_steps_of_a_latency_are_not_in_it() -> None:
    """They come after the rounds."""
    lab = Lab(*[0.25] * (3 + 8), 7.0, power_w=100.0)
    plan = Plan(warmup_steps=3, steps=1, max_time_s=2.0, margin=1e-6)
    measured = lab.measure(plan, latency=True)
    assert measured.energy_j_per_step == 25.0


TURNS = Lab(0.25, power_w=300.0)


@pytest.mark.parametrize(
    ("lab", "plan", "pace", "why"),
    [
        (Lab(0.25), STEPS, None, "the device tells no energy"),
        (Lab(0.125, power_w=300.0), SHORT, None, "0.5 s of timed rounds are too short for a counter of energy"),
        (Lab(0.25, power_w=0.0), STEPS, None, "the counter of energy stood still for 2 s"),
        (TURNS, STEPS, Turns(TURNS, 5, steps=2), "another process ran between the rounds"),
    ],
    ids=["no counter", "too short", "stands still", "turns"],
)
def test_where_a_counter_can_not_tell_it_there_is_a_reason(lab: Lab, plan: Plan, pace: Any, why: str) -> None:
    """A sensor that is read a few times a second says nothing of less than one; one that stands still is no energy of
    zero; and in the counter of processes that take turns is the other one's, too.
    """
    measured = lab.measure(plan, pace=pace)
    assert measured.energy_j_per_step is None
    assert measured.missing["energy_j_per_step"] == why


def test_the_reason_is_the_device_s_own_where_it_has_one() -> None:
    lab = Lab(0.25)
    lab.missing["energy_j"] = "no counter here"
    assert lab.measure(STEPS).missing["energy_j_per_step"] == "no counter here"


def test_data_that_ends_within_a_round() -> None:
    """What its steps used is in the counter, and their number isn't in the rounds."""
    lab = Lab(0.5, power_w=300.0)

    def step() -> None:
        if lab.steps == 11:
            raise InputEnded("no more")
        lab.step()

    measured = lab.measure(Plan(warmup_steps=0, steps=2, max_time_s=20.0, margin=1e-6), step)
    assert len(measured.timing.rounds.wall_s) == 5
    assert measured.missing["energy_j_per_step"] == "the data ended within a round"
