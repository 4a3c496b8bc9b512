"""The recordings that the gate's rates are measured on are all there, and as large as the rates need."""

from __future__ import annotations

from benchmarks import gate_counts, gate_live, gate_stored, gate_turns
from roofline.ab.measuring_in_turns import Rules

SESSIONS = {"quiet", "loud", "loud_later"}
TURNS = {"quiet", "loud"}
LIVE = {"quiet"}
"""Labels that must be there. Others may lie beside them."""


def test_sessions() -> None:
    """At least 20 sessions of 8 cases, each with rounds."""
    found = gate_stored.recordings()
    assert set(found) >= SESSIONS
    for recording in found.values():
        assert len(recording.sessions) >= 8
        assert all(len(series) >= 20 for series in recording.sessions.values())
        assert all(len(session.times) >= 2 for series in recording.sessions.values() for session in series)


def test_turns() -> None:
    """Of 8 cases twice as many pairs of processes as a comparison takes, in a loud hour as many; with turns for all the
    time that it takes.
    """
    found = gate_turns.recordings()
    assert set(found) >= TURNS
    for label in TURNS:
        least = Rules().pairs * (1 if gate_counts.is_disturbed(label) else 2)
        assert len(found[label].turns) >= 8
        assert all(len(pairs) >= least for pairs in found[label].turns.values())
        assert all(pair.base_s for pairs in found[label].turns.values() for pair in pairs)
        assert found[label].seconds * Rules().pairs >= Rules().max_time_s


def test_live_trials() -> None:
    """At least 20, of unchanged and of slowed code."""
    found = gate_live.recordings()
    assert set(found) >= LIVE
    for trials in found.values():
        assert trials.unchanged.comparisons > 0
        assert trials.slowed.comparisons > 0
        assert trials.unchanged.comparisons + trials.slowed.comparisons >= 20
