"""One figure each of what the machine told during the rounds; none from readings that can't be."""

from __future__ import annotations

import pytest

from roofline.schema.record import HostCounters, Rounds
from roofline.timing import readings
from tests.roofline import build


@pytest.mark.parametrize(
    ("series", "mean", "most", "total"),
    [
        ((300.0, 500.0), 400.0, 500.0, 800.0),
        ((0.0, 1.0), 0.5, 1.0, 1.0),
        ((7, 9), 8.0, 9, 16),
        ((0.0, 0.0), 0.0, 0.0, 0.0),
        (None, None, None, None),
        ((), None, None, None),
        ((300.0, -1.0), None, None, None),
        ((1e308, 1e308), None, None, None),
    ],
)
def test_a_series_in_one_figure(
    series: tuple[float, ...] | None, mean: float | None, most: float | None, total: float | None
) -> None:
    """Without a series there is none, nor with a reading in it that no machine has."""
    assert (readings.mean(series), readings.most(series), readings.total(series)) == (mean, most, total)


def _rounds(*held: str | None) -> Rounds:
    return Rounds(steps=1, wall_s=(0.1,) * len(held), throttle=held)


def test_the_share_of_rounds_in_which_clocks_were_held_down() -> None:
    """By whatever it was; 0 is a share, and unknown is none."""
    assert readings.throttle_share(_rounds("SW Power Cap", None, "HW Slowdown; SW Power Cap", None)) == 0.5
    assert readings.throttle_share(_rounds(None, None)) == 0.0
    assert readings.throttle_share(Rounds(steps=1, wall_s=(0.1,))) is None
    assert readings.throttle_share(_rounds()) is None


def test_what_held_them_down() -> None:
    """The most frequent first, each once."""
    rounds = _rounds("HW Slowdown; SW Power Cap", None, "SW Power Cap")
    assert readings.throttle_reasons(rounds) == ["SW Power Cap", "HW Slowdown"]
    assert readings.throttle_reasons(Rounds(steps=1, wall_s=(0.1,))) == []


@pytest.mark.parametrize(
    ("energy_j", "samples", "each_j"), [(64.0, 32, 2.0), (None, 32, None), (64.0, 0, None), (-1.0, 32, None)]
)
def test_the_energy_of_a_sample(energy_j: float | None, samples: int, each_j: float | None) -> None:
    """The step's over its samples."""
    record = build.record(case=build.case(samples_per_step=samples), energy_j_per_step=energy_j)
    assert readings.energy_j_per_sample(record) == each_j


def test_ratios_of_events() -> None:
    """Instructions a cycle, and misses over what could have missed."""
    counters = HostCounters(
        status="ok",
        cycles=4.0,
        instructions=10.0,
        cache_references=8.0,
        cache_misses=2.0,
        branches=5.0,
        branch_misses=0.0,
    )
    assert readings.instructions_per_cycle(counters) == 2.5
    assert readings.cache_miss_share(counters) == 0.25
    assert readings.branch_miss_share(counters) == 0.0


@pytest.mark.parametrize(
    "counters", [HostCounters(status="failed"), HostCounters(status="ok", cycles=0.0, instructions=1.0)]
)
def test_no_ratio_of_what_was_not_counted(counters: HostCounters) -> None:
    """Nor over nothing."""
    assert readings.instructions_per_cycle(counters) is None
    assert readings.cache_miss_share(counters) is None
