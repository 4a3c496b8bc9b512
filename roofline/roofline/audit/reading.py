"""Any file to rows: JSON by pytest-benchmark, or a table. Its first character tells which, not its name."""

from __future__ import annotations

from pathlib import Path

from roofline.audit import result_file, table_file
from roofline.audit.row import Row
from roofline.devices import DeviceTable
from roofline.reader import ReadError, text_of

_ADVICE = "Save the table as CSV in UTF-8."


def unread_columns(path: Path) -> tuple[str, ...]:
    """Columns of a table that were left alone because nothing knows their names; none of other files.

    :raises ReadError: it can't be read, and why.
    """
    text = text_of(path, _ADVICE)
    return () if text.lstrip()[:1] in ("{", "[") else table_file.unread(path, text)


def rows_of(path: Path, devices: DeviceTable) -> tuple[Row, ...]:
    """The rows of one file.

    :param devices: for the roofs of result files.
    :raises ReadError: it can't be read, and why.
    """
    text = text_of(path, _ADVICE)
    if not text.strip():
        raise ReadError(f"{path}: empty.")
    if text.lstrip()[0] in "{[":
        return result_file.rows_of(path, devices)
    return table_file.rows_of(path, text)
