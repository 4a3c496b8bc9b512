"""Files that a user names, as text, and the error of one that can't be used."""

from __future__ import annotations

import codecs
import stat
from io import BufferedReader
from pathlib import Path

from roofline.text.printable import printable


class ReadError(Exception):
    """A file that can't be used. The message names the file, what is wrong and what to do.

    It is one line, and what a terminal would obey is escaped in it, whatever stands in names; ``details`` have lines of
    their own below it, further in.
    """

    def __init__(self, message: str, *details: str) -> None:
        super().__init__("\n  ".join(map(printable, (message, *details))))


def encoding_of(content: bytes) -> str:
    """Name the encoding of a text: UTF-16 where its byte order mark says so, as of PowerShell's ``>``, else UTF-8."""
    return "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def open_regular(path: Path, advice: str) -> BufferedReader:
    """Open a regular file, to read its bytes.

    :param advice: what to give instead, for the message.
    :raises ReadError: it can't be opened, or is a pipe or a device, which might never end.
    """
    try:
        kind = path.stat().st_mode
        # A folder has an error of its own, which says whether it may be read.
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise ReadError(f"{path}: can't be read (no regular file). {advice}")
        return path.open("rb")
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error


def content_of(path: Path, advice: str) -> bytes:
    """Read the bytes of a regular file.

    :raises ReadError: as of `open_regular`, or reading fails.
    """
    try:
        with open_regular(path, advice) as file:
            return file.read()
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error


def text_of(path: Path, advice: str) -> str:
    """Read the text of a regular file, in an encoding of `encoding_of`.

    :param advice: what to give instead, for the message.
    :raises ReadError: as of `content_of`, or it isn't such a text.
    """
    return decoded(path, content_of(path, advice), advice)


def decoded(path: Path, content: bytes, advice: str, errors: str = "strict") -> str:
    """Decode the content of a file, in an encoding of `encoding_of`.

    :param errors: what becomes of bytes that are no such text, as of ``bytes.decode``.
    :raises ReadError: it isn't such a text.
    """
    try:
        return content.decode(encoding_of(content), errors)
    except UnicodeDecodeError as error:
        name = "UTF-16" if "16" in error.encoding else "UTF-8"
        raise ReadError(f"{path}: not {name} text (byte {error.start}). {advice}") from error


def printed_text(content: bytes) -> str:
    """Decode what a program printed into a file: as `encoding_of` says, else in the code page of Windows.

    Names of kernels and numbers are right in any of them; what can't be decoded is shown as such.
    """
    encoding = encoding_of(content)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        marked = encoding == "utf-16" or content.startswith(codecs.BOM_UTF8)
        return content.decode(encoding if marked else "cp1252", errors="replace")
