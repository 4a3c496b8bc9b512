"""Marks of disturbed rounds: by evidence, in words, and never by the time."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring.disturbance import disturbances
from tests.plugin.measuring.fakes import a_round


def test_a_slow_round_without_evidence_is_not_marked() -> None:
    """Only what was seen from outside marks a round: leaving out the slow ones would bias the mean."""
    assert disturbances([a_round(), a_round(), a_round(wall_s=5.0)]) == (None, None, None)


def test_stolen_time() -> None:
    """More than 2 % of the round taken by the hypervisor."""
    marks = disturbances([a_round(1.0, steal_s=0.02), a_round(1.0, steal_s=0.03)])
    assert marks == (None, "30 ms stolen by the hypervisor")


def test_shared_cpus_need_both_interruptions_and_other_programs() -> None:
    """Interruptions alone may be by own workers; other programs may run on CPUs of their own."""
    both = a_round(1.0, switches=80, others_cpu_s=0.5)
    marks = disturbances([a_round(1.0, switches=80), a_round(1.0, others_cpu_s=0.9), both])
    assert marks == (None, None, "other programs used 500 ms of its CPUs, 80 involuntary switches")


def test_a_short_round_needs_more_than_a_few_interruptions() -> None:
    """One switch in a 5 ms round is 200 a second and means nothing."""
    assert disturbances([a_round(0.005, switches=1, others_cpu_s=0.01)]) == (None,)


@pytest.mark.parametrize(("usual", "most"), [(0, 5), (4, 14), (100, 150)])
def test_interruptions_out_of_line(usual: int, most: int) -> None:
    """Far more than in the other rounds, whoever it was: more than five deviations of a count above the median."""
    switches = [*[usual] * 6, most, most + 1]
    marks = disturbances([a_round(switches=count, others_cpu_s=None) for count in switches])
    assert marks == (*[None] * 7, f"{most + 1} involuntary switches, {usual} are usual")


def test_a_wide_spread_of_interruptions_is_in_line() -> None:
    """Where counts vary anyway a large one is not out of line."""
    rounds = [a_round(switches=count, others_cpu_s=None) for count in (0, 10, 20, 30, 40, 60)]
    assert disturbances(rounds) == (None,) * 6


def test_too_few_rounds_to_be_out_of_line() -> None:
    """Four rounds have no usual count."""
    rounds = [a_round(switches=count, others_cpu_s=None) for count in (0, 0, 0, 90)]
    assert disturbances(rounds) == (None,) * 4


def test_a_dropped_clock() -> None:
    """More than 5 % below the median clock."""
    marks = disturbances([*[a_round(hz=1.5e9) for _ in range(5)], a_round(hz=1.43e9), a_round(hz=1.4e9)])
    assert marks == (*[None] * 6, "clock at 1400 MHz, 1500 are usual")


def test_all_evidence_is_told() -> None:
    """A round may be disturbed twice."""
    marks = disturbances([a_round(1.0, steal_s=0.1, switches=80, others_cpu_s=0.5)])
    assert marks == (
        "100 ms stolen by the hypervisor; other programs used 500 ms of its CPUs, 80 involuntary switches",
    )


def test_no_readings_no_marks() -> None:
    """Where nothing can be read it isn't claimed that the rounds were quiet."""
    assert disturbances([a_round(switches=None, steal_s=None, others_cpu_s=None)]) is None
