"""A process that measures for another ends with it: whatever it measured on would disturb whoever measures next."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""Of Linux's prctl: the signal that this process gets when its parent dies."""


def end_with_parent() -> None:
    """Let the system kill this process when the one that started it dies, at whatever it is then. On Linux alone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
