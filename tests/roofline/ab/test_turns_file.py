"""Every turn is kept, and can be judged again."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from roofline.ab.side import WrongOptions
from roofline.ab.turns_file import write
from tests.roofline.ab.made import case, trial, turns
from tests.roofline.full_disk import nearly_full

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_the_turns_come_back(tmp_path: Path) -> None:
    """Exactly, of every case, those that were not compared included."""
    pairs = (turns(1.1, noise=0.01), turns(1.2))
    made = trial(case("a", *pairs), case("b", problem="another workload"))
    path = write(made, tmp_path / "kept", NOW)
    assert path == tmp_path / "kept" / "20260102T030405Z-ab.json"
    kept = {one["test"]: one["pairs"] for one in json.loads(path.read_text())["cases"]}
    assert kept == json.loads(
        json.dumps({"test_it.py::test_it[a]": [asdict(pair) for pair in pairs], "test_it.py::test_it[b]": []})
    )


def test_the_file_says_what_was_compared(tmp_path: Path) -> None:
    """Sides, rules, arguments and verdicts, in strict JSON."""
    path = write(trial(case("a", turns(1.5), turns(1.5)), case("b", only_in="base")), tmp_path, NOW)
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert (content["kind"], content["schema"], content["at"]) == ("roofline-ab", 2, "2026-01-02T03:04:05Z")
    assert content["sides"]["base"] == {
        "what": "the base",
        "commit": "",
        "slowdown": None,
        "python": "3.12",
        "torch": "2.11",
    }
    assert content["rules"]["pairs"] == 2
    assert content["arguments"] == ["-k", "x"]
    slower, removed = content["cases"]
    assert (slower["outcome"], slower["effect"]["base_sessions"]) == ("slower", 2)
    assert (removed["outcome"], removed["effect"]) == ("removed", None)


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """Two comparisons may end in one second."""
    first, second = (write(trial(case("a", turns())), tmp_path, NOW) for _ in range(2))
    assert (first.name, second.name) == ("20260102T030405Z-ab.json", "20260102T030405Z-ab-2.json")


def test_where_the_disk_is_full_no_half_file_is_left(tmp_path: Path) -> None:
    """It would be read as one that somebody cut off."""
    many = trial(*(case(f"case {number}", turns()) for number in range(20)))
    with nearly_full(), pytest.raises(WrongOptions, match=r"--results .*: can't be written \(File too large\)"):
        write(many, tmp_path)
    assert list(tmp_path.iterdir()) == []
