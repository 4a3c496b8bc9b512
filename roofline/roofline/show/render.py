"""A table as text: for a terminal, as Markdown, CSV or JSON.

Names of cases, files, machines and kernels come from elsewhere. Here, in one place for all tables, what a terminal
would obey in them is escaped (`printable`), line breaks included: none can look like a row of its own.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from roofline.show.export import csv_of, json_of
from roofline.show.tables import Column, Format, Table, plain_value
from roofline.text.printable import markdown_text, printable
from roofline.text.units import some_of
from roofline.text.wrapping import wrapped

if TYPE_CHECKING:
    import rich.table

_LEAST_KEY_WIDTH = 8

_LEAST_FILL = 24
"""Characters of a column that fills the width, at least."""

_MOST_DROPPED = 20
"""Columns without room that are named."""

_GAP = 2
"""Blanks between two columns."""

_INDENT = "  "

_COMMAND = re.compile(r"(?:(?<=: )|(?<= or ))roofline [a-z]+ .+")
"""At the end of a note."""


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
    notes = table.notes
    if table.section is not None:
        columns.insert(0, Column(name="section", title=table.section_title, get=table.section, right=False))
    lines = [
        "| " + " | ".join(cell(one_line(column.title)) for column in columns) + " |",
        "|" + "|".join(" ---: " if column.right else " --- " for column in columns) + "|",
    ]
    lines += ["| " + " | ".join(cell(shown(column, row)) for column in columns) + " |" for row in table.rows]
    items = ["", *map(_item, notes)] if notes else []
    return "\n".join([f"**{markdown_text(table.title)}**", "", *lines, *items]) + "\n"


def one_line(title: str) -> str:
    """A heading of several lines: ``FLOP/byte``, ``samples/s``, ``% of roof``; ``compute`` of ``com-`` and ``pute``."""
    return title.replace("/\n", "/").replace("\n/", "/").replace("-\n", "").replace("\n", " ")


def _item(note: str) -> str:
    """A note as an item of a list; an indented one is an item below the one before it."""
    text = markdown_text(note.strip())
    return f"  - {text}" if note.startswith(" ") else f"- {text}"


def cell(text: str) -> str:
    """A text in a cell of Markdown: on one line, without what would end the cell or mark anything."""
    return markdown_text(text.replace("\n", " "))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """A column with the texts of its cells, row by row, and the width of the terminal that it takes."""

    column: Column[Any]
    texts: Sequence[str]
    width: int

    @classmethod
    def of(cls, column: Column[Any], texts: Sequence[str]) -> _Cells:
        return cls(column, texts, _width_of((column.title, *texts)))


def _terminal(table: Table[Any], width: int, *, color: bool, complete: str, wider: str) -> str:
    # rich takes a while to load, and what is written for programs needs none.
    from rich.console import Console
    from rich.text import Text

    cells, dropped, needed = _fitted(table, width)
    # A note that begins with a column's heading explains that column.
    notes = [note for note in table.notes if note.partition(":")[0].lower() not in dropped]
    if dropped and table.rows:
        ways = " or ".join(filter(None, (wider.format(needed), complete)))
        named = some_of(dropped, _MOST_DROPPED)
        notes.append(f"Columns not shown at this width: {named}. Use {ways}")
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,  # else a notebook shows the table instead of our caller
        legacy_windows=False,
    )
    console.print(Text(printable(table.title), style="bold"))
    if table.rows:
        console.print(_grid(cells, [], heading=True))
    rows = zip(table.rows, zip(*(one.texts for one in cells), strict=True), strict=True)
    for heading, block in groupby(rows, lambda row: None if table.section is None else table.section(row[0])):
        if heading is not None:
            console.print(Text(printable(heading), style="bold"))
        console.print(_grid(cells, [texts for _, texts in block], heading=False))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    for note in notes:
        lines += _note_lines(note, width)
    return "\n".join(lines) + "\n"


def _note_lines(note: str, width: int) -> list[str]:
    """A note in lines of ``width``. A command at its end has a line of its own and stays whole: it can be copied."""
    indent = " " * (len(note) - len(note.lstrip(" ")) + 2)
    text = printable(note.strip())
    command = _COMMAND.search(text)
    if command is None:
        return wrapped(text, width, indent=indent)
    return [*wrapped(text[: command.start()], width, indent=indent), f"{indent}  {command[0]}"]


def _grid(cells: Sequence[_Cells], rows: Iterable[Sequence[str]], *, heading: bool) -> rich.table.Table:
    """Rows as a table of rich, which has no headings between rows: each block is one, with the widths of the others."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid
    from rich.text import Text

    # The box has one blank between columns.
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_header=heading)
    for one in cells:
        grid.add_column(
            Text(one.column.title, "bold"),
            width=one.width,
            justify="right" if one.column.right else "left",
            overflow="fold",
            no_wrap=one is not cells[0] and not one.column.fill,
        )
    for texts in rows:
        grid.add_row(*map(Text, texts))
    return grid


