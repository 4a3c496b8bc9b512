"""Files that a user names, as text, and the error of one that can't be used."""

from __future__ import annotations

import codecs
from pathlib import Path

from roofline.text.printable import printable


class ReadError(Exception):
    """A file that can't be used. The message names the file, what is wrong and what to do.

    It is one line, and what a terminal would obey is escaped in it, whatever stands in names; ``details`` have lines of
    their own below it, further in.
    """

    def __init__(self, message: str, *details: str) -> None:
        super().__init__("\n  ".join(map(printable, (message, *details))))


def refused(path: Path, error: OSError) -> ReadError:
    """Make the error of a file that the system doesn't let be read."""
    return ReadError(f"{path}: can't be read ({error.strerror or error}).")


_BINARY = {
    b"\x1f\x8b": "compressed (gzip): unpack it first",
    b"\xfd7zXZ\0": "compressed (xz): unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed (zstd): unpack it first",
    b"PK\x03\x04": "an archive (zip): unpack it first",
    b"PAR1": "a Parquet file",
    b"\x89PNG": "an image (PNG)",
    b"SQLite format 3\0": "an SQLite database; `roofline nsys` reads those that nsys exports",
    b"NVR\0": "a report of Nsight Compute; `roofline ncu` reads it",
}
"""What files begin with that somebody gives in place of a text, and what they are."""
_NSYS = ".nsys-rep"


def refuse_binary(path: Path, content: bytes, advice: str = "") -> None:
    """Refuse what is no text by what it is.

    :param content: its beginning, or all of it.
    :raises ReadError: it is a file of a well-known kind.
    """
    what = next((what for begin, what in _BINARY.items() if content.startswith(begin)), None)
    if what is None and path.suffix == _NSYS:
        what = "a report of nsys; `roofline nsys` says how to export it"
    if what is not None:
        raise ReadError(f"{path}: {what}. {advice}".rstrip())


def encoding_of(content: bytes) -> str:
    """Name the encoding of a text: UTF-16 where its byte order mark says so, as of PowerShell's ``>``, else UTF-8."""
    return "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def content_of(path: Path) -> bytes:
    """Read the bytes of a file.

    :raises ReadError: it can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise refused(path, error) from error


def text_of(path: Path, advice: str) -> str:
    """Read the text of a file, in an encoding of `encoding_of`.

    :param advice: what to give instead, for the message.
    :raises ReadError: it can't be read, or isn't such a text.
    """
    return decoded(path, content_of(path), advice)


def decoded(path: Path, content: bytes, advice: str, errors: str = "strict") -> str:
    """Decode the content of a file, in an encoding of `encoding_of`.

    :param errors: what becomes of bytes that are no such text, as of ``bytes.decode``.
    :raises ReadError: it isn't such a text.
    """
    refuse_binary(path, content, advice)
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
        return content.decode("cp1252" if encoding == "utf-8-sig" else encoding, errors="replace")
