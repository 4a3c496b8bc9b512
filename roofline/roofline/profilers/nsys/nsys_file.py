"""A file of nsys, whichever it is: its first bytes tell, not its name."""

from __future__ import annotations

from pathlib import Path

from roofline.files.decoding import ReadError, printed_text, refuse_binary, refused
from roofline.profilers.nsys.export_timeline import read_export
from roofline.profilers.nsys.sqlite_file import how_to_export
from roofline.profilers.nsys.stats import read_stats
from roofline.profilers.timeline import Timeline

_SQLITE = b"SQLite format 3\0"
_OWN_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")
"""Of nsys's own reports: of today, until 2021, and one that wasn't finished."""


def read_nsys(path: Path) -> Timeline:
    """Read an SQLite export, or what ``nsys stats`` printed.

    :raises ReadError: it is neither, and what it is, or it can't be read.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_SQLITE))
            if beginning == _SQLITE:
                return read_export(path)
            content = beginning + file.read()
    except OSError as error:
        raise refused(path, error) from error
    if path.suffix in _OWN_SUFFIXES:
        raise ReadError(
            f"{path}: nsys's own report, which only nsys reads. Export it, and give the export: {how_to_export(path)}"
        )
    refuse_binary(path, content)
    return read_stats(path, printed_text(content))
