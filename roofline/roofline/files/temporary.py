"""Temporary folders, and those that killed runs have left."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LEFT_S = 3 * 86400.0
"""A temporary folder that nobody has changed for so long is one that a killed run has left, as pytest sees its own."""


@contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Make a folder that is this user's alone, and remove it at the end of the block.

    Those of the same ``prefix`` that killed runs have left are removed before.

    :raises OSError: none can be made.
    """
    _remove_left(prefix)
    # What a program left running may still write there.
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        yield Path(os.path.realpath(folder))


def _remove_left(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another user's
            if folder.stat().st_mtime < time.time() - _LEFT_S:
                shutil.rmtree(folder)
