"""Define what a run and the process that repeats a test of it under ncu say to each other: request and answer.

The request goes through an environment variable and not through the command line, which stays that of the run: so the
test is found as it was found before, whatever its name holds.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.rerun import take_order, variables_of

VARIABLE = "ROOFLINE_NCU_REQUEST"
"""Taken away by the first to read it: no process that the test starts is to count anything."""

CHILD = "pytest_roofline.profilers.ncu.child"
"""The pytest plugin that carries a request out, loaded with ``-p``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """Count one step of one test.

    :param test: its node id.
    :param file: to collect only this file; None to collect whatever the command line names.
    :param answer: the file for the answer.
    """

    test: str
    file: Path | None
    answer: Path

    def environment(self) -> dict[str, str]:
        return variables_of(VARIABLE, self)

    def give(self, problem: str) -> None:
        """Answer why no step was counted; empty where one was."""
        self.answer.write_text(json.dumps([problem]), encoding="utf-8")

    def answered(self) -> str | None:
        """As given; None where the process ended before it gave one."""
        try:
            (problem,) = json.loads(self.answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return str(problem)


def request_of(environment: MutableMapping[str, str]) -> StepRequest | None:
    """The request that this process was started with; None: none was given.

    :raises pytest.UsageError: the variable is somebody else's.
    """
    return take_order(environment, VARIABLE, StepRequest)
