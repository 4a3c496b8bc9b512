"""One measuring process: a pytest that is started, spoken to, and ended with all that it started."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from roofline.ab.messages import PIPES, PROTOCOL, WORKER, Channel, Closed, Hello, Message, TimedOut, Unreadable
from roofline.ab.side import CannotMeasure, MeasuredSide

LAST_LINES = 8
"""Lines of a failed process's output that its error shows, without pytest's header."""

GRACE_S = 5.0
"""Time to end by itself, once its pipes are closed."""

ANSWER_S = 600.0
"""Limit of an answer: to collect the tests, to build, compile and warm up a model, to take a turn, to prove and count.
Compiling is the longest of it, and takes minutes at most."""


class ProcessFailed(CannotMeasure):
    """A measuring process has ended or hangs where it should have gone on. The message has what it wrote last."""


class MeasuringProcess:
    """A pytest process of a side that takes turns.

    At the end of its ``with`` statement it is gone, and so are those that it started, but in sessions of their own.

    :param arguments: pytest's.
    :param log: file for what it prints.
    :raises ProcessFailed: it can't be started.
    """

    def __init__(self, side: MeasuredSide, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.side = side
        self._log = log
        to_child, from_parent = os.pipe()
        to_parent, from_child = os.pipe()
        command = (side.python, "-m", "pytest", "-p", WORKER, "-p", "no:cacheprovider", *arguments)
        variables = {**side.environment(environment), PIPES: f"{to_child},{from_child}"}
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    cwd=side.folder,
                    env=variables,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=(to_child, from_child),
                    # Ctrl-C is for this program, which then ends its processes.
                    start_new_session=True,
                )
        except OSError as error:
            os.close(from_parent)
            os.close(to_parent)
            raise ProcessFailed(f"{side.name}: can't run {side.python} ({error.strerror or error}).") from error
        finally:
            os.close(to_child)
            os.close(from_child)
        self._channel = Channel(os.fdopen(to_parent, "rb"), os.fdopen(from_parent, "wb"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        self._channel.close()
        if kind is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
        self._kill()

    def hello(self) -> Hello:
        """Wait until its tests are collected.

        :raises ProcessFailed: it has ended, or is of a version that can't be talked to.
        """
        hello = self.receive("collecting the tests")
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL:
            raise ProcessFailed(
                f"{self.side.name}: the plugin of {self.side.what} takes turns in another way than this one. "
                "Compare with a roofline of the same version on both sides."
            )
        return hello

    def send(self, message: Message) -> None:
        """:raises ProcessFailed: it has ended."""
        try:
            self._channel.send(message)
        except Closed:
            raise self._ended() from None

    def receive(self, doing: str) -> Message:
        """Wait for its next message. A process that sends nothing for `ANSWER_S` is ended.

        :param doing: what it has to do before it answers, for the message: ``preparing test_it.py::test_it``.
        :raises ProcessFailed: it has ended, or sent nothing in that time.
        """
        try:
            return self._channel.receive(ANSWER_S)
        except Closed:
            raise self._ended() from None
        except TimedOut:
            self._kill()
            raise self._failed(f"did not answer for {ANSWER_S:g} s {doing}, and was ended") from None
        except Unreadable as error:
            raise ProcessFailed(f"{self.side.name}: says what makes no sense here: {error}") from error

    def _kill(self) -> None:
        # It leads a group of its own: with it end the workers of its data loaders.
        with suppress(ProcessLookupError, PermissionError):  # macOS forbids it where all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # what hangs in a device's driver can't be ended
            self._process.wait(GRACE_S)

    def _ended(self) -> ProcessFailed:
        try:
            code = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return ProcessFailed(f"{self.side.name} ({self.side.what}): does not speak any more.")
        if code >= 0:
            return self._failed(f"ended with exit code {code}")
        by_system = ", as systems do where memory runs out" if -code == signal.SIGKILL else ""
        return self._failed(f"was ended by signal {-code} ({signal.strsignal(-code)}){by_system}")

    def _failed(self, what: str) -> ProcessFailed:
        lines = last_lines(self._log.read_text(encoding="utf-8", errors="replace"))
        shown = "\n".join(f"  | {line}" for line in lines) or "  (it wrote nothing)"
        return ProcessFailed(f"{self.side.name} ({self.side.what}): its pytest {what}. The last it wrote:\n{shown}")


def last_lines(text: str) -> list[str]:
    """Pick from a pytest's output the lines that tell why it ended: the interpreter's own words of a crash, else the
    last ones. pytest's header and empty lines are left out.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    fatal = next((number for number, line in enumerate(lines) if "Fatal Python error:" in line), None)
    if fatal is not None:
        return lines[fatal : fatal + LAST_LINES]
    header = [number for number, line in enumerate(lines) if _END_OF_HEADER.match(line)]
    return lines[header[-1] + 1 if header else 0 :][-LAST_LINES:]


_END_OF_HEADER = re.compile(r"(collecting \.\.\. *)?collected \d+ item")


def supported() -> bool:
    """True if this system hands pipes to a process by their numbers: all but Windows."""
    return not sys.platform.startswith("win")
