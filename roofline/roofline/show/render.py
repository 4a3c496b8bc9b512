"""A table as text: for a terminal, as Markdown, CSV or JSON.

Names of cases, files, machines and kernels come from elsewhere. Here, in one place for all tables, what a terminal
would obey in them is escaped (`printable`), line breaks included: none can look like a row of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from roofline.show.export import csv_of, json_of
from roofline.show.tables import Column, Format, Table, plain_value
from roofline.text.printable import markdown_text, printable
from roofline.text.wrapping import wrapped

_LEAST_KEY_WIDTH = 8

_GAP = 2
"""Blanks between two columns."""


def render(
    table: Table[Any],
    form: Format,
    width: int,
    *,
    color: bool = False,
    complete: str = "--format csv",
    wider: str = "--width {}",
) -> str:
    """The table as text that ends in a newline.

    :param form: any but Parquet, which is no text.
    :param width: columns of the terminal; only ``table`` heeds it.
    :param complete: what has the columns that don't fit, or empty: said where some don't.
    :param wider: what gives the width in which they would, with ``{}`` for that.
    """
    if form == "csv":
        return csv_of(table)
    if form == "json":
        return json_of(table)
    if form == "markdown":
        return _markdown(table)
    return _terminal(table, width, color=color, complete=complete, wider=wider)


def _markdown(table: Table[Any]) -> str:
    columns = table.displayed()
    notes = _noted(table, columns)
    if table.section is not None:
        columns.insert(0, Column(name="section", title=table.section_title, get=table.section, right=False))
    lines = [
        "| " + " | ".join(cell(_on_one_line(column.title)) for column in columns) + " |",
        "|" + "|".join(" ---: " if column.right else " --- " for column in columns) + "|",
    ]
    lines += ["| " + " | ".join(cell(_shown(column, row)) for column in columns) + " |" for row in table.rows]
    items = ["", *map(_item, notes)] if notes else []
    return "\n".join([f"**{markdown_text(table.title)}**", "", *lines, *items]) + "\n"


def _on_one_line(title: str) -> str:
    """A heading of several lines: ``FLOP/byte``, ``% of roof``."""
    return title.replace("/\n", "/").replace("\n", " ")


def _noted(table: Table[Any], columns: Iterable[Column[Any]]) -> list[str]:
    """What stands below the table where these columns are shown."""
    return [*table.notes, *(table.legends[column.name] for column in columns if column.name in table.legends)]


def _item(note: str) -> str:
    """A note as an item of a list; an indented one is an item below the one before it."""
    text = markdown_text(note.strip())
    return f"  - {text}" if note.startswith(" ") else f"- {text}"


def cell(text: str) -> str:
    """A text in a cell of Markdown: on one line, without what would end the cell or mark anything."""
    return markdown_text(text.replace("\n", " "))


def _terminal(table: Table[Any], width: int, *, color: bool, complete: str, wider: str) -> str:
    cells = _Cells(table)
    columns, dropped, needed = _fitting(cells, width)
    first, *rest = columns
    room = width - sum(_GAP + cells.width(column) for column in rest)
    keys = ["\n".join(_squeezed(text, room)) for text in cells.keys(first)]
    widths = [_width(first, keys), *map(cells.width, rest)]
    rows = list(zip(keys, *map(cells.texts, rest), strict=True))
    notes = _noted(table, columns)
    if dropped:
        ways = " or ".join(filter(None, (wider.format(needed), complete)))
        notes.append(f"Not shown at this width: {', '.join(dropped)} (use {ways})")
    bold = _bold if color else list
    lines = bold(wrapped(printable(table.title), width))
    if table.rows:
        lines += bold(_side_by_side(columns, widths, [column.title for column in columns], low=True))
        lines.append("─" * (sum(widths) + _GAP * (len(widths) - 1)))
    for heading, block in groupby(zip(table.rows, rows, strict=True), lambda pair: _heading(table, pair[0])):
        if heading is not None:
            lines += bold(wrapped(printable(heading), width))
        lines += [line for _, texts in block for line in _side_by_side(columns, widths, texts)]
    lines += [line for note in notes for line in _wrapped(note, width)]
    return "\n".join(lines) + "\n"


def _bold(lines: Iterable[str]) -> list[str]:
    return [f"\x1b[1m{line}\x1b[0m" for line in lines]


def _wrapped(note: str, width: int) -> list[str]:
    """A note under the table, indented; what doesn't fit hangs below its first line."""
    indent = " " * (len(note) - len(note.lstrip(" ")) + 2)
    return wrapped(printable(note), width, first=indent, rest=indent + "  ")


def _heading(table: Table[Any], row: Any) -> str | None:
    return None if table.section is None else table.section(row)


