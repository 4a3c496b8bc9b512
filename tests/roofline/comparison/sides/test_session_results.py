"""A side is read from files: what is kept of them, and what is none of it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from roofline.comparison.sides.session_results import By, SessionResult
from roofline.comparison.sides.side_files import read_side
from roofline.machine.published import load
from tests.roofline import build
from tests.roofline.comparison import sessions


def test_one_copy_of_a_case_is_kept(tmp_path: Path) -> None:
    """Of a thousand sessions."""
    paths = sessions.side(tmp_path, {"resnet50": 0.1}, count=2)
    first, second = read_side(paths, "time", load()).results
    assert first.case is second.case


def test_a_folder_without_results_beside_a_file(tmp_path: Path) -> None:
    """It isn't left out without a word: a gate ends with 3 where something named wasn't read."""
    (first,) = sessions.side(tmp_path, {"resnet50": 0.1}, count=1)
    empty = tmp_path / "empty"
    empty.mkdir()
    side = read_side([first, empty], "time", load())
    assert [run.file for run in side.runs] == [str(first)]
    assert side.unreadable == (f"{empty}: no file there ends in .json or .journal",)


def _seen(path: Path, by: By) -> SessionResult:
    (seen,) = read_side([path], by, load()).results
    return seen


def test_by_roof_the_time_is_over_the_least_that_the_roofs_allow(tmp_path: Path) -> None:
    """1e11 FLOP at 1e13 FLOP/s take 10 ms; 100 ms are 10 of these, a tenth of the roof. Half the spread of 3 % of the
    roof's samples is added to the error.
    """
    (path,) = sessions.side(tmp_path, {"resnet50": 0.1}, count=1)
    by_time, by_roof = _seen(path, "time"), _seen(path, "roof")
    assert by_time.observation is not None
    assert by_roof.observation is not None
    assert by_roof.observation.value == pytest.approx(100 * by_time.observation.value)
    assert by_roof.fraction_of_roof == pytest.approx(0.1, rel=0.01)
    assert by_roof.fraction_of_sol == pytest.approx(0.1, rel=0.01)
    assert by_roof.value == by_time.value
    assert by_time.observation.error is not None
    assert by_roof.observation.error == pytest.approx(math.hypot(by_time.observation.error, 0.015))


def test_the_range_of_the_rounds(tmp_path: Path) -> None:
    """All of them, the disturbed ones too; of a row without a record as the statistics have it."""
    path = build.write(tmp_path / "a.json", sessions.foreign({"a": (0.1, 0.2, 0.3)}))
    assert (_seen(path, "time").fastest_s, _seen(path, "time").slowest_s) == (0.1, 0.3)
    (path,) = sessions.side(tmp_path / "own", {"resnet50": 0.1}, count=1)
    seen = _seen(path, "time")
    assert 0.098 < seen.fastest_s < 0.1 < seen.slowest_s < 0.102


def test_without_a_record_there_is_no_fraction_of_a_roof(tmp_path: Path) -> None:
    """The work isn't known."""
    path = build.write(tmp_path / "a.json", sessions.foreign({"a": (0.1,) * 5}))
    assert _seen(path, "roof").problem == "no record of the work, so no fraction of a roof"


def test_work_without_a_roof(tmp_path: Path) -> None:
    """With what is missing."""
    record = sessions.record(0.1, 1, work=build.work(dtype="bf16"))
    path = build.write(
        tmp_path / "a.json", build.document([record], of=build.session(build.roofs()), on=build.machine())
    )
    assert _seen(path, "roof").problem == "no fraction of a roof: no roof for what the step computed in"
