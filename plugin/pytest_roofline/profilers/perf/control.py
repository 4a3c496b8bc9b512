"""Switching a running ``perf stat`` on and off: the pipes of its option ``--control fd:``."""

from __future__ import annotations

import os
import selectors
import time


class NoAnswer(RuntimeError):
    """perf does not answer in time."""


class Gone(RuntimeError):
    """perf has ended."""


class PerfControl:
    """A pipe for commands, and one for their acknowledgements (perf-stat(1), ``--control``). A context manager.

    :param answer_s: how long to wait for each acknowledgement.
    """

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s
        command_end, self._commands = os.pipe()
        self._answers, answer_end = os.pipe()
        self._theirs: tuple[int, ...] = (command_end, answer_end)

    def __enter__(self) -> PerfControl:
        return self

    def __exit__(self, *_: object) -> None:
        self.started()
        os.close(self._commands)
        os.close(self._answers)

    @property
    def options(self) -> tuple[str, ...]:
        """Begin with counting switched off, and take commands."""
        return ("-D", "-1", "--control", "fd:" + ",".join(map(str, self._theirs)))

    @property
    def inherited(self) -> tuple[int, ...]:
        """The ends that are perf's."""
        return self._theirs

    def started(self) -> None:
        """perf has its ends: close them here, so that its end is seen."""
        for end in self._theirs:
            os.close(end)
        self._theirs = ()

    def tell(self, command: str) -> None:
        """Give a command and wait until perf has carried it out.

        :raises NoAnswer: it does not say so in time.
        :raises Gone: it has ended.
        """
        try:
            os.write(self._commands, f"{command}\n".encode())
        except BrokenPipeError as error:
            raise Gone(command) from error
        deadline = time.monotonic() + self._answer_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            # A zero byte follows each answer, and may come with the next.
            while selector.select(max(0.0, deadline - time.monotonic())):
                answer = os.read(self._answers, 64)
                if b"ack" in answer:
                    return
                if not answer:
                    raise Gone(command)
        raise NoAnswer(f"perf did not answer to {command!r} in {self._answer_s:g} s")
