"""``--case-timeout``: end a run in a case that hangs, or only that case's process where another one goes on."""

from __future__ import annotations

import _thread
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from pytest_roofline.config import case_name, options_of, spelled, uses_roofline
from pytest_roofline.session.run import Run

GRACE_S = 15.0
"""How long the case has to come back to Python, and after that its process to end."""


def _overdue(config: pytest.Config) -> str:
    """Say why a case that took too long was ended."""
    return f"it was still running after {options_of(config).case_timeout:g} s ({spelled(config, 'case_timeout')})"


def watch(run: Run, config: pytest.Config, limit: float, save: Callable[[], None]) -> None:
    """Have a case that takes too long end the run. Where it lets no other thread run, a `TimeLimit` ends the process:
    the journal has all that was measured, and which case ran.

    :param limit: seconds for a whole test.
    :param save: adds to the journal what is new.
    """
    config.pluginmanager.register(CaseTimeout(run, config, save), "roofline-case-timeout")
    capture = config.pluginmanager.getplugin("capturemanager")
    with nullcontext() if capture is None else capture.global_and_fixture_disabled():
        shown = os.dup(2)
    config.pluginmanager.register(TimeLimit(limit + 2 * GRACE_S, shown), "roofline-time-limit")
    if run.file is not None:  # that limit itself can't say it
        run.announced.append(
            f"{spelled(config, 'case_timeout')}: a case that is still running after {limit:g} s ends the run, and"
            f" {spelled(config, 'resume')} goes on without it."
        )


class CaseTimeout:
    """Stops the run, as Ctrl-C does, in a case whose test takes too long, its fixtures included. Where that can't reach
    it, as in a kernel that never ends, the process ends at once: all that was measured is in the journal.

    :param save: adds to the journal what is new.
    """

    def __init__(self, run: Run, config: pytest.Config, save: Callable[[], None]) -> None:
        self._run = run
        self._config = config
        self._resume = spelled(config, "resume")
        self._reason = _overdue(config)
        self._save = save
        self._ended = threading.Event()
        """Set once the test that runs has ended."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not uses_roofline(item):
            return (yield)
        self._ended = ended = threading.Event()
        threading.Thread(target=self._watch, args=(item, ended), name="roofline-case-timeout", daemon=True).start()
        try:
            return (yield)
        finally:
            ended.set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        # The signal may come just before the test's own word that it has ended.
        self._ended.set()

    def _watch(self, item: pytest.Item, ended: threading.Event) -> None:
        if ended.wait(self._run.options.case_timeout):
            return
        self._run.case_failed(case_name(item), "timeout", self._reason, test=item.nodeid)
        self._run.finished.append(item.nodeid)
        self._run.printed.append(f"stopped in {case_name(item)}: {self._reason}.")
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        if not ended.wait(GRACE_S):
            self._leave(f"{item.nodeid}: {self._reason}, and nothing can reach it.")

    def _leave(self, why: str) -> None:
        self._save()
        capture = self._config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.suspend_global_capture(in_=True)
        file = self._run.file
        where = (
            "" if file is None else f" What was measured before is in {file.journal}: {self._resume} goes on with it."
        )
        print(f"\nERROR: {why}{where}", file=sys.stderr, flush=True)
        os._exit(pytest.ExitCode.INTERRUPTED)


class TimeLimit:
    """Ends the process by a thread that needs nothing of Python, and leaves where it hung.

    :param seconds: for a whole test, its fixtures included.
    :param file: for the traceback: its path, or its number where it is open.
    """

    def __init__(self, seconds: float, file: Path | int) -> None:
        self._seconds = seconds
        self._file = file.open("w") if isinstance(file, Path) else file

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
    """Tell how a case was lost.

    :param file: of its process's limit.
    :param died: how the process died, where no limit ended it.
    """
    try:
        where = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        where = ""
    if not where:
        return Lost(outcome="error", why=f"its process {died}")
    return Lost(outcome="timeout", why=_overdue(config), where=where)
