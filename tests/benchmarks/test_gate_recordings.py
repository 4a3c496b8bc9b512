"""The recordings that the gate's rates are measured on are all there, and as large as the rates need."""

from __future__ import annotations

import math

from benchmarks import gate, gate_live, gate_rates, gate_turns
from roofline.compare.paired import LEAST_PAIRS
from roofline.interleaving.trial import Rules

SESSIONS = {"quiet", "loud", "loud_later"}
TURNS = {"quiet", "loud"}
LIVE = {"quiet"}
"""Labels that must be there. Others may lie beside them."""


def test_sessions() -> None:
    """At least 20 sessions of 8 cases, each with rounds."""
    found = gate.recordings()
    assert set(found) >= SESSIONS
    for sessions in found.values():
        assert len(sessions) >= 8
        assert all(len(series) >= 20 for series in sessions.values())
        assert all(len(session.times) >= 2 for series in sessions.values() for session in series)


def test_turns() -> None:
    """Of 8 cases so many pairs of processes that 50 different sets of them can be compared, in a loud hour more than a
    first look has; with turns for all the time that a comparison takes.
    """
    found = gate_turns.recordings()
    assert set(found) >= TURNS
    for label, recording in found.items():
        assert len(recording.turns) >= 8
        for pairs in recording.turns.values():
            if gate_rates.loud(label):
                assert len(pairs) > LEAST_PAIRS
            else:
                assert math.comb(len(pairs), Rules().pairs) >= 50
            assert all(pair.base_s for pair in pairs)
        taken = min(Rules().pairs, *map(len, recording.turns.values()))
        assert recording.seconds * taken >= Rules().max_time_s


def test_live_trials() -> None:
    """At least 20, of unchanged and of slowed code."""
    found = gate_live.recordings()
    assert set(found) >= LIVE
    for trials in found.values():
        assert trials.unchanged.comparisons > 0
        assert trials.slowed.comparisons > 0
        assert trials.unchanged.comparisons + trials.slowed.comparisons >= 20
