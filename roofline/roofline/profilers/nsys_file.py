"""A file of nsys, whichever it is: its first bytes tell, not its name."""

from __future__ import annotations

from pathlib import Path

from roofline.profilers.nsys_database import how_to_export
from roofline.profilers.nsys_export import read_export
from roofline.profilers.nsys_stats import HOW_TO, read_stats
from roofline.profilers.timeline import Timeline
from roofline.reader import ReadError, text_of

_SQLITE = b"SQLite format 3\0"
_OWN_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")
"""Of nsys's own reports; the last is one that wasn't finished."""

_ADVICE = f"Give an export (nsys export --type sqlite), or text in UTF-8 by {HOW_TO}"


def read_nsys(path: Path) -> Timeline:
    """Read an SQLite export, or what ``nsys stats`` printed.

    :raises ReadError: it is neither, and what it is, or it can't be read.
    """
    head = _head(path)
    if head.startswith(_SQLITE):
        return read_export(path)
    if path.suffix in _OWN_SUFFIXES:
        raise ReadError(
            f"{path}: nsys's own report, which only nsys reads. Export it, and give the export: {how_to_export(path)}"
        )
    return read_stats(path, text_of(path, _ADVICE))


def _head(path: Path) -> bytes:
    """Its first bytes; none where it is no regular file, which `text_of` refuses."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE))
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error
