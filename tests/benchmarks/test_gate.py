"""The rules that the gate is held against, and how comparisons are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import gate
from benchmarks.gate import Count, Session, Split

RNG = np.random.default_rng(0)


def quiet(mean_s: float, rounds: int = 30, spread: float = 0.01) -> Session:
    return Session(mean_s * (1 + spread * RNG.standard_normal(rounds)), np.zeros(rounds, dtype=bool))


@pytest.mark.parametrize(("change", "kind"), [(1.051, "slower"), (1.049, "inconclusive"), (0.5, "inconclusive")])
def test_mean_beyond(change: float, kind: str) -> None:
    """pytest-benchmark's rule looks at the mean alone, and at one direction."""
    base = np.array([1.0, 1.2, 0.8])
    assert gate.mean_beyond(base, base * change) == kind


@pytest.mark.parametrize(("change", "kind"), [(1.1, "slower"), (0.9, "faster"), (1.0, "inconclusive")])
@pytest.mark.parametrize("rule", [gate.mann_whitney, gate.criterion])
def test_tests_of_rounds(rule: gate.Rule, change: float, kind: str) -> None:
    """A clear change is seen by both, either way; the same values are none."""
    base = np.linspace(0.98, 1.02, 40)
    assert rule(base, base * change) == kind


def test_criterion_has_a_noise_threshold() -> None:
    """A difference that is significant and below 1 % is none to criterion, and is one to the rank test."""
    base = np.linspace(0.999, 1.001, 200)
    assert gate.criterion(base, base * 1.009) == "inconclusive"
    assert gate.criterion(base, base * 1.011) == "slower"
    assert gate.mann_whitney(base, base * 1.009) == "slower"


def test_splits_draw_each_session_once() -> None:
    """Every second trial is in the order taken: all of the base before all of the new side."""
    drawn = list(gate.splits(10, 4, 20, np.random.default_rng(0)))
    assert all(len({*split.base, *split.new}) == 8 for split in drawn)
    assert all(max(split.base) < min(split.new) for split in drawn[1::2])
    assert not all(max(split.base) < min(split.new) for split in drawn[::2])


def test_our_verdicts() -> None:
    """Five quiet sessions a side find 20 %, and call nothing slower that didn't change."""
    sessions = {"a": tuple(quiet(1e-3) for _ in range(10)), "b": tuple(quiet(2e-3) for _ in range(10))}
    split = Split(base=(0, 2, 4, 6, 8), new=(1, 3, 5, 7, 9))
    unchanged, slowed = gate.ours(sessions, split), gate.ours(sessions, split, 0.2)
    assert all(count.slower == count.faster == 0 for count in unchanged.values())
    assert slowed == {"a": Count(slower=1), "b": Count(slower=1)}


def test_disturbed_sessions_are_undecided() -> None:
    """A case of which no session was left alone counts as undecided, not as passed over."""
    loud = Session(np.full(10, 1e-3), np.ones(10, dtype=bool))
    assert gate.ours({"a": (loud, loud)}, Split((0,), (1,)), 0.5) == {"a": Count(undecided=1)}


def test_others_see_all_rounds() -> None:
    """Their rules get the rounds of all sessions of a side, the disturbed ones too, and the slowdown."""
    loud = Session(np.full(10, 1e-3), np.ones(10, dtype=bool))
    counts = gate.by_rule({"a": (loud, loud)}, Split((0,), (1,)), 0.06)
    assert counts["pytest-benchmark mean:5%"] == Count(slower=1)


def test_share_has_an_exact_interval() -> None:
    """No event in 100 trials: up to 3.62 % is possible at 95 %, two-sided."""
    assert gate.share(0, 100) == " 0.00 % [0.00, 3.62]"


def test_the_recordings_are_there() -> None:
    """At least 20 sessions of 8 cases."""
    found = gate.recordings()
    assert found
    for sessions in found.values():
        assert len(sessions) >= 8
        assert all(len(series) >= 20 for series in sessions.values())
