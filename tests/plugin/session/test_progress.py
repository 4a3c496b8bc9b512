"""The line below pytest's own: what it says, when it is drawn, and that nothing of it stays."""

from __future__ import annotations

import io
import os
import re
import sys
import termios
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_roofline.measuring.plan import SoFar
from pytest_roofline.session.progress import INTERVAL_S, Progress, about, on_terminal
from roofline.schema.session import SessionSet
from tests import forked
from tests.plugin.foreign import MEASURES, QUICK

PLANNED = {
    "a": "resnet18-train-b16-fp32",
    "b": "bert_base-infer-b1-fp32",
    "c": "vgg16-train-b32-channels_last-amp_bf16",
}
ROUNDS = SoFar(repeat=1, repeats=1, rounds=12, step_time_s=0.33, margin=0.0213, left_s=3.6)

_DRAWN = re.compile(r"\x1bD\x1b\[A\x1b7\x1b\[B\r\x1b\[2K(.*?)\x1b8")
"""Room for a line below the cursor, whose place is remembered; that line emptied, and filled; back to the place."""


def lines(text: str) -> tuple[list[str], str]:
    """What was drawn on the line one after another, and all other output."""
    return _DRAWN.findall(text), _DRAWN.sub("", text)


class Screen:
    """Progress on a terminal that is none, on a clock that stands still."""

    def __init__(self, place: SessionSet | None = None, *, colour: bool = False, width: int = 80) -> None:
        self.file = io.StringIO()
        self.now = 100.0
        self.progress = Progress(self.file, PLANNED, place, colour=colour, width=lambda: width, clock=lambda: self.now)

    @property
    def line(self) -> str:
        """What stands there now."""
        drawn, others = lines(self.file.getvalue())
        assert others == ""
        return drawn[-1]

    def case(self, test: str, seconds: float) -> None:
        """A case from its beginning to its end."""
        self.progress.begin(test, PLANNED[test])
        self.progress.proving()
        self.now += seconds
        self.progress.end(test)


def test_a_case_shows_how_far_it_is() -> None:
    """Which of how many, what it is at, rounds, rate, margin, and the time that the case needs."""
    screen = Screen()
    screen.progress.begin("a", PLANNED["a"])
    screen.progress.say("preparing")
    assert screen.line == "[1/3] resnet18-train-b16-fp32: preparing"
    screen.now += 1
    screen.progress.timed(16, replace(ROUNDS, rounds=1, margin=None, left_s=9.7))
    assert screen.line == "[1/3] resnet18-train-b16-fp32: 1 round, 48.5 samples/s, 10 s left"
    screen.now += 1
    screen.progress.timed(16, ROUNDS)
    assert screen.line == "[1/3] resnet18-train-b16-fp32: 12 rounds, 48.5 samples/s ±2.1 %, 4 s left"
    screen.progress.proving()
    assert screen.line == "[1/3] resnet18-train-b16-fp32: timed, proving and counting"
    screen.progress.end("a")
    assert screen.line == ""


def test_from_the_second_case_on_the_run_has_a_time() -> None:
    """Each case is expected to take as long as those before; one that was skipped says nothing of that."""
    screen = Screen()
    screen.progress.begin("b", PLANNED["b"])
    screen.progress.say("preparing")
    screen.progress.end("b")
    screen.case("a", 40.0)
    screen.progress.begin("c", PLANNED["c"])
    screen.now += 10
    screen.progress.say("preparing")
    assert screen.line == "[3/3] vgg16-train-b32-channels_last-amp_bf16: preparing, run 30 s"
    screen.now += 35
    screen.progress.timed(32, ROUNDS)
    assert screen.line == "[3/3] vgg16-train-b32-cha…: 12 rounds, 97.0 samples/s ±2.1 %, 4 s left, run 4 s"


def test_cases_to_come_count() -> None:
    """The mean of 20 s and 40 s for this case and for the third."""
    screen = Screen()
    screen.case("a", 20.0)
    screen.progress.begin("b", PLANNED["b"])
    screen.progress.say("preparing")
    assert screen.line == "[2/3] bert_base-infer-b1-fp32: preparing, run 40 s"


def test_a_session_of_a_set_says_which() -> None:
    """Its time is the session's; so are its cases."""
    screen = Screen(SessionSet(id="s", index=2, count=5))
    screen.progress.begin("a", PLANNED["a"])
    screen.progress.timed(16, replace(ROUNDS, repeat=2, repeats=3))
    assert screen.line == "session 2/5 [1/3] resnet18-tr…: repeat 2/3, 12 rounds, 48.5 samples/s ±2.1 %, …"