def _fitted(table: Table[Any], width: int) -> tuple[list[_Cells], list[str], int]:
    """The displayed columns that fit, with the key broken into lines if need be; the titles of those that don't; and
    the width in which all would.
    """
    wide = table.displayed()
    for columns in (wide, [replace(one, show=one.narrow or one.show) for one in wide]):
        key, rest = _cells_of(table, columns, width)
        least = _broken(key, table.key_width).width
        needed = least + _beside(rest)
        if needed <= width:
            break
    dropped: list[_Cells] = []
    while rest and least + _beside(rest) > width and (last := max(rest, key=lambda one: one.column.drop)).column.drop:
        rest.remove(last)
        dropped.append(last)
    while rest and min(least, _LEAST_KEY_WIDTH) + _beside(rest) > width:
        # A figure that is cut off reads as another one.
        dropped.append(rest.pop())
    room = width - _beside(rest)
    key = _broken(key, room, anywhere=True)
    return (
        [replace(key, width=min(key.width, room)), *rest],
        [one_line(one.column.title) for one in dropped],
        needed,
    )


def _cells_of(table: Table[Any], columns: Sequence[Column[Any]], width: int) -> tuple[_Cells, list[_Cells]]:
    """Those of the key, indented below a heading, and those of the other columns."""
    indent = "" if table.section is None else "  "
    key, *rest = [_Cells.of(column, [shown(column, row) for row in table.rows]) for column in columns]
    key = _Cells.of(key.column, [indent + text for text in key.texts])
    room = max(_LEAST_FILL, width - key.width - _beside(one for one in rest if not one.column.fill) - _GAP)
    return key, [replace(one, width=min(one.width, room)) if one.column.fill else one for one in rest]


def _broken(key: _Cells, width: int, *, anywhere: bool = False) -> _Cells:
    """The key in lines of ``width``, broken where its parts meet; later lines are indented.

    :param anywhere: break a part that is longer, too.
    """
    lines = _KeyLines(width=max(width, len(_INDENT) + 1), subsequent_indent=_INDENT, break_long_words=anywhere)

    def broken(line: str) -> str:
        lines.initial_indent = " " * (len(line) - len(line.lstrip(" ")))
        return line if _width_of([line]) <= width else lines.fill(line.strip())

    return _Cells.of(key.column, ["\n".join(map(broken, text.split("\n"))) for text in key.texts])


class _KeyLines(textwrap.TextWrapper):
    """Breaks the name of a case before ``-`` and ``[`` and after ``::``."""

    wordsep_re = re.compile(r"(?=-)|(?<=::)|(?=\[)")


def _beside(rest: Iterable[_Cells]) -> int:
    """The width of all columns but the key."""
    return sum(_GAP + one.width for one in rest)


def _width_of(texts: Iterable[str]) -> int:
    # Some characters take two columns of a terminal, others none.
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def shown(column: Column[Any], row: Any) -> str:
    """The text of a cell; what a terminal would obey is escaped."""
    return text_of(column, plain_value(column, row))


def text_of(column: Column[Any], value: Any) -> str:
    """The text of a cell that has this plain value; what a terminal would obey is escaped."""
    return "-" if value is None else column.show(_escaped(value))


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    return [_escaped(item) for item in value] if isinstance(value, list) else value
