"""Tables of commands that other packages add: they hand over plain rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from roofline.cli.output import emit
from roofline.cli.parameters import Output
from roofline.show.tables import Column, Table

Shown = Callable[[Any], str] | None
Heading = tuple[str, str, Shown] | tuple[str, str, Shown, int]
"""Name of a column (with the unit), its title, how a value is shown (None: a text, on the left), and, if it may give
way where space is short, how early: see `roofline.show.tables.Column`."""


_TERMINAL = Output()


def show(
    title: str,
    headings: Sequence[Heading],
    rows: Sequence[Mapping[str, Any]],
    *,
    notes: Sequence[str] = (),
    left: Collection[str] = (),
    undisplayed: Collection[str] = (),
    output: Output = _TERMINAL,
) -> None:
    """Print a table as every command does, or write it to ``output``.

    :param rows: plain JSON values by the columns' names; None or left out where there is none.
    :param left: names of columns that stand on the left though a function shows their values.
    :param undisplayed: names of columns that only CSV and JSON have.
    :raises click.UsageError: the file can't be written.
    """
    columns = [_column(*one, left=one[0] in left) for one in headings]
    display = [column for column in columns if column.name not in undisplayed]
    emit([Table(title=title, columns=columns, display=display, rows=rows, notes=notes)], output)


def _column(name: str, title: str, shown: Shown, drop: int = 0, *, left: bool = False) -> Column[Mapping[str, Any]]:
    return Column(
        name=name,
        title=title,
        get=lambda row: row.get(name),
        show=shown or str,
        right=shown is not None and not left,
        drop=drop,
    )
