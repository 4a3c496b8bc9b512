"""A side is read from files: what is kept of them, and what is none of it."""

from __future__ import annotations

from pathlib import Path

from roofline.comparison.sides import read_side
from roofline.machine.published import load
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
