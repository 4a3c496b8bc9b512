"""Recorded turns: packed and read back, and compared as ``roofline ab`` would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gate_turns
from benchmarks.gate import Count
from roofline.compare.paired import PairTurns
from roofline.interleaving.trial import Rules

RNG = np.random.default_rng(0)


def pair(turns: int = 40, spread: float = 0.003) -> PairTurns:
    base, new = (tuple((2e-3 * (1 + spread * RNG.standard_normal(turns))).tolist()) for _ in range(2))
    marks = ("stolen", *[None] * (turns - 1))
    return PairTurns(first="new", steps=2, base_s=base, new_s=new, base_disturbed=marks, new_disturbed=(None,) * turns)


def test_packed_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step times and marks of every pair of processes come back, to the precision of 32 bits."""
    monkeypatch.setattr(gate_turns, "DATA", tmp_path)
    kept = {"mlp": (replace(pair(), build=(0,) * 15 + (1,) * 25), pair(30))}
    gate_turns.pack(kept, tmp_path / "gate_turns_quiet.npz")
    (label,) = found = gate_turns.recordings()
    assert label == "quiet"
    assert len(found[label]["mlp"]) == 2
    for before, after in zip(kept["mlp"], found[label]["mlp"], strict=True):
        assert after.steps == 1
        assert after.build == (before.build or (0,) * len(before.base_s))
        assert after.base_s == pytest.approx([time / 2 for time in before.base_s], rel=1e-6)
        assert after.new_s == pytest.approx([time / 2 for time in before.new_s], rel=1e-6)
        assert [mark is None for mark in after.base_disturbed] == [mark is None for mark in before.base_disturbed]


def test_compared_as_ab_does() -> None:
    """Quiet turns: 5 % longer is slower, unchanged is neither."""
    turns = {"mlp": [pair() for _ in range(6)]}
    assert gate_turns.compare(turns, [5, 0, 2, 3], Rules(), 0.05) == {"mlp": Count(slower=1)}
    unchanged = gate_turns.compare(turns, [5, 0, 2, 3], Rules())["mlp"]
    assert unchanged.slower == unchanged.faster == 0
