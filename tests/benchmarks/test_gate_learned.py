"""From which sessions the gate learns for which draws, and what is counted of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks import gate_learned
from benchmarks.gate_stored import Recording, Session
from roofline.comparison.observations.observation import Observation

CASES = ("a", "b", "c", "d")


def _recording(day: int, cpu: str, scatter: float = 0.015, hour: int = 10) -> Recording:
    """Twelve sessions of unchanged code, some minutes apart."""
    rng = np.random.default_rng(day + hour)

    def session(minute: int) -> Session:
        times = 1e-3 * (1 + scatter * rng.standard_normal()) * (1 + 0.001 * rng.standard_normal(30))
        return Session(times, np.zeros(30, dtype=bool), f"2026-11-{day:02}T{hour}:{minute:02}:00+00:00")

    return Recording(sessions={case: tuple(map(session, range(0, 60, 5))) for case in CASES}, cpu=cpu)


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two quiet days of one processor, a disturbed one of it, and one of another."""
    made = {
        "quiet": _recording(1, "Zen 4"),
        "quiet_later": _recording(3, "Zen 4"),
        "loud": _recording(4, "Zen 4", scatter=0.2),
        "quiet_other": _recording(5, "Zen 5"),
    }
    monkeypatch.setattr(gate_learned, "recordings", lambda: made)


@pytest.mark.usefixtures("recordings")
def test_what_was_learned_finds_more_in_a_quiet_hour_and_is_not_used_in_a_disturbed_one() -> None:
    found = {figure.name: figure for figure in gate_learned.run(quick=True)}

    def caught(label: str, known: str) -> float:
        return found[f"caught, {label}, 5 a side, {known}, 5% slower: this gate, 99% sure"].median

    for label in ("quiet", "quiet_later"):
        assert caught(label, "learned") > caught(label, "assumed")
    assert caught("loud", "learned") == caught("loud", "assumed")


@pytest.mark.usefixtures("recordings")
def test_the_aim_is_of_quiet_hours_and_of_what_was_learned() -> None:
    figures = gate_learned.run(quick=True)
    bound = [figure.name for figure in figures if figure.name.startswith("caught") and figure.at_least is not None]
    assert bound
    assert all("learned" in name and "90% sure" in name and "loud" not in name for name in bound)


def test_learning_is_of_other_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other quiet days of the processor; or of its other hours; or of those of the same hour that were not drawn. A
    side of another hour or day learns from neither side's.
    """
    made = {
        "quiet": _recording(1, "Zen 4"),
        "quiet_noon": _recording(1, "Zen 4", hour=12),
        "quiet_later": _recording(3, "Zen 4"),
        "loud": _recording(4, "Zen 4", scatter=0.2),
        "quiet_one_day": _recording(5, "Zen 5"),
        "quiet_one_day_noon": _recording(5, "Zen 5", hour=12),
        "quiet_one_hour": _recording(6, "Zen 6"),
    }
    heard: list[set[str]] = []

    def learn(cases: Mapping[str, list[list[Observation]]], *_: object) -> None:
        heard.append({one.started_at for codes in cases.values() for code in codes for one in code})

    monkeypatch.setattr(gate_learned, "recordings", lambda: made)
    monkeypatch.setattr(gate_learned, "learn", learn)
    gate_learned.run(quick=True)
    hours = [{when[8:13] for when in of} for of in heard]
    assert hours[:3] == [{"03T10"}, {"03T10"}, {"01T10", "01T12"}]
    assert hours[3:6] == [{"01T10", "01T12", "03T10"}, {"05T12"}, {"05T10"}]
    assert [len(of) for of in heard[6:-3]] == [2] * len(heard[6:-3])
    assert {hour for of in hours[6:-3] for hour in of} == {"06T10"}
    assert hours[-3:] == [{"03T10"}, {"01T12"}, {"01T10"}]
