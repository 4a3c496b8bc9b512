"""Tables as plain dicts: of each cell the text that is shown, and the value that is sorted by and copied as CSV."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from roofline.show.export import flat
from roofline.show.render import one_line, text_of
from roofline.show.tables import Column, plain_value
from roofline.text.printable import spreadsheet_text

Data = dict[str, Any]
"""Plain JSON values."""

DIGITS = 6


def table_data(
    columns: Sequence[Column[Any]],
    rows: Sequence[Any],
    *,
    opens: Sequence[int | None] | None = None,
    sort_by: dict[str, Column[Any]] | None = None,
    extra: Collection[str] = (),
    ends: Sequence[Column[Any]] = (),
) -> Data:
    """Make a table without the columns in which no row has a value. ``values`` has those of each column by its
    place, where they aren't the texts.

    :param opens: the number of the case or machine that a row opens.
    :param sort_by: what has the value of a column whose own is a text, by the name of the column.
    :param extra: names of columns that are shown where all are asked for.
    :param ends: columns that are copied alone, such as the high ends of ranges.
    """
    heads: list[Data] = []
    texts: list[list[str]] = []
    values: Data = {}
    for column in columns:
        plain = [plain_value(column, row) for row in rows]
        if all(value is None for value in plain):
            continue
        source = (sort_by or {}).get(column.name, column)
        own = [_value(one) for one in plain] if source is column else _values(source, rows)
        texts.append([text_of(column, value) for value in plain])
        if own != texts[-1]:
            values[str(len(heads))] = own
        heads.append({**_column(column, source.name), **({"extra": True} if column.name in extra else {})})
    return {
        "columns": heads,
        "shown": [list(row) for row in zip(*texts, strict=True)],
        **({"values": values} if values else {}),
        **({"ends": [{"name": one.name, "values": _values(one, rows)} for one in ends]} if ends else {}),
        **({} if opens is None else {"opens": list(opens)}),
    }


def _column(column: Column[Any], name: str) -> Data:
    """Without a name where the title is the name, and without what is false or empty: each case has such tables."""
    title = one_line(column.title)
    return {
        "title": title,
        **({"name": name} if name != title else {}),
        **({"right": True} if column.right else {}),
        **({"meaning": column.meaning} if column.meaning else {}),
    }


def _values(column: Column[Any], rows: Sequence[Any]) -> list[Any]:
    return [_value(plain_value(column, row)) for row in rows]


def _value(plain: Any) -> Any:
    value = flat(plain)
    if isinstance(value, float):
        return rounded(value)
    return spreadsheet_text(value) if isinstance(value, str) else value


def rounded(value: float) -> float:
    """A number with as many digits as a chart or a spreadsheet has a use for."""
    return float(f"{value:.{DIGITS}g}")
