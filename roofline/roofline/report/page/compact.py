"""The page's data without what its scripts can make: texts of a value and its unit. compact.js adds them again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from roofline.report.page.cells import DIGITS, Data
from roofline.text.units import percent_of, scaled, unit_of

_LEAST_DIGIT, _MOST_APART = -300, 9
"""Powers of ten that numbers have: those of the last digits, and how far they lie apart in whole numbers of 53 bits."""

_OFF_HALF = 1 + 1e-12
"""Takes a value that lies halfway between two texts off there, where Python rounds to even and JavaScript up."""


def compacted(content: Any) -> Any:
    """Make tables and readings of rounds shorter, at any depth.

    A table has ``texts`` in place of ``shown``: of each column by its place, with null for what is made of its value
    and unit, and without columns of nulls. A reading has its other texts by their places, and its values as whole
    numbers, how many of 10 to the power of ``digit`` each lies above ``middle``.
    """
    if isinstance(content, list):
        return [compacted(one) for one in content] if content and isinstance(content[0], (dict, list)) else content
    if not isinstance(content, dict):
        return content
    if "shown" in content and "columns" in content:
        return _table(content)
    if "shown" in content and "unit" in content:
        own = _own(content["shown"], content["values"], content["unit"])
        shown = {str(place): text for place, text in enumerate(own) if text is not None}
        return {**content, "shown": shown, **_wholes(content["values"])}
    return {name: compacted(part) for name, part in content.items()}


def _table(table: Data) -> Data:
    values, columns, texts = table.get("values", {}), [], {}
    for place, (column, shown) in enumerate(zip(table["columns"], zip(*table["shown"], strict=True), strict=False)):
        unit = unit_of(column.get("name", column["title"]))
        own = _own(shown, values[str(place)], unit) if unit and str(place) in values else list(shown)
        made = any(text is None for text in own)
        columns.append({**column, "unit": unit} if made else column)
        if not made or any(text is not None for text in own):
            texts[str(place)] = own
    others = {name: part for name, part in table.items() if name != "shown"}
    return {**others, "columns": columns or table["columns"], "texts": texts}


def _wholes(values: Sequence[float | None]) -> Data:
    """The values as whole numbers; nothing where one of them wouldn't come back as it is."""
    known = [value for value in values if value is not None]
    ends = [int(f"{value:.{DIGITS - 1}e}".partition("e")[2]) - DIGITS + 1 for value in known if value]
    if not ends or min(ends) < _LEAST_DIGIT or max(ends) - min(ends) > _MOST_APART:
        return {}
    digit = min(ends)
    wholes = [round(value * 10.0**-digit) for value in known]
    if any(float(f"{whole}e{digit}") != value for whole, value in zip(wholes, known, strict=True)):
        return {}
    middle = statistics.median_low(wholes)
    rest = iter(wholes)
    return {
        "middle": middle,
        "digit": digit,
        "values": [None if value is None else next(rest) - middle for value in values],
    }


def _own(texts: Sequence[str], values: Sequence[Any], unit: str) -> list[str | None]:
    """The texts, with None for those that the page makes."""
    return [None if text == _made(value, unit) else text for text, value in zip(texts, values, strict=True)]


def _made(value: Any, unit: str) -> str | None:
    """The text of a value as the page makes it."""
    if value is None:
        return "-"
    if not isinstance(value, (int, float)):
        return None
    return percent_of(value * _OFF_HALF) if unit == "1" else scaled(value * _OFF_HALF, unit)
