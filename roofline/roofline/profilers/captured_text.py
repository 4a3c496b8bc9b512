"""What a program printed into a file, as text: UTF-8, UTF-16 (PowerShell's ``>``) or the Windows code page."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from roofline.reader import ReadError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_WINDOWS = "cp1252"


def captured(path: Path) -> bytes:
    """The bytes of a regular file.

    :raises ReadError: it can't be read, or is a folder, a pipe or a device, which might never end.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ReadError(f"{path}: can't be read (no regular file). Give the file that the profiler wrote.")
        return path.read_bytes()
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error


def decoded(content: bytes) -> str:
    """The text. Names of kernels and numbers are read right in any of the encodings; what can't be is shown as such."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content.decode(encoding, errors="replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode(_WINDOWS, errors="replace")
