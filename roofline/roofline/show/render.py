"""A table as text: for a terminal, as Markdown, CSV or JSON.

Names of cases, files, machines and kernels come from elsewhere. Here, in one place for all tables, what a terminal
would obey in them is escaped (`printable`), line breaks included: none can look like a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from roofline.show.export import csv_of, json_of
from roofline.show.tables import Column, Format, Table, plain_value
from roofline.text.printable import markdown_text, printable
from roofline.text.wrapping import broken, squeezed, wrapped

_LEAST_KEY_WIDTH = 8

_LEAST_FILL = 24
"""Characters of a column that fills the width, at least."""

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


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """A column with the texts of its cells, row by row; ``width`` is that of the widest, heading included."""

    column: Column[Any]
    texts: Sequence[str]
    width: int

    @classmethod
    def of(cls, column: Column[Any], texts: Sequence[str]) -> _Cells:
        return cls(column, texts, _width_of((column.title, *texts)))


def _terminal(table: Table[Any], width: int, *, color: bool, complete: str, wider: str) -> str:
    table = _filled(table, width)
    cells, dropped, needed = _fitted(table, width)
    notes = _noted(table, [one.column for one in cells])
    if dropped:
        ways = " or ".join(filter(None, (wider.format(needed), complete)))
        notes.append(f"Not shown at this width: {', '.join(dropped)} (use {ways})")
    bold = _bold if color else list
    lines = bold(wrapped(printable(table.title), width))
    if table.rows:
        lines += bold(_side_by_side(cells, [one.column.title for one in cells], low=True))
        lines.append("─" * (sum(one.width for one in cells) + _GAP * (len(cells) - 1)))
    rows = zip(table.rows, zip(*(one.texts for one in cells), strict=True), strict=True)
    for heading, block in groupby(rows, lambda row: None if table.section is None else table.section(row[0])):
        if heading is not None:
            lines += bold(wrapped(printable(heading), width))
        lines += [line for _, texts in block for line in _side_by_side(cells, texts)]
    for note in notes:
        indent = " " * (len(note) - len(note.lstrip(" ")) + 2)
        lines += wrapped(printable(note), width, first=indent, rest=indent + "  ")
    return "\n".join(lines) + "\n"


def _filled(table: Table[Any], width: int) -> Table[Any]:
    """Break the texts of a column that is to fill the width into lines that fit beside the others."""
    columns = table.displayed()
    if not any(one.fill for one in columns):
        return table
    key, others = _cells_of(table, [one for one in columns if not one.fill])
    room = max(_LEAST_FILL, width - key.width - _beside(others) - _GAP)

    def broken_lines(column: Column[Any]) -> Column[Any]:
        return replace(column, show=lambda value: "\n".join(wrapped(column.show(value), room)))

    return replace(table, display=[broken_lines(one) if one.fill else one for one in columns])


def _bold(lines: Iterable[str]) -> list[str]:
    return [f"\x1b[1m{line}\x1b[0m" for line in lines]


def _fitted(table: Table[Any], width: int) -> tuple[list[_Cells], list[str], int]:
    """The displayed columns that fit, with the key broken into lines if need be; the titles of those that don't; and
    the width in which all would.
    """
    columns = table.displayed()
    key, rest = _cells_of(table, columns)
    least = _width_of(line for text in key.texts for line in (key.column.title, *broken(text, table.key_width)))
    needed = least + _beside(rest)
    if needed > width:
        key, rest = _cells_of(table, [replace(one, show=one.narrow or one.show) for one in columns])
        least = _width_of(line for text in key.texts for line in (key.column.title, *broken(text, table.key_width)))
        needed = least + _beside(rest)
    dropped: list[_Cells] = []
    while rest and least + _beside(rest) > width and (last := max(rest, key=lambda one: one.column.drop)).column.drop:
        rest.remove(last)
        dropped.append(last)
    least = _width_of(line for text in key.texts for line in (key.column.title, *squeezed(text, _LEAST_KEY_WIDTH)))
    while rest and least + _beside(rest) > width:
        # A figure that is cut off reads as another one.
        dropped.append(rest.pop())
    room = width - _beside(rest)
    key = _Cells.of(key.column, ["\n".join(squeezed(text, room)) for text in key.texts])
    return [key, *rest], [_on_one_line(one.column.title) for one in dropped], needed


def _cells_of(table: Table[Any], columns: Sequence[Column[Any]]) -> tuple[_Cells, list[_Cells]]:
    """Those of the key, indented below a heading, and those of the other columns."""
    key, *rest = columns
    indent = "" if table.section is None else "  "
    return (
        _Cells.of(key, [indent + _shown(key, row) for row in table.rows]),
        [_Cells.of(column, [_shown(column, row) for row in table.rows]) for column in rest],
    )


def _beside(rest: Iterable[_Cells]) -> int:
    """The width of all columns but the key."""
    return sum(_GAP + one.width for one in rest)


def _width_of(texts: Iterable[str]) -> int:
    # Some characters take two columns of a terminal, others none.
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def _side_by_side(columns: Sequence[_Cells], cells: Sequence[str], *, low: bool = False) -> list[str]:
    """Cells of one row, each of one or more lines, in lines of the table.

    :param low: those of fewer lines stand low, as headings do.
    """
    # Not by rich's Table: it has no heading between rows, drops no column, and breaks no name at a dash, so that all
    # that would be left to it is this.
    from rich.cells import cell_len

    split = [text.split("\n") for text in cells]
    height = max(map(len, split))
    lines = []
    for index in range(height):
        line = ""
        for one, texts in zip(columns, split, strict=True):
            place = index - (height - len(texts)) if low else index
            text = texts[place] if 0 <= place < len(texts) else ""
            blanks = " " * (one.width - cell_len(text))
            line += (blanks + text if one.column.right else text + blanks) + " " * _GAP
        lines.append(line.rstrip())
    return lines


def _shown(column: Column[Any], row: Any) -> str:
    value = plain_value(column, row)
    return "-" if value is None else column.show(_escaped(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    return [_escaped(item) for item in value] if isinstance(value, list) else value
