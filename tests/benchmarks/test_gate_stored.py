"""How comparisons are drawn from recorded sessions, and what the gate and the others are told of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import gate_stored
from benchmarks.gate_counts import Count
from benchmarks.gate_others import by_rule
from benchmarks.gate_stored import Recording, Session, Split

RNG = np.random.default_rng(0)


def quiet(mean_s: float, began: str = "") -> Session:
    return Session(mean_s * (1 + 0.01 * RNG.standard_normal(30)), np.zeros(30, dtype=bool), began)


LOUD = Session(np.full(10, 1e-3), np.ones(10, dtype=bool), "")


def test_splits_draw_each_session_once() -> None:
    """Every second trial is in the order taken: all of the base before all of the new side."""
    drawn = list(gate_stored.splits(10, 4, 20, np.random.default_rng(0)))
    assert all(len({*split.base, *split.new}) == 8 for split in drawn)
    assert all(max(split.base) < min(split.new) for split in drawn[1::2])
    assert not all(max(split.base) < min(split.new) for split in drawn[::2])


def test_different_draws_are_those_of_other_sessions() -> None:
    """The order within a side is nothing; which side they are on is not."""
    drawn = [Split((0, 1), (2, 3)), Split((1, 0), (3, 2)), Split((2, 3), (0, 1)), Split((0, 2), (1, 3))]
    assert gate_stored.distinct(drawn) == 3


def test_our_verdicts() -> None:
    """Five quiet sessions a side find 20 %, and call nothing slower that didn't change."""
    sessions = {"a": tuple(quiet(1e-3) for _ in range(10)), "b": tuple(quiet(2e-3) for _ in range(10))}
    split = Split(base=(0, 2, 4, 6, 8), new=(1, 3, 5, 7, 9))
    seen, slowed = gate_stored.see(sessions), gate_stored.see(sessions, 0.2)
    assert all(count.slower == count.faster == 0 for count in gate_stored.ours(seen, seen, split).values())
    assert gate_stored.ours(seen, slowed, split) == {"a": Count(slower=1), "b": Count(slower=1)}


def test_the_verdict_on_all_cases_together() -> None:
    """One for each comparison of three cases or more; in a disturbed hour 6 % is no alarm."""
    sessions = {name: tuple(quiet(1e-3) for _ in range(10)) for name in "abc"}
    split = Split(base=(0, 2, 4, 6, 8), new=(1, 3, 5, 7, 9))
    seen, slowed = gate_stored.see(sessions), gate_stored.see(sessions, 0.2)
    assert gate_stored.together(seen, seen, [split]) == Count(undecided=1)
    assert gate_stored.together(seen, slowed, [split]) == Count(slower=1)
    two = {name: seen[name] for name in "ab"}
    assert gate_stored.together(two, two, [split]) == Count()
    disturbed = {name: (None,) * 4 + tuple(of)[4:] for name, of in gate_stored.see(sessions, 0.06).items()}
    loud = {name: tuple(of)[:6] + (None,) * 4 for name, of in seen.items()}
    assert gate_stored.together(loud, disturbed, [split]) == Count(undecided=1)
    assert gate_stored.together(seen, gate_stored.see(sessions, 0.06), [split]) == Count(slower=1)


def test_where_nothing_is_compared_nothing_counts() -> None:
    """A case of which no session was left alone is no comparison that ended without an alarm."""
    sessions = {"a": (LOUD, LOUD), "b": (LOUD, quiet(1e-3)), **{name: (quiet(1e-3), quiet(1e-3)) for name in "cd"}}
    split = Split((0,), (1,))
    assert set(gate_stored.ours(gate_stored.see(sessions), gate_stored.see(sessions, 0.5), split)) == {"c", "d"}


def test_a_session_of_a_loud_hour_is_none() -> None:
    """Where most cases were mostly disturbed, also a case that met nobody is not taken."""
    sessions = {"a": (quiet(1e-3), quiet(1e-3)), "b": (quiet(1e-3), LOUD), "c": (quiet(1e-3), LOUD), "d": (LOUD,) * 2}
    seen = gate_stored.see({**sessions, "e": (quiet(1e-3), LOUD), "f": (quiet(1e-3), LOUD)})
    assert [one is None for one in seen["a"]] == [False, True]
    assert [one is None for one in seen["d"]] == [True, True]


def test_others_see_all_rounds() -> None:
    """Their rules get the rounds of all sessions of a side, the disturbed ones too, and the slowdown."""
    sessions = {"a": (LOUD, quiet(1e-3), LOUD, LOUD)}
    ((base, new),) = gate_stored.rounds(sessions, Split((0, 1), (2, 3)), 0.06)
    assert (len(base), len(new)) == (40, 20)
    assert new == pytest.approx(np.full(20, 1.06e-3))
    assert by_rule([[(base, new)]])["pytest-benchmark mean:5%"].count == Count(slower=1)


def test_a_run_makes_the_figures_of_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """On every recording and number of sessions a side, with how many of the draws differ; ours at lower confidences,
    too. In a quiet hour no other rule may find more.
    """
    sessions = {"a": tuple(quiet(1e-3) for _ in range(12))}
    recorded = {label: Recording(sessions=sessions, cpu="Zen 4") for label in ("loud", "quiet")}
    monkeypatch.setattr(gate_stored, "recordings", lambda: recorded)
    figures = {figure.name: figure for figure in gate_stored.run(quick=True)}
    ours = ("this gate", "this gate, 90% sure")
    for title in ("loud, 1 a side", "loud, 3 a side", "loud, 5 a side"):
        for rule in (*ours, "pytest-benchmark mean:5%", "Mann-Whitney", "criterion"):
            share = figures[f"false alarms, {title}, unchanged: {rule}"].share
            assert share is not None
            assert share.of == 20
        assert figures[f"called same, {title}, 5% slower: this gate"].at_most == 0.0
        assert 1 < figures[f"different draws, {title}"].median <= 20
    bounded = [name for name, figure in figures.items() if figure.at_least is not None]
    assert bounded == [
        f"caught beyond {rule} at 1% of false alarms, quiet"
        for rule in ("pytest-benchmark mean:5%", "Mann-Whitney", "criterion")
    ]
    assert all(len(figures[name].samples) == 6 for name in bounded)
