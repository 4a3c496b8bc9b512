"""Lets cases of several processes run beside each other, and what measures the machine alone.

It is a lock of readers and writers on two files. One who waits for all the machine holds the first: nobody begins
before him.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

AVAILABLE = fcntl is not None


class MachineLock:
    """The lock, as one of the processes has it. The kernel gives back what one that dies holds.

    :param folder: that all of them share.
    """

    def __init__(self, folder: Path) -> None:
        self._door, self._room = (
            os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for name in ("door", "room")
        )

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Wait until nobody is or wants to be alone, and let nobody be so meanwhile."""
        with _held(self._door, fcntl.LOCK_EX):
            fcntl.flock(self._room, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._room, fcntl.LOCK_UN)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until what runs has ended, and let nothing begin meanwhile.

        One who is `beside` others, and finds that he can't be, leaves them for good.
        """
        fcntl.flock(self._room, fcntl.LOCK_UN)
        with ExitStack() as held:
            for file in (self._door, self._room):
                held.enter_context(_held(file, fcntl.LOCK_EX))
            yield


@contextmanager
def _held(file: int, how: int) -> Iterator[None]:
    fcntl.flock(file, how)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
