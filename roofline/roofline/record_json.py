"""The parts of `roofline.record` as JSON values and back: written by `to_json` alone, read by `from_json` alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from roofline.record import SCHEMA, Machine, Record, Session

Part = TypeVar("Part", Record, Machine, Session)


class RecordError(ValueError):
    """A part of a file that is not what this version reads. The message names the key."""


def to_json(part: Record | Machine | Session) -> dict[str, Any]:
    """Plain JSON values of a part: no tuple, no NaN.

    A non-finite number is written as null and its path added to ``missing`` (``notes`` in a session): strict JSON has
    no NaN.
    """
    raw = _converter().unstructure(part)
    dropped: list[str] = []
    clean: dict[str, Any] = without_nonfinite(raw, dropped)
    for path in dropped:
        if "missing" in clean:
            clean["missing"].setdefault(path, "not a finite number")
        else:
            clean["notes"].append(f"{path}: not a finite number")
    return clean


def from_json(kind: type[Part], value: object, where: str) -> Part:
    """Read a part back. Null where a number is required is NaN: what uses it must check, and say so.

    :param where: file and benchmark, for the message.
    :raises RecordError: not a mapping, a newer schema, or a field that is missing or of a wrong type.
    """
    from cattrs import transform_error
    from cattrs.errors import BaseValidationError

    if not isinstance(value, Mapping):
        raise RecordError(f"{where}: expected a JSON object, found {type(value).__name__}")
    schema = value.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or not 1 <= schema <= SCHEMA:
        raise RecordError(f"{where}: schema is {schema!r}; this version reads 1 to {SCHEMA}. Upgrade pytest-roofline.")
    try:
        part: Part = _converter().structure(value, kind)
    except BaseValidationError as error:
        raise RecordError(f"{where}: " + "; ".join(transform_error(error, path="roofline"))) from error
    return part


LARGEST_WHOLE = 2**63 - 1
"""No count, size or time of a step is larger; what is would overflow where numbers are drawn or divided."""


@cache
def _converter() -> Any:
    # Imported where a record is read or written, not before: the plugin must not slow other projects' pytest.
    from cattrs import Converter

    def number(value: object, _: type) -> float:
        if value is None:
            # `to_json` writes a required number that is not finite as null. Read so, the rest of the row is usable.
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"expected a number, found {value!r}")
        return float(value)

    def whole(value: object, _: type) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"expected a whole number, found {value!r}")
        if abs(value) > LARGEST_WHOLE:
            raise ValueError(f"expected a whole number of at most 64 bits, found one of {value.bit_length()} bits")
        return value

    def truth(value: object, _: type) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"expected true or false, found {value!r}")
        return value

    def text(value: object, _: type) -> str:
        if not isinstance(value, str):
            raise TypeError(f"expected text, found {value!r}")
        return value

    converter = Converter(unstruct_collection_overrides={tuple: list})
    converter.register_structure_hook(float, number)
    converter.register_structure_hook(int, whole)
    converter.register_structure_hook(bool, truth)
    converter.register_structure_hook(str, text)
    return converter


def without_nonfinite(value: Any, dropped: list[str] | None = None, path: str = "") -> Any:
    """``value`` with null for every number that is not finite; their paths are added to ``dropped``."""
    if isinstance(value, float) and not math.isfinite(value):
        if dropped is not None:
            dropped.append(path)
        return None
    if isinstance(value, Mapping):
        return {key: without_nonfinite(item, dropped, f"{path}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nonfinite(item, dropped, f"{path}[{index}]") for index, item in enumerate(value)]
    return value
