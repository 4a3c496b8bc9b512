"""Marks of disturbed rounds: by evidence, in words, and never by the time."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_roofline.measuring.disturbance import disturbances
from tests.plugin.measuring.fakes import a_round


def counted(*switches: int) -> list[dict[str, Any]]:
    """Rounds with so many interruptions, by whoever it was."""
    return [{"switches": count, "others_cpu_s": None} for count in switches]


BUSY = {"switches": 80, "others_cpu_s": 0.5}


@pytest.mark.parametrize(
    ("rounds", "last"),
    [
        ([{"wall_s": 0.1}, {"wall_s": 5.0}], None),
        ([{"steal_s": 0.0}, {"wall_s": 2.0, "steal_s": 0.04}], None),
        ([{"steal_s": 0.0}, {"wall_s": 2.0, "steal_s": 0.05}], "50 ms stolen by the hypervisor"),
        ([{"switches": 80}], None),
        ([{"others_cpu_s": 0.9}], None),
        ([{"switches": 0}, BUSY], "other programs used 500 ms of its CPUs, 80 involuntary switches"),
        ([{"wall_s": 0.005, "switches": 1, "others_cpu_s": 0.01}], None),
        (counted(0, 10, 20, 30, 40, 60), None),
        (counted(0, 0, 0, 90), None),
        ([*[{"hz": 1.5e9}] * 5, {"hz": 1.43e9}], None),
        ([*[{"hz": 1.5e9}] * 5, {"hz": 1.4e9}], "clock at 1400 MHz, 1500 are usual"),
        (
            [{**BUSY, "steal_s": 0.1}],
            "100 ms stolen by the hypervisor; other programs used 500 ms of its CPUs, 80 involuntary switches",
        ),
    ],
    ids=[
        *("slow without evidence", "little is stolen", "more than 2 % are stolen"),
        *("interrupted by its own workers", "others on CPUs of their own", "both on the same CPUs"),
        *("one switch in a short round", "counts that vary anyway", "too few rounds to be out of line"),
        *("a clock within 5 %", "a clock that dropped", "disturbed twice"),
    ],
)
def test_a_round_is_marked_by_what_was_seen(rounds: list[dict[str, Any]], last: str | None) -> None:
    """Only what was seen from outside marks a round: leaving out the slow ones would bias the mean."""
    marks = disturbances([a_round(**{"wall_s": 1.0, **one}) for one in rounds])
    assert marks == (*[None] * (len(rounds) - 1), last)


@pytest.mark.parametrize(("usual", "most"), [(0, 5), (4, 14), (100, 150)])
def test_interruptions_out_of_line(usual: int, most: int) -> None:
    """Far more than in the other rounds: more than five deviations of a count above the median."""
    rounds = [a_round(**one) for one in counted(*[usual] * 6, most, most + 1)]
    assert disturbances(rounds) == (*[None] * 7, f"{most + 1} involuntary switches, {usual} are usual")


def test_no_readings_no_marks() -> None:
    """Where nothing can be read it isn't claimed that the rounds were quiet."""
    assert disturbances([a_round(switches=None, steal_s=None, others_cpu_s=None)]) is None
