"""The folder in which a comparison keeps its trees and logs, and what is left of those that were killed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PREFIX = "roofline-ab-"
"""What the names of such folders begin with."""

_OWNER = "owner"
"""A file in it that is locked for as long as its owner lives: the system takes a lock away with the process, however
that ends. A number of a process would say nothing where containers share the folder, and is given to others later."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, until the block is left. Those whose owners were killed before are removed first."""
    place = Path(tempfile.gettempdir())
    for folder in place.glob(f"{PREFIX}*"):
        _remove_if_abandoned(folder)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place) as name, _claimed(Path(name)):
        yield Path(name)


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    # It gets its name when it is locked: whoever finds it unlocked may remove the folder.
    unnamed = folder / "unlocked"
    with unnamed.open("xb") as file:
        if _locked(file):
            unnamed.rename(folder / _OWNER)
        yield


def _remove_if_abandoned(folder: Path) -> None:
    # Another user's can't be opened, and one that another run just removes isn't there any more.
    with suppress(OSError), (folder / _OWNER).open("rb") as file:
        if _locked(file):
            shutil.rmtree(folder, ignore_errors=True)


def _locked(file: IO[bytes]) -> bool:
    """Lock it. False where somebody else has, or the file system has no locks."""
    import fcntl  # not on Windows, where this is not used, but is imported with the program

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
