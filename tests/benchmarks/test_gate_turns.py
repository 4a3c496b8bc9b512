"""Recorded turns: packed and read back, drawn, and compared as ``roofline ab`` would."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gate_turns
from benchmarks.gate_counts import Count
from benchmarks.gate_turns import Recording
from roofline.ab.measuring_in_turns import Rules
from roofline.comparison.effects.paired import PairTurns

RNG = np.random.default_rng(0)


def pair(turns: int = 40) -> PairTurns:
    base, new = (tuple((2e-3 * (1 + 0.003 * RNG.standard_normal(turns))).tolist()) for _ in range(2))
    marks = ("stolen", *[None] * (turns - 1))
    return PairTurns(first="new", steps=2, base_s=base, new_s=new, base_disturbed=marks, new_disturbed=(None,) * turns)


def test_packed_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step times and marks of every pair of processes come back, to the precision of 32 bits."""
    monkeypatch.setattr(gate_turns, "DATA", tmp_path)
    kept = {"mlp": (replace(pair(), build=(0,) * 15 + (1,) * 25), pair(30))}
    gate_turns.pack(Recording(turns=kept, seconds=15.0), tmp_path / "gate_turns_quiet.npz")
    ((label, found),) = gate_turns.recordings().items()
    assert (label, found.seconds) == ("quiet", 15.0)
    assert len(found.turns["mlp"]) == 2
    for before, after in zip(kept["mlp"], found.turns["mlp"], strict=True):
        assert after.steps == 1
        assert after.build == (before.build or (0,) * len(before.base_s))
        assert after.base_s == pytest.approx([time / 2 for time in before.base_s], rel=1e-6)
        assert after.new_s == pytest.approx([time / 2 for time in before.new_s], rel=1e-6)
        assert [mark is None for mark in after.base_disturbed] == [mark is None for mark in before.base_disturbed]


def test_a_comparison_has_a_share_of_what_was_recorded() -> None:
    """The first turns of each pair, with their marks and buildings, as many as fit; of all that were recorded, all."""
    long = replace(pair(), base_s=(1.0,) * 40, new_s=(1.5,) * 40, build=(0,) * 15 + (1,) * 25)
    recording = Recording(turns={"mlp": [long]}, seconds=15.0)
    (first,) = gate_turns.first_turns(recording, 12.0)["mlp"]
    assert (first.base_s, first.new_s) == ((1.0,) * 32, (1.5,) * 32)
    assert (first.base_disturbed, first.new_disturbed) == (long.base_disturbed[:32], long.new_disturbed[:32])
    assert first.build == (0,) * 15 + (1,) * 17
    assert gate_turns.first_turns(recording, 15.0) == {"mlp": [long]}
    with pytest.raises(ValueError, match="15 s a case were recorded in each pair, and a comparison takes 20"):
        gate_turns.first_turns(recording, 20.0)


def test_few_pairs_are_drawn_in_every_way_once() -> None:
    """Five of six: the sets of the first three, which are looked at together, with two others, one after the other."""
    drawn = gate_turns.draws(6, Rules(pairs=5), 500, np.random.default_rng(0))
    assert len(drawn) == 20 * 6
    assert len({(frozenset(draw[:3]), draw[3:]) for draw in drawn}) == 120
    assert all(len(set(draw)) == 5 for draw in drawn)
    assert set(Counter(frozenset(draw) for draw in drawn).values()) == {20}


def test_fewer_pairs_than_a_comparison_takes_are_refused() -> None:
    """They would be judged by the rules of another measurement."""
    with pytest.raises(ValueError, match="3 pairs of processes were recorded, and a comparison takes 5"):
        gate_turns.draws(3, Rules(pairs=5), 500, np.random.default_rng(0))


def test_compared_as_ab_does() -> None:
    """Quiet turns: 5 % longer is slower, unchanged is neither."""
    turns = {"mlp": [pair() for _ in range(6)]}
    assert gate_turns.compare(turns, [5, 0, 2, 3, 1], Rules(), 0.05) == {"mlp": Count(slower=1)}
    unchanged = gate_turns.compare(turns, [5, 0, 2, 3, 1], Rules())["mlp"]
    assert unchanged.slower == unchanged.faster == 0


def test_either_side_may_be_the_new_one() -> None:
    """With its times and its marks; which turns are of one building stays. Exchanged twice, it is as before."""
    marked = replace(pair(), base_disturbed=("steal", *pair().base_disturbed[1:]))
    (other,) = gate_turns.exchanged({"mlp": [marked]})["mlp"]
    assert (other.base_s, other.new_s) == (marked.new_s, marked.base_s)
    assert (other.base_disturbed, other.new_disturbed) == (marked.new_disturbed, marked.base_disturbed)
    assert (other.steps, other.build) == (marked.steps, marked.build)
    assert gate_turns.exchanged({"mlp": [other]}) == {"mlp": [marked]}


def test_others_see_all_turns() -> None:
    """Of all pairs drawn, in steps' times, the disturbed ones too, and the slowdown."""
    pairs = [pair(30), pair(40), pair(50)]
    ((base, new),) = gate_turns.step_times({"mlp": pairs}, [2, 0], 0.05)
    assert base == pytest.approx([time / 2 for time in (*pairs[2].base_s, *pairs[0].base_s)])
    assert new == pytest.approx([1.05 * time / 2 for time in (*pairs[2].new_s, *pairs[0].new_s)])


def test_a_run_makes_the_figures_of_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are asked about each set of pairs once; how many there are is a figure, too; all both ways. Except
    in a loud hour a slowdown must be found, and no less than by each of them. Of a few pairs all are taken.
    """
    quiet, loud = (Recording(turns={"mlp": [pair() for _ in range(pairs)]}, seconds=15.0) for pairs in (6, 4))
    monkeypatch.setattr(gate_turns, "recordings", lambda: {"one_build": quiet, "loud": loud})
    monkeypatch.setattr(gate_turns, "TRIALS", 20)
    figures = {figure.name: figure for figure in gate_turns.run()}
    for label, draws, sets in (("one_build", 20, 6), ("loud", 4, 1)):
        assert figures[f"different sets of pairs, {label}, in turns"].median == sets
        others = ("pytest-benchmark mean:5%", "criterion")
        for rule, comparisons in (("this gate", 2 * draws), *((other, 2 * sets) for other in others)):
            share = figures[f"caught, {label}, in turns, 3% slower: {rule}"].share
            assert share is not None
            assert share.of == comparisons
    bounded = [name for name, figure in figures.items() if figure.at_least is not None]
    assert bounded == [
        "caught, one_build, in turns, 5% slower: this gate",
        "caught, one_build, in turns, 3% slower: this gate",
        *(
            f"caught beyond {rule} at 1% of false alarms, one_build, in turns"
            for rule in ("pytest-benchmark mean:5%", "Mann-Whitney", "criterion")
        ),
    ]
