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


def table_data(
    columns: Sequence[Column[Any]],
    rows: Sequence[Any],
    *,
    opens: Sequence[int | None] | None = None,
    sort_by: dict[str, Column[Any]] | None = None,
) -> Data:
    """Make a table without the columns in which no row has a value. Where ``values`` lacks, they are the texts.

    :param opens: the number of the case or machine that a row opens.
    :param sort_by: what has the value of a column whose own is a text, by the name of the column.
    """
    known = [column for column in columns if any(plain_value(column, row) is not None for row in rows)]
    by = sort_by or {}
    sources = [by.get(column.name, column) for column in known]
    texts = [[shown(column, row) for column in known] for row in rows]
    values = [[_value(source, row) for source in sources] for row in rows]
    made: Data = {
        "columns": [_column(column, source.name) for column, source in zip(known, sources, strict=True)],
        "shown": texts,
        **({"values": values} if values != texts else {}),
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
    return spreadsheet_text(value) if isinstance(value, str) else value
