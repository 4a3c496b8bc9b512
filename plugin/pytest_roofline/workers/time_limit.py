"""End the process that measures a case in which it hangs: ``--case-timeout`` where another process goes on."""

from __future__ import annotations

import faulthandler
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from pytest_roofline.config import options_of, spelled
from pytest_roofline.items import uses_roofline


class TimeLimit:
    """Ends this process, by a thread that needs nothing of Python, and leaves where it hung.

    :param seconds: for a whole test, from its first fixture on.
    :param file: for the traceback.
    """

    def __init__(self, seconds: float, file: Path) -> None:
        self._seconds = seconds
        self._file = file.open("w", encoding="utf-8")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    # Behind pytest's own faulthandler_timeout, which begins with the protocol: there is one of them in a process.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if uses_roofline(item):
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Why a case has no number whose process ended in it. ``where``: the traceback of one that hung."""

    outcome: Literal["timeout", "error"]
    why: str
    where: str = ""


def how_lost(config: pytest.Config, file: Path, died: str) -> Lost:
    """How a case was lost.

    :param file: of its process's limit.
    :param died: how the process died, where no limit ended it.
    """
    try:
        where = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        where = ""
    if not where:
        return Lost(outcome="error", why=f"its process {died}")
    seconds = options_of(config).case_timeout
    why = f"it was still running after {seconds:g} s ({spelled(config, 'case_timeout')})"
    return Lost(outcome="timeout", why=why, where=where)
