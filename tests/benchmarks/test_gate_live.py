"""Live trials: recorded by the program, packed, read back, and counted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import gate_live
from benchmarks.gate_counts import Count
from roofline.ab.measuring_in_turns import AbCase
from roofline.ab.selftest_outcome import selftest_cases, selftest_table
from roofline.comparison.effects.paired import PairTurns
from roofline.show.render import render
from tests.roofline.ab.made import case, trial, turns

SLOWER, SAME, FASTER, LOUD = turns(1.05), turns(), turns(0.9), turns(noise=0.4)
DIED = None


def selftest(file: Path, **cases: tuple[PairTurns | None, PairTurns | None]) -> Path:
    """What the program writes: of each case the turns as it is, and those of slowed code."""
    unchanged, slowed = (trial(*(_case(name, of[which]) for name, of in cases.items())) for which in (0, 1))
    table = selftest_table(selftest_cases(unchanged, slowed), 0.05, ("why",))
    file.write_text(render(table, "json", 80), encoding="utf-8")
    return file


def _case(name: str, of: PairTurns | None) -> AbCase:
    return case(name, problem="new: died") if of is None else case(name, of, of)


def test_packed_read_back_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verdict once; of a case that could not be measured none. What the program says of them isn't kept."""
    monkeypatch.setattr(gate_live, "DATA", tmp_path)
    files = [
        selftest(tmp_path / "1.json", a=(SAME, SLOWER), b=(SLOWER, SAME), c=(LOUD, LOUD)),
        selftest(tmp_path / "2.json", a=(FASTER, FASTER), b=(DIED, DIED)),
    ]
    gate_live.pack(files, tmp_path / "gate_live_quiet.json", {"cpu": "a CPU"})
    document = json.loads((tmp_path / "gate_live_quiet.json").read_text())
    assert document["about"] == {"cpu": "a CPU"}
    assert [(row["run"], row["case"]) for row in document["rows"]] == [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b")]
    assert "why" not in document
    trials = gate_live.recordings()["quiet"]
    assert trials.slowdown == 0.05
    assert trials.unchanged == Count(same=1, slower=1, undecided=1, faster=1)
    assert trials.slowed == Count(same=1, slower=1, undecided=1, faster=1)


def test_what_went_wrong_is_told_apart_from_what_was_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four trials each: two alarms of unchanged code, a slowdown found, two missed, one left open."""
    monkeypatch.setattr(gate_live, "DATA", tmp_path)
    cases = {
        "a": (SAME, SLOWER),
        "b": (SLOWER, SAME),
        "c": (LOUD, LOUD),
        "d": (FASTER, FASTER),
        "e": (DIED, DIED),
    }
    file = selftest(tmp_path / "1.json", **cases)
    gate_live.pack([file], tmp_path / "gate_live_loud.json", {})
    figures = {figure.name: figure for figure in gate_live.run()}
    assert {name: figure.median for name, figure in figures.items()} == {
        "false alarms, loud, live, unchanged: this gate": 0.5,
        "inconclusive, loud, live, unchanged: this gate": 0.25,
        "caught, loud, live, 5% slower: this gate": 0.25,
        "missed, loud, live, 5% slower: this gate": 0.5,
        "inconclusive, loud, live, 5% slower: this gate": 0.25,
    }
    reached = [name for name, figure in figures.items() if figure.reached]
    assert reached == [
        "inconclusive, loud, live, unchanged: this gate",
        "caught, loud, live, 5% slower: this gate",
        "inconclusive, loud, live, 5% slower: this gate",
    ]


@pytest.mark.parametrize("code", [0, 1])
def test_a_selftest_that_failed_is_recorded_too(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was wrong about is what is counted."""
    commands = []

    def run(command: list[str], **options: Any) -> Any:
        commands.append((command, options["env"]["OMP_NUM_THREADS"]))
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", run)
    assert gate_live.record(2, 30.0, 1, tmp_path) == [tmp_path / "1.json", tmp_path / "2.json"]
    command, threads = commands[1]
    assert threads == "1"
    assert " ".join(command[1:]) == (
        f"-m roofline selftest --slowdown 5% --max-time 30 --format json -o {tmp_path / '2.json'} -- "
        "perftests/test_models.py --matrix benchmarks/gate_cases.toml --device cpu"
    )


def test_a_selftest_that_was_not_made_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to count, and the reason stands above."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=3))
    with pytest.raises(SystemExit, match="run 1 of 2: roofline selftest ended with exit code 3"):
        gate_live.record(2, 30.0, 1, tmp_path)
