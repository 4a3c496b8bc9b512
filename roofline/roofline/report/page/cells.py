"""Tables as plain dicts: of each cell the text that is shown, and the value that is sorted by and copied as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roofline.show.columns import MEANINGS
from roofline.show.export import flat
from roofline.show.render import one_line, shown
from roofline.show.tables import Column, plain_value
from roofline.text.printable import spreadsheet_text

Data = dict[str, Any]
"""Plain JSON values."""

_DIGITS = 6


def table_data(
    columns: Sequence[Column[Any]],
    rows: Sequence[Any],
    *,
    opens: Sequence[int | None] | None = None,
    sort_by: dict[str, Column[Any]] | None = None,
) -> Data:
    """Make a table without the columns in which no row has a value. ``values`` has those of each column by its
    place, where they aren't the texts.

    :param opens: the number of the case or machine that a row opens.
    :param sort_by: what has the value of a column whose own is a text, by the name of the column.
    """
    known = [column for column in columns if any(plain_value(column, row) is not None for row in rows)]
    by = sort_by or {}
    sources = [by.get(column.name, column) for column in known]
    texts = [[shown(column, row) for column in known] for row in rows]
    values = {str(place): [_value(source, row) for row in rows] for place, source in enumerate(sources)}
    differing = {place: column for place, column in values.items() if column != [row[int(place)] for row in texts]}
    made: Data = {
        "columns": [_column(column, source.name) for column, source in zip(known, sources, strict=True)],
        "shown": texts,
        **({"values": differing} if differing else {}),
    }
    return made if opens is None else {**made, "opens": list(opens)}


def _column(column: Column[Any], name: str) -> Data:
    """Without a name where the title is the name, and without what is false or empty: each case has such tables."""
    title, meaning = one_line(column.title), MEANINGS.get(column.name)
    return {
        "title": title,
        **({"name": name} if name != title else {}),
        **({"right": True} if column.right else {}),
        **({"meaning": meaning} if meaning else {}),
    }


def _value(column: Column[Any], row: Any) -> Any:
    value = flat(plain_value(column, row))
    if isinstance(value, float):
        return rounded(value)
    return spreadsheet_text(value) if isinstance(value, str) else value


def rounded(value: float) -> float:
    """A number with as many digits as a chart or a spreadsheet has a use for."""
    return float(f"{value:.{_DIGITS}g}")
