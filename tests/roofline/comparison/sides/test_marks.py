"""Rounds that a session marks as disturbed are left out of it, and sessions of a disturbed hour as a whole."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.sides.matching import MatchedCase, match
from roofline.comparison.sides.session_results import By
from roofline.comparison.sides.side_files import read_side
from roofline.machine.published import load
from roofline.schema.record import KEY
from tests.roofline.comparison import sessions

ROUNDS = 20
MODEL = "resnet50"


def _marked(disturbed: int | None) -> Any:
    """A change that makes the last so many rounds slow and marks them; None: nothing was looked at."""

    def change(content: dict[str, Any]) -> None:
        row = content["benchmarks"][0]
        timing = row["extra_info"][KEY]["timing"]
        walls = [1.0] * (ROUNDS - (disturbed or 0)) + [2.0] * (disturbed or 0)
        marks = [None if wall == 1.0 else "steal" for wall in walls]
        timing["rounds"] = {"steps": 1, "wall_s": walls, "disturbed": None if disturbed is None else marks}
        timing["step_time_s"] = 1.0 if 2 * (disturbed or 0) <= ROUNDS else statistics.median(walls)
        row["stats"] = sessions.statistics_of(tuple(walls))

    return change


def _side(folder: Path, *disturbed: int | None) -> list[Path]:
    """A session each of so many disturbed rounds."""
    files = sessions.side(folder, {MODEL: 0.1}, count=len(disturbed), first=len(folder.name))
    return [sessions.edited(path, _marked(count)) for path, count in zip(files, disturbed, strict=True)]


def _match(base: Sequence[Path], new: Sequence[Path], by: By = "time") -> MatchedCase:
    (pair,) = match(read_side(base, by, load()), read_side(new, by, load()), by).cases
    return pair


def test_marked_rounds_are_left_out(tmp_path: Path) -> None:
    """Of each session by its own marks; of one without marks all rounds count."""
    pair = _match(_side(tmp_path / "base", None, 0), _side(tmp_path / "new", 4, 16, 0))
    assert [seen.value for seen in pair.new] == [1.0, 1.0]
    assert {seen.observation.slowest for seen in (*pair.base, *pair.new) if seen.observation is not None} == {1.0}
    assert pair.disturbed == 1


def test_an_invalid_row_stays_invalid(tmp_path: Path) -> None:
    """Its rounds are no times, marked or not: here by roof, whose roofs were not measured."""

    def unroofed(content: dict[str, Any]) -> None:
        content[KEY]["roofs"] = []

    new = _side(tmp_path / "new", 8, 16, 0, 0, 0)
    sessions.edit(new[:2], unroofed)
    pair = _match(_side(tmp_path / "base", *(None,) * 5), new, "roof")
    assert (pair.standing, len(pair.new), pair.missing[0].count) == ("matched", 3, 2)
    failed = {"name": "x", "status": "failed", "evidence": "seen"}

    def disproved(content: dict[str, Any]) -> None:
        content["benchmarks"][0]["extra_info"][KEY]["checks"] = [failed]

    sessions.edited(new[2], disproved)
    pair = _match(_side(tmp_path / "base2", *(None,) * 5), new[2:])
    assert (len(pair.new), "x_disproved: seen" in pair.why_missing) == (2, True)


def _with_neighbours(path: Path, *disturbed: int) -> Path:
    """The session with other cases in it, of which so many of ten rounds were disturbed; its first case stays."""

    def change(content: dict[str, Any]) -> None:
        for number, count in enumerate(disturbed):
            row, name = copy.deepcopy(content["benchmarks"][0]), f"other{number}"
            row["fullname"] = row["fullname"].replace(row["name"], name)
            row["name"] = name
            record = row["extra_info"][KEY]
            record["case"] |= {"id": name, "workload_hash": name}
            timing = record["timing"]
            marks = ["steal"] * count + [None] * (10 - count)
            timing["rounds"] = {"steps": 1, "wall_s": [1.0] * 10, "disturbed": marks}
            timing["step_time_s"] = 1.0
            row["stats"] = sessions.statistics_of((1.0,) * 10)
            content["benchmarks"].append(row)

    return sessions.edited(path, change)


def _first(base: Sequence[Path], new: Sequence[Path], by: By = "time") -> MatchedCase:
    return next(
        pair
        for pair in match(read_side(base, by, load()), read_side(new, by, load()), by).cases
        if not pair.id.startswith("other")
    )


@pytest.mark.parametrize("by", ["time", "roof"])
def test_a_session_of_a_loud_hour_is_left_out(tmp_path: Path, by: By) -> None:
    """Also of a case that met nobody in it, when most cases were mostly disturbed: two of three, not one of two."""
    base = [_with_neighbours(path, 0, 0) for path in _side(tmp_path / "base", 0, 0)]
    files = _side(tmp_path / "new", 0, 0)
    new = [_with_neighbours(files[0], 10), _with_neighbours(files[1], 6, 6)]
    pair = _first(base, new, by)
    assert [seen.run.file for seen in pair.new] == [str(new[0])]
    assert pair.disturbed == 1
    pair = _first(base, new[1:], by)
    assert (pair.standing, "2 of 3 cases" in pair.why) == ("disturbed", True)


def test_invalid_cases_make_no_hour_loud(tmp_path: Path) -> None:
    """They are not taken anyway."""
    new = _with_neighbours(*_side(tmp_path / "new", 0), 10, 10)

    def disproved(content: dict[str, Any]) -> None:
        content["benchmarks"][1]["extra_info"][KEY]["checks"] = [{"name": "x", "status": "failed", "evidence": "seen"}]

    pair = _first(_side(tmp_path / "base", 0), [sessions.edited(new, disproved)])
    assert (pair.standing, len(pair.new)) == ("matched", 1)
