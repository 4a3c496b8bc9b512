"""A process that measures for another ends with it: whatever it measured on would disturb whoever measures next."""

from __future__ import annotations

import os
import threading
import time

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
    # A child of a process that has ended gets another parent; on Windows it keeps the number.
    while os.getppid() == parent.pid and parent.is_running():
        time.sleep(_LOOK_S)
    os._exit(exit_codes.INTERRUPTED)
