"""One measuring process: a pytest that is started, spoken to, and ended whatever happens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from roofline.ab.messages import PIPES, PROTOCOL, WORKER, Channel, Closed, Garbled, Hello, Message, Silent
from roofline.ab.side import Side
from roofline.ab.stragglers import VARIABLE, end_marked, new_mark

TOLD_LINES = 8
"""Of what a process that failed has written last, without pytest's header."""

GRACE_S = 5.0
"""Time to end by itself, once nobody speaks to it any more."""

PREPARING_S = 600.0
"""Time for what has no length that one could know beforehand: to collect the tests, to build, compile and warm up a
model, to prove and count. Compiling is the longest of it, and takes minutes at most."""


class ProcessFailed(RuntimeError):
    """A measuring process has ended or hangs where it should have gone on. The message tells what it wrote last."""


class Player(Protocol):
    """What `roofline.ab.alternate` needs of a measuring process."""

    side: Side

    def say(self, message: Message) -> None:
        """:raises ProcessFailed: it has ended."""
        ...

    def hear(self, limit_s: float, doing: str) -> Message:
        """Wait for what it says next.

        :param limit_s: how long, in seconds. Whoever says nothing by then is ended.
        :param doing: what it has to do before it speaks, for the message: ``preparing test_it.py::test_it``.
        :raises ProcessFailed: it has ended, or said nothing in that time.
        """
        ...


class Process(Player, Protocol):
    """A player with a beginning and an end."""

    def __enter__(self) -> Process: ...

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object, /) -> None: ...

    def hello(self) -> Hello:
        """Wait until its tests are collected.

        :raises ProcessFailed: it has ended, or is of a version that can't be talked to.
        """
        ...


class MeasuringProcess:
    """A pytest process of a side that takes turns. Use it in a ``with`` statement: at its end the process is gone, and
    so are those that it started, on Linux also in sessions of their own.

    :param arguments: pytest's.
    :param log: file for what it prints.
    :raises ProcessFailed: it can't be started.
    """

    def __init__(self, side: Side, arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.side = side
        self._log = log
        self._mark = new_mark()
        to_child, from_parent = os.pipe()
        to_parent, from_child = os.pipe()
        command = (side.python, "-m", "pytest", "-p", WORKER, "-p", "no:cacheprovider", *arguments)
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    cwd=side.folder,
                    env={
                        **side.environment(environment),
                        PIPES: f"{to_child},{from_child}",
                        VARIABLE: self._mark,
                    },
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

    def __enter__(self) -> MeasuringProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        if kind is None:
            self.end()
        else:
            self._channel.close()
            self._kill()

    def hello(self) -> Hello:
        hello = self.hear(PREPARING_S, "collecting the tests")
        if not isinstance(hello, Hello) or hello.protocol != PROTOCOL:
            raise ProcessFailed(
                f"{self.side.name}: the plugin of {self.side.what} takes turns in another way than this one. "
                "Compare with a roofline of the same version on both sides."
            )
        return hello

    def say(self, message: Message) -> None:
        try:
            self._channel.send(message)
        except Closed:
            raise self._failed() from None

    def hear(self, limit_s: float, doing: str) -> Message:
        try:
            return self._channel.receive(limit_s)
        except Closed:
            raise self._failed() from None
        except Silent:
            self._kill()
            raise self._problem(f"did not answer for {limit_s:g} s {doing}, and was ended") from None
        except Garbled as error:
            raise ProcessFailed(f"{self.side.name}: says what makes no sense here: {error}") from error

    def end(self) -> None:
        """Let it end by itself, and end it if it doesn't; then what it left behind."""
        self._channel.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._kill()

    def _kill(self) -> None:
        # It leads a group of its own: with it end the workers of its data loaders.
        with suppress(ProcessLookupError, PermissionError):  # macOS forbids it where all of them have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        end_marked(self._mark)
        with suppress(subprocess.TimeoutExpired):  # what hangs in a device's driver can't be ended
            self._process.wait(GRACE_S)

    def _failed(self) -> ProcessFailed:
        try:
            code = self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            return ProcessFailed(f"{self.side.name} ({self.side.what}): does not speak any more.")
        return self._problem(f"ended with exit code {code}" if code >= 0 else f"was ended by {_signal(-code)}")

    def _problem(self, what: str) -> ProcessFailed:
        lines = last_words(self._log.read_text(encoding="utf-8", errors="replace"))
        told = "\n".join(f"  | {line}" for line in lines) or "  (it wrote nothing)"
        return ProcessFailed(f"{self.side.name} ({self.side.what}): its pytest {what}. The last it wrote:\n{told}")


def last_words(text: str) -> list[str]:
    """What is worth telling of what a pytest wrote before it ended: where the interpreter tells what it died of, that
    and where; else its last lines. pytest's header, which says nothing of it, is left out, and so are empty lines.
    """
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    fatal = next((number for number, line in enumerate(lines) if _FATAL in line), None)
    if fatal is not None:
        return lines[fatal : fatal + TOLD_LINES]
    header = [number for number, line in enumerate(lines) if _COLLECTED.match(line)]
    return lines[header[-1] + 1 if header else 0 :][-TOLD_LINES:]


_FATAL = "Fatal Python error:"
_COLLECTED = re.compile(r"(collecting \.\.\. *)?collected \d+ item")
"""The last line of pytest's header."""


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:  # one of the system's own
        return f"signal {number}"
    return f"{name} (where memory runs out, the system ends processes so)" if name == "SIGKILL" else name


def supported() -> bool:
    """Whether this system hands pipes to a process by their numbers: all but Windows."""
    return not sys.platform.startswith("win")
