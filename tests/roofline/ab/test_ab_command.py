"""``roofline ab`` once both sides are measured: minutes of turns are not lost because a table can't be shown."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.roofline.ab.made import OPEN, REMOVED, case, trial, turns
from tests.roofline.conftest import Run

SLOWER = case("a", turns(1.1), turns(1.1))


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, ...]:
    """The options for two trees."""
    for name in ("old", "young"):
        (tmp_path / name).mkdir()
    return ("--base-path", str(tmp_path / "old"), "--new-path", str(tmp_path / "young"))


def test_the_turns_are_kept_where_the_table_cannot_be_shown(
    sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With standard output closed: a file with all turns, and the exit code of the verdict."""
    monkeypatch.setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", lambda *_: trial(SLOWER))
    monkeypatch.setattr(sys, "stdout", None)
    code, _, err = run("ab", *sides, "--results", tmp_path / "kept")
    (file,) = (tmp_path / "kept").iterdir()
    assert len(json.loads(file.read_text())["cases"][0]["pairs"]) == len(SLOWER.pairs)
    assert (code, "slower" in err) == (1, True)


def test_the_table_is_shown_where_the_turns_cannot_be_kept(
    sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has taken the folder's place since it was tried: the verdict is there, and what is lost is told."""
    kept = tmp_path / "kept"

    def hold(*_: object) -> object:
        shutil.rmtree(kept)
        kept.write_text("")
        return trial(SLOWER)

    monkeypatch.setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", hold)
    code, out, err = run("ab", *sides, "--results", kept)
    assert out.startswith("Regression: the new against the base: 1 case slower, of 1 compared (1 slower)\n")
    assert code == 2
    assert f"--results {kept}: can't be written (" in err


def test_the_log_says_what_came_of_it_where_the_table_is_in_a_file(
    sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The title, then warnings and failures: whoever reads a job's log hasn't the file at hand."""
    monkeypatch.setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", lambda *_: trial(SLOWER, OPEN, REMOVED))
    code, out, err = run("ab", *sides, "--format", "markdown", "-o", tmp_path / "ab.md", "--allow-removed")
    assert (code, out) == (1, "")
    wrote, title, removed, open_, slower = err.splitlines()
    assert wrote == f"wrote {tmp_path / 'ab.md'}"
    assert title == (
        "Regression: the new against the base: 1 case slower, of 2 compared (1 slower, 1 removed, 1 inconclusive)"
    )
    assert open_ == "Warning: inconclusive, neither slower nor the same: open"
    assert removed == f"Warning: removed, only in base: {REMOVED.test}"
    assert slower.startswith("Error: slower: a: +10.0 % (")
    summary = (tmp_path / "ab.md").read_text()
    assert summary.startswith(f"**{title}**\n")
    places = [summary.index(line[:30]) for line in (removed, open_, "Error: slower: a: ")]
    assert places == sorted(places)


def test_the_log_has_the_title_once(sides: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the table is shown it is above it; what is in the way of a pass is told all the same."""
    monkeypatch.setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", lambda *_: trial(SLOWER))
    code, out, err = run("ab", *sides)
    assert code == 1
    assert out.startswith("Regression: ")
    assert err.startswith("Error: slower: a: +10.0 % (")


def test_json_is_the_rows(sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is asked for."""
    monkeypatch.setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", lambda *_: trial(SLOWER))
    code, out, _ = run("ab", *sides, "--format", "json", "--strict")
    run("ab", *sides, "--strict", "-o", tmp_path / "ab.json")
    (row,) = json.loads(out)
    assert json.loads((tmp_path / "ab.json").read_text()) == [row]
    assert (code, row["verdict"]) == (1, "slower")
