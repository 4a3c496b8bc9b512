"""The energy of a step: of the timed rounds alone, and none where a counter can't tell it."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring import InputEnded, Plan
from tests.plugin.measuring.fakes import Lab
from tests.plugin.measuring.test_pace import Turns

STEPS = Plan(warmup_steps=3, steps=2, max_time_s=2.0)


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


@pytest.mark.parametrize(
    ("missing", "why"), [({}, "the device tells no energy"), ({"energy_j": "no counter here"}, "no counter here")]
)
def test_a_device_without_a_counter(missing: dict[str, str], why: str) -> None:
    """The reason is the device's own where it has one."""
    lab = Lab(0.25)
    lab.missing |= missing
    measured = lab.measure(STEPS)
    assert measured.energy_j_per_step is None
    assert measured.missing["energy_j_per_step"] == why


def test_rounds_too_short_for_a_counter() -> None:
    """A sensor that is read a few times a second says nothing of less than one."""
    measured = Lab(0.125, power_w=300.0).measure(Plan(warmup_steps=0, steps=1, max_time_s=0.5))
    assert measured.energy_j_per_step is None
    assert measured.missing["energy_j_per_step"] == "0.5 s of timed rounds are too short for a counter of energy"


def test_a_counter_that_stands_still_is_no_energy_of_zero() -> None:
    """It is not read on this machine, whatever it says."""
    measured = Lab(0.25, power_w=0.0).measure(STEPS)
    assert measured.energy_j_per_step is None
    assert measured.missing["energy_j_per_step"] == "the counter of energy stood still for 2 s"


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


def test_processes_that_take_turns() -> None:
    """The other one's energy is in the same counter."""
    lab = Lab(0.25, power_w=300.0)
    measured = lab.measure(STEPS, pace=Turns(lab, 5, steps=2))
    assert measured.energy_j_per_step is None
    assert measured.missing["energy_j_per_step"] == "another process ran between the rounds"
