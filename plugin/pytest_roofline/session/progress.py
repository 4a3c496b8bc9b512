"""A line on the terminal, below pytest's own, that shows how far a run is.

It is drawn between two rounds of a case, and before and after them, by the process that measures: never inside a timed
round, and by no thread. The cursor stays where pytest has it, and the line is erased before pytest writes.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import pytest

from pytest_roofline.config import case_name, uses_roofline
from roofline.schema.session import SessionSet
from roofline.text.printable import printable
from roofline.text.units import counted, percent, significant
from roofline.text.wrapping import cut

if TYPE_CHECKING:
    from pytest_roofline.measuring.plan import SoFar

INTERVAL_S = 0.5
"""Between two looks at a case's rounds: a terminal that draws takes time of the machine that is measured."""

LEAST_NAME = 12
"""Columns of a case's name, where there are more of them than the line has."""

# One line more below the cursor, though it be the screen's last; back; remember the place; to the line, and empty it.
_BELOW = "\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K"
_BACK = "\x1b8"


def about(seconds: float) -> str:
    """A time to wait, which is an estimate: ``about(252)`` is ``4 min``."""
    for factor, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * factor:
            return f"{seconds / factor:.0f} {unit}"
    return f"{math.ceil(seconds)} s"


class Progress:
    """Draws the line, and erases it. Registered as a plugin of a session that shows it.

    :param file: the terminal.
    :param planned: ids of the cases, by the full names of their tests.
    :param place: which session of a set this is.
    :param width: the terminal's columns now.
    """

    def __init__(
        self,
        file: TextIO,
        planned: Mapping[str, str],
        place: SessionSet | None = None,
        *,
        colour: bool,
        width: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Loaded before anything is measured.
        from rich.console import Console

        self._file = file
        self._planned = planned
        self._session = "" if place is None else f"session {place.index}/{place.count} "
        self._width = width
        self._clock = clock
        self._console = Console(
            file=file, force_terminal=True, color_system="standard" if colour else None, legacy_windows=False
        )
        self._begun: set[str] = set()
        """Tests of cases."""
        self._head = self._name = ""
        self._started = self._drawn = 0.0
        self._measured = False
        self._took_s: list[float] = []
        """By each test that measured a case, from its set-up to its tear-down."""
        self._shown = False

    def begin(self, test: str, name: str) -> None:
        """A test begins that measures a case, or a roof.

        :param test: its full name.
        """
        if test in self._planned:
            self._begun.add(test)
        place = f"[{len(self._begun)}/{len(self._planned)}] " if test in self._planned else ""
        self._head, self._name = f"{self._session}{place}", printable(name)
        self._started, self._measured = self._clock(), False

    def end(self, test: str) -> None:
        """The test has ended."""
        self.erase()
        if self._measured and test in self._planned:
            self._took_s.append(self._clock() - self._started)

    def timed(self, samples_per_step: int, so_far: SoFar) -> None:
        """A case's round is complete, and more are to come."""
        self._measured = True
        if self._clock() - self._drawn < INTERVAL_S:
            return
        rate = f"{significant(samples_per_step / so_far.step_time_s)} samples/s"
        margin = "" if so_far.margin is None else f" ±{percent(so_far.margin)}"
        repeat = f"repeat {so_far.repeat}/{so_far.repeats}, " if so_far.repeats > 1 else ""
        rounds = counted(so_far.rounds, "round")
        self.say(f"{repeat}{rounds}, {rate}{margin}, {about(so_far.left_s)} left", so_far.left_s)

    def say(self, words: str, left_s: float = 0.0) -> None:
        """Draw what the case that began is at.

        :param left_s: it takes at least so much longer.
        """
        run_s = self._left_s(left_s)
        self._draw(self._head, self._name, f": {words}" + ("" if run_s is None else f", run {about(run_s)}"))

    def proving(self) -> None:
        """The rounds of the case are complete."""
        self._measured = True
        self.say("timed, proving and counting")

    @contextmanager
    def aside(self, words: str) -> Iterator[None]:
        """Draw what belongs to no case while it is done."""
        self._draw(self._session, words, "")
        try:
            yield
        finally:
            self.erase()

    def erase(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            self._write("")
            self._shown = False

    def _left_s(self, case_s: float) -> float | None:
        """Seconds until all cases are measured, if each takes as long as those before; None before one is."""
        if not self._took_s:
            return None
        mean_s = sum(self._took_s) / len(self._took_s)
        this_s = max(case_s, mean_s - (self._clock() - self._started))
        return this_s + mean_s * (len(self._planned) - len(self._begun))

    def _draw(self, head: str, name: str, rest: str) -> None:
        from rich.text import Text

        room = self._width() - 1
        name = cut(name, max(LEAST_NAME, room - len(head) - len(rest)))
        line = Text.assemble((head, "cyan"), (name, "bold"), rest)
        line.truncate(room, overflow="ellipsis")
        with self._console.capture() as drawn:
            self._console.print(line, end="", soft_wrap=True)
        self._write(drawn.get())
        self._shown, self._drawn = True, self._clock()

    def _write(self, line: str) -> None:
        self._file.write(f"{_BELOW}{line}{_BACK}")
        self._file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not uses_roofline(item):
            return (yield)
        self.begin(item.nodeid, case_name(item))
        try:
            return (yield)
        finally:
            self.end(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._say_begun(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._say_begun(item)

    def _say_begun(self, item: pytest.Item) -> None:
        if uses_roofline(item):
            self.say("preparing" if item.nodeid in self._planned else "measuring")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self) -> None:
        self.erase()

    def pytest_unconfigure(self) -> None:
        self._file.close()


def on_terminal(config: pytest.Config, planned: Mapping[str, str], place: SessionSet | None) -> Progress | None:
    """Show progress on the terminal; None where there is none, or something else may write there meanwhile."""
    reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
    plain = os.environ.get("TERM") == "dumb" or os.environ.get("CI") or config.option.verbose < 0
    if reporter is None or plain or _others_write(config) or not sys.stdout.isatty():
        return None
    # While a test runs, pytest captures what is written to the number that standard output has.
    file = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="replace")
    return Progress(file, planned, place, colour=reporter.hasmarkup, width=lambda: _columns(file))


def _others_write(config: pytest.Config) -> bool:
    """Tell whether tests, their logs or pytest may write to the terminal while a test runs."""
    logs = config.pluginmanager.hasplugin("logging") and (config.getini("log_cli") or config.option.log_cli_level)
    return bool(logs or config.getoption("capture", "no") == "no" or config.getoption("setupshow", False))


def _columns(terminal: TextIO) -> int:
    # A terminal that knows no size says 0.
    return os.get_terminal_size(terminal.fileno()).columns or 80
