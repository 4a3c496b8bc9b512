"""Errors in lines as long as the terminal's: where somebody reads them, and wherever they come from."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest

from roofline.cli.console import WIDTH as KEY
from roofline.cli.console import tell
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import TIMES
from tests.roofline.conftest import Run

WIDTH = 60

EARLY = {
    "no baseline": ("check new.json --baseline none", 3, "no baseline: none doesn't exist. Make one on this machine"),
    "nothing matched": ("compare base.json --with other.json", 3, "no case of base.json could be compared with one of"),
    "a bad option": (
        "check new.json --baseline base.json --least-effect 2",
        2,
        "Invalid value for '--least-effect': '2' means 200 %. Write 2% or 0.02.",
    ),
    "no such option": ("check new.json --baselines base.json", 2, "--baselines"),
    "nothing to lock": ("lock other.json", 3, "Error: nothing to lock: all of the 1 cases were left out."),
    "no two sides": ("ab", 2, "nothing to compare: give --base REV (with --new REV, or the working tree as it is), or"),
}
"""What ends before there is anything to compare: command line, exit code, and a part of what is said."""

WITHOUT_A_WIDTH = ("no such option", "nothing to lock")
"""Where the command line can't be read, and where no table is shown."""


@pytest.fixture
def run(run: Run) -> Run:
    """From a folder with results."""
    build.write(Path("base.json"), sessions.document(TIMES))
    build.write(Path("new.json"), sessions.document(TIMES, 10))
    build.write(Path("other.json"), sessions.document({"vgg16": 0.1}, 11))
    Path("broken.json").write_text('{"benchmarks": [')
    Path("empty").mkdir()
    return run


def _fits(err: str) -> bool:
    """No line is too long, and it took several."""
    return len(" ".join(err.split())) > WIDTH and max(map(len, err.splitlines())) <= WIDTH


@pytest.mark.parametrize("case", EARLY)
def test_at_a_terminal_no_line_is_wider(run: Run, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """What is wrong is told in whole words, and the exit code is the same."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    line, code, told = EARLY[case]
    got, _, err = run(*line.split())
    assert got == code
    assert told in " ".join(err.split())
    assert _fits(err)


@pytest.mark.parametrize("case", [case for case in EARLY if case not in WITHOUT_A_WIDTH])
def test_in_the_width_asked_for(run: Run, case: str) -> None:
    """Wherever the option stands; without it, in a log, an error is one line for who searches it."""
    line, code, told = EARLY[case]
    command, *rest = line.split()
    for words in ((command, "--width", WIDTH, *rest), (command, *rest, "--width", WIDTH)):
        got, _, err = run(*words)
        assert got == code
        assert told in " ".join(err.split())
        assert _fits(err)
    assert told in run(command, *rest)[2]


def _told(capsys: pytest.CaptureFixture[str], line: str, width: int) -> list[str]:
    with click.Context(click.Command("ab")) as context:
        context.meta[KEY] = width
        tell(line)
    return capsys.readouterr().err.splitlines()


def test_a_line_that_fits_stays_and_what_does_not_hangs(capsys: pytest.CaptureFixture[str]) -> None:
    """Below its own beginning; words longer than the terminal are not cut."""
    path = "/a/" + "long/" * 12
    assert _told(capsys, "short   as it is", 40) == ["short   as it is"]
    assert _told(capsys, f"  {'word ' * 10}end", 40) == [
        "  word word word word word word word",
        "    word word word end",
    ]
    assert _told(capsys, f"{path} and", 40) == [path, "  and"]


def test_where_no_width_was_asked_for_a_line_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    """As outside of a command, and in a log."""
    line = "word " * 12 + "end"
    tell(line)
    assert capsys.readouterr().err.splitlines() == [line]
