"""What a program printed into a file, as text: UTF-8, UTF-16 (PowerShell's ``>``) or the Windows code page."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from roofline.files.text import ReadError, encoding_of

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
    encoding = encoding_of(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        marked = encoding == "utf-16" or content.startswith(codecs.BOM_UTF8)
        return content.decode(encoding if marked else _WINDOWS, errors="replace")
