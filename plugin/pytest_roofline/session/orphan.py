"""A process that measures for another ends with it: whatever it measured on would disturb whoever measures next."""

from __future__ import annotations

import os
import threading

import psutil

from pytest_roofline import exit_codes

_LOOK_S = 1.0
"""Seconds between two looks at the parent."""


def end_with_parent() -> None:
    """Have this process end, at whatever it is then, a few seconds after the one that started it at the latest."""
    try:
        parent = psutil.Process(os.getppid())
    except psutil.NoSuchProcess:
        os._exit(exit_codes.INTERRUPTED)
    threading.Thread(target=_watch, args=(parent,), name="roofline-parent", daemon=True).start()


def _watch(parent: psutil.Process) -> None:
    # A child of a process that has ended gets another parent, which costs a microsecond to see, for steps are timed
    # meanwhile; on Windows it keeps the number. Tests may replace time.sleep, and the look would never rest.
    rest = threading.Event()
    while os.getppid() == parent.pid and (os.name != "nt" or parent.is_running()):
        rest.wait(_LOOK_S)
    os._exit(exit_codes.INTERRUPTED)