def test_rounds_are_shown_twice_a_second() -> None:
    """A terminal that draws takes time of the machine."""
    screen = Screen()
    screen.progress.begin("a", PLANNED["a"])
    screen.progress.say("preparing")
    for _ in range(3):
        screen.now += 0.4 * INTERVAL_S
        screen.progress.timed(16, ROUNDS)
    assert len(lines(screen.file.getvalue())[0]) == 2


def test_names_are_text_and_colours_are_pytest_s_to_allow() -> None:
    """Neither a terminal's commands nor rich's markup in a name are obeyed; a line never wraps."""
    screen = Screen(colour=True, width=40)
    screen.progress.begin("else", "[red]\x1b[2J" + 50 * "名")
    screen.progress.say("measuring")
    assert screen.line == "\x1b[1m[red]\\x1b[2J名名名名名名名…\x1b[0m: measuring"
    screen.progress.begin("a", "a")
    screen.progress.say("preparing")
    assert screen.line == "\x1b[36m[1/3] \x1b[0m\x1b[1ma\x1b[0m: preparing"


def test_what_belongs_to_no_case_is_taken_away_at_its_end() -> None:
    """Roofs are measured between cases."""
    screen = Screen()
    with screen.progress.aside("measuring the machine's roofs"):
        assert screen.line == "measuring the machine's roofs"
    assert screen.line == ""


@pytest.mark.parametrize(
    ("wrong", "environment"),
    [
        ({"verbose": -1}, {}),
        ({"capture": "no"}, {}),
        ({"setupshow": True}, {}),
        ({"log_cli_level": "INFO"}, {}),
        ({"reporter": None}, {}),
        ({}, {"TERM": "dumb"}),
        ({}, {"CI": "true"}),
    ],
)
def test_where_others_write_or_nobody_looks_there_is_none(
    wrong: dict[str, Any], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of these alone, on a terminal."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    main, terminal = os.openpty()
    with os.fdopen(terminal, "w") as stdout, os.fdopen(main, "rb"):
        monkeypatch.setattr(sys, "stdout", stdout)

        def progress(**changes: Any) -> Progress | None:
            values = {"verbose": 0, "capture": "fd", "setupshow": False, "log_cli_level": None, **changes}
            reporter = values.pop("reporter", SimpleNamespace(hasmarkup=True))
            plugins = SimpleNamespace(getplugin=lambda _: reporter, hasplugin=lambda _: True)
            config = SimpleNamespace(
                option=SimpleNamespace(**values),
                pluginmanager=plugins,
                getini=lambda _: False,
                getoption=lambda name, _: values[name],
            )
            return on_terminal(cast(pytest.Config, config), PLANNED, None)

        shown = progress()
        assert shown is not None
        shown.pytest_unconfigure()
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert progress(**wrong) is None


def test_a_terminal_shows_progress_and_keeps_none_of_it(project: pytest.Pytester) -> None:
    """What else is written stands where it does without a terminal, which gets no line."""
    project.makepyfile(MEASURES)
    # pytest 9.0 shows progress of its own to terminals that can.
    arguments = [*QUICK, "--roofline-roofs=off", "--color=no", "-p", "no:cacheprovider", "-p", "no:terminalprogress"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS")}
    environment["TERM"] = "xterm"
    main, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    with os.fdopen(terminal), os.fdopen(main, "rb", buffering=0) as screen:
        ran = forked.run("pytest", arguments, project.path, environment, out=os.ttyname(terminal))
        text = screen.read(2**16).decode()
    assert ran.returncode == 0
    drawn, others = lines(text)
    assert drawn[0] == "[1/1] test_mine: preparing"
    assert "[1/1] test_mine: timed, proving and counting" in drawn
    assert drawn[-1] == ""
    plain = forked.run("pytest", arguments, project.path, environment).stdout
    for output in others, plain:
        assert "\x1b" not in output
        assert re.search(r"^test_[a-z_]+[.]py [.] +\[100%\]\s*$", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (252, "4 min"), (5399, "90 min"), (7300, "2 h")]
)
def test_about(seconds: float, shown: str) -> None:
    """An estimate of a time has one unit."""
    assert about(seconds) == shown
