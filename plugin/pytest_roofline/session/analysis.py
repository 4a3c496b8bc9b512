"""The ``roofline`` program, in a process of its own: files are the only border between measuring and analysing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import roofline
from roofline.text.units import VERBOSE_BY

WIDTH_BY = "ROOFLINE_WIDTH_BY"
"""Tells the program what gives a wider table: pytest has no ``--width``, and asks the terminal or this variable."""


NOT_STARTED = 126
"""The exit code of a program that can't be started, as a shell has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command of the program said, and its exit code."""

    command: str
    code: int
    out: str
    err: str

    def lines(self) -> Iterator[str]:
        """What to show: its output, and why it failed where it did."""
        if self.out:
            yield self.out
        if self.code:
            yield f"roofline {self.command} ended with exit code {self.code}: {self.err}"


def ask(command: str, *arguments: str) -> Answer:
    """Run ``roofline COMMAND ARGUMENTS`` with this interpreter, from wherever this process has the package."""
    places = [str(Path(roofline.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONIOENCODING": "utf-8"}
    environment[WIDTH_BY] = "COLUMNS"
    if command == "check":
        environment[VERBOSE_BY] = "--roofline-gate-options=-v"
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "roofline", command, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            check=False,
        )
    except OSError as error:  # no more open files or processes are allowed
        return Answer(command=command, code=NOT_STARTED, out="", err=f"it can't be started: {error.strerror}")
    return Answer(command=command, code=answer.returncode, out=answer.stdout.rstrip(), err=answer.stderr.strip())
