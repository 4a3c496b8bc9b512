"""Processes that a measuring process has started and left behind: whoever measures next must not run beside them."""

from __future__ import annotations

import os
import secrets
import signal
from contextlib import suppress
from pathlib import Path

VARIABLE = "ROOFLINE_PROCESS"
"""Environment variable that a measuring process hands down to all that it starts."""

_PROCESSES = Path("/proc")


def new_mark() -> str:
    """A value of it that no other process has. They are all of one length: how long the environment is moves a stack,
    and is to be the same on both sides.
    """
    return secrets.token_hex(8)


def end_marked(mark: str) -> None:
    """Kill every process with this mark, in whatever session it is, until there is no new one.

    They are found by /proc, so on Linux alone. Whoever was given another environment is not found, nor is another
    user's.
    """
    ended: set[int] = set()
    while found := _marked(mark) - ended:
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        ended |= found


def _marked(mark: str) -> set[int]:
    entry = f"{VARIABLE}={mark}".encode()
    found = set()
    for folder in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    return found