def _side_by_side(
    columns: Sequence[Column[Any]], widths: Sequence[int], cells: Sequence[str], *, low: bool = False
) -> list[str]:
    """Cells of one row, each of one or more lines, in lines of the table.

    :param low: those of fewer lines stand low, as headings do.
    """
    # Not done by rich: its versions before 14.3 give the last column a blank more, and cut a figure off for it.
    split = [text.split("\n") for text in cells]
    height = max(map(len, split))
    filled = [[*[""] * (height - len(one)), *one] if low else [*one, *[""] * (height - len(one))] for one in split]
    gap = " " * _GAP
    right = [column.right for column in columns]
    return [gap.join(map(_justified, texts, widths, right)).rstrip() for texts in zip(*filled, strict=True)]


def _justified(text: str, width: int, right: bool) -> str:
    # rich takes a while to load, and CSV and JSON don't need it.
    from rich.cells import cell_len

    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


class _Cells:
    """The texts of a table's cells, and how wide they are, worked out once a column."""

    def __init__(self, table: Table[Any]) -> None:
        self.table = table
        self._texts: dict[Column[Any], list[str]] = {}
        self._widths: dict[Column[Any], int] = {}

    def texts(self, column: Column[Any]) -> list[str]:
        """Of a column, row by row."""
        if column not in self._texts:
            self._texts[column] = [_shown(column, row) for row in self.table.rows]
        return self._texts[column]

    def keys(self, column: Column[Any]) -> list[str]:
        """The same of the first column, indented below a heading."""
        indent = "" if self.table.section is None else "  "
        return [indent + text for text in self.texts(column)]

    def width(self, column: Column[Any]) -> int:
        """With the heading."""
        if column not in self._widths:
            self._widths[column] = _width(column, self.texts(column))
        return self._widths[column]

    def least_width(self, columns: Sequence[Column[Any]], *, squeezed: bool = False) -> int:
        """Of these columns side by side, with the first one's texts broken into lines."""
        first, *rest = columns
        keys = (
            _squeezed(text, _LEAST_KEY_WIDTH) if squeezed else broken(text, self.table.key_width)
            for text in self.keys(first)
        )
        widths = [_width(first, ("\n".join(lines) for lines in keys)), *map(self.width, rest)]
        return sum(widths) + _GAP * (len(widths) - 1)


def _width(column: Column[Any], texts: Iterable[str]) -> int:
    # Some characters take two columns of a terminal, others none.
    from rich.cells import cell_len

    return max(cell_len(line) for text in (column.title, *texts) for line in text.split("\n"))


def _fitting(cells: _Cells, width: int) -> tuple[list[Column[Any]], list[str], int]:
    """The displayed columns that fit, with the key broken into lines if need be; the titles of those that don't; and
    the width in which all would.
    """
    columns = cells.table.displayed()
    dropped: list[str] = []
    needed = cells.least_width(columns)
    if needed > width:
        columns = [replace(column, show=column.narrow) if column.narrow else column for column in columns]
        needed = cells.least_width(columns)
    while cells.least_width(columns) > width:
        last = max(columns[1:], key=lambda column: column.drop, default=columns[0])
        if last.drop == 0:
            break
        columns.remove(last)
        dropped.append(_on_one_line(last.title))
    while len(columns) > 1 and cells.least_width(columns, squeezed=True) > width:
        # A figure that is cut off reads as another one.
        dropped.append(_on_one_line(columns.pop().title))
    return columns, dropped, needed


def broken(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width``, broken before a ``-`` where it has one; later lines are indented."""
    return _filled(re.split("(?=-)", text), width)


def _squeezed(text: str, width: int) -> list[str]:
    """The same, broken before another mark where that is not enough, else anywhere: every line fits."""
    from rich.cells import cell_len, chop_cells

    if "\n" in text:
        return [piece for line in text.split("\n") for piece in _squeezed(line, width)]
    if cell_len(text) <= width:
        return [text]
    room = max(1, width - len(_INDENT))
    parts: list[str] = []
    for part in re.split("(?=-)", text):
        for piece in [part] if cell_len(part) <= room else re.split(r"(?=[_./,:\[ ])", part):
            parts += chop_cells(piece, room) if cell_len(piece) > room else [piece]
    return _filled(parts, width)


_INDENT = "  "


def _filled(parts: Iterable[str], width: int) -> list[str]:
    from rich.cells import cell_len

    lines: list[str] = []
    line: list[str] = []
    used = 0
    for part in parts:
        size = cell_len(part)
        if used and used + size > width:
            lines.append("".join(line))
            line, used = [_INDENT], len(_INDENT)
        line.append(part)
        used += size
    return [*lines, "".join(line)]


def _shown(column: Column[Any], row: Any) -> str:
    value = plain_value(column, row)
    return "-" if value is None else column.show(_escaped(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    return [_escaped(item) for item in value] if isinstance(value, list) else value
