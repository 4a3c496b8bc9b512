"""Write files whole or not at all, and make temporary folders, removing those that killed runs have left."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from roofline.files.paths import real_path

_FOLDER_REFUSES = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY})
"""A folder that takes no new file, or a file that is mounted by itself, as containers do, and can't be replaced."""


_PART = ".roofline-"
"""Begins the name of a file that is being written."""

Write = Callable[[Path, bytes], None]
"""Writes a file, whole or not at all, as `write_bytes` does."""


def utf8(text: str) -> bytes:
    """Encode a text. Half a surrogate pair, which UTF-8 has no bytes for, stands as its escape: ``\\udcff``."""
    return text.encode("utf-8", "backslashreplace")


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_bytes` does."""
    write_bytes(path, utf8(text))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all: where the disk is full, what stood there stays. Its folder is made.

    A pipe or a device, such as ``/dev/stdout``, is written to as it is; through a link its target is written.

    :raises OSError: the file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    target = real_path(path)
    # A link that leads to itself has no target; opening it says so.
    if target.is_symlink() or (path.exists() and not target.is_file()):
        _write(path, "wb", data)
    else:
        _replace(target, data)


def is_part(name: str) -> bool:
    """Tell whether a file of this name is only being written, or was left by a process that was killed."""
    return name.startswith(_PART)


def _replace(target: Path, data: bytes) -> None:
    """Put a new regular file in the place of an old one, with its mode and, where that is allowed, its owner."""
    old = target.stat() if target.exists() else None
    if old is not None:
        target.open("ab").close()  # a file that may not be written may not be replaced, either
    part = target.with_name(f"{_PART}{secrets.token_hex(8)}")
    try:
        _write(part, "xb", data)
        if old is not None:
            new = part.stat()
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                with suppress(PermissionError):
                    os.chown(part, old.st_uid, old.st_gid)
            part.chmod(stat.S_IMODE(old.st_mode))
        part.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        if old is None or error.errno not in _FOLDER_REFUSES:
            raise
        _write(target, "wb", data)
    finally:
        with suppress(PermissionError):  # of a folder in which it couldn't be made
            part.unlink(missing_ok=True)


def _write(path: Path, mode: Literal["wb", "xb"], data: bytes) -> None:
    with path.open(mode) as file:
        file.write(data)
        file.flush()
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Let the names in a folder survive a power cut. Windows opens no folder, and does so by itself."""
    if os.name == "nt":
        return
    with suppress(OSError):  # some network file systems refuse it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
