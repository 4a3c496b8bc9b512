"""End a run in a case that hangs: ``--case-timeout``."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator

import pytest

from pytest_roofline import pytest_exit_codes
from pytest_roofline.config import spelled
from pytest_roofline.items import case_name, uses_roofline
from pytest_roofline.session.run import Run

GRACE_S = 15.0
"""How long the case has to come back to Python, after which its process is left as it is."""


class CaseTimeout:
    """Stops the run, as Ctrl-C does, in a case that takes too long. Where that can't reach it, as in a kernel that
    never ends, the process ends at once: all that was measured is in the journal.

    :param seconds: for a whole test, from its first fixture on.
    :param flag: as the user knows it.
    :param save: adds to the journal what is new.
    """

    def __init__(self, run: Run, config: pytest.Config, seconds: float, flag: str, save: Callable[[], None]) -> None:
        self._run = run
        self._config = config
        self._resume = spelled(config, "resume")
        self._seconds = seconds
        self._flag = flag
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
        if ended.wait(self._seconds):
            return
        reason = f"it was still running after {self._seconds:g} s ({self._flag})"
        self._run.case_failed(case_name(item), "timeout", reason, test=item.nodeid)
        self._run.finished.append(item.nodeid)
        self._run.printed.append(f"stopped in {case_name(item)}: {reason}.")
        if sys.platform == "win32":
            _thread.interrupt_main()
        else:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        if not ended.wait(GRACE_S):
            self._leave(f"{item.nodeid}: {reason}, and nothing can reach it.")

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
        os._exit(pytest_exit_codes.INTERRUPTED)
