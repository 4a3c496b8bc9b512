"""The parts of a result as JSON and back: written by `to_json` alone, read by `from_json` and `decode`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from roofline.schema.record import SCHEMA, Record
from roofline.schema.session import Machine, Session

Part = TypeVar("Part", Record, Machine, Session)


class RecordError(ValueError):
    """A part of a file that is not what this version reads. The message names the key."""


_NOT_FINITE = "not a finite number"


def to_json(part: Record | Machine | Session) -> dict[str, Any]:
    """Plain JSON values of a part: no tuple, no NaN.

    A non-finite number is written as null and its path added to ``missing`` (``notes`` in a session): strict JSON has
    no NaN.
    """
    dropped: list[str] = []
    clean: dict[str, Any] = strict(msgspec.to_builtins(part), dropped)
    for path in dropped:
        if "missing" in clean:
            clean["missing"].setdefault(path, _NOT_FINITE)
        else:
            clean["notes"].append(f"{path}: {_NOT_FINITE}")
    return clean


def from_json(kind: type[Part], value: object, where: str) -> Part:
    """Read a part back from its JSON values. Null where a number is required is NaN: what uses it checks it.

    :param where: file and benchmark, for the message.
    :raises RecordError: not a mapping, a newer schema, or a field that is missing or of a wrong type.
    """
    if not isinstance(value, Mapping):
        raise RecordError(f"{where}: expected a JSON object, found {type(value).__name__}")
    _check_schema(value.get("schema", SCHEMA), where)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return _with_nan(kind, strict(value), where)


def decode(kind: type[Part], content: bytes | msgspec.Raw, where: str) -> Part:
    """Read a part back from its JSON text, as `from_json` does, and much more quickly.

    :param where: file and benchmark, for the message.
    :raises RecordError: as of `from_json`.
    """
    try:
        try:
            part: Part = _DECODERS[kind].decode(content)
        except msgspec.ValidationError:
            return from_json(kind, msgspec.json.decode(content), where)
    except (msgspec.ValidationError, RecursionError) as error:
        raise RecordError(f"{where}: {error}") from error
    _check_schema(part.schema, where)
    return part


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Record, Machine, Session)
}
"""To make one takes as long as to read a small record."""

_FAULT = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
"""How msgspec says what is wrong, and where: ``.timing.rounds.wall_s[3]``, with ``[...]`` for any key of a mapping."""
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def _with_nan(kind: type[Part], value: dict[str, Any], where: str) -> Part:
    """Read a part with NaN for each null that stands where a number is required.

    `to_json` writes a required number that is not finite as null. Read so, the rest of the row is usable.
    """
    while True:
        try:
            return msgspec.convert(value, kind)
        except RecursionError as error:
            raise RecordError(f"{where}: {error}") from error
        except msgspec.ValidationError as error:
            found = _FAULT.fullmatch(str(error))
            what, path = (str(error), "") if found is None else (found["what"], found["path"] or "")
            if what != "Expected `float`, got `null`" or not path:
                raise RecordError(f"{where}: roofline{path}: {what.replace('`', '')}") from error
            _put_nan(value, [name or index for name, index in _STEP.findall(path)])


def _put_nan(value: Any, path: list[str]) -> None:
    """Replace the null at the end of a path, and those of the other items of each list and mapping on the way: all of
    one type, each would be found by itself after that.
    """
    step, *rest = path
    if isinstance(value, list):
        keys: list[Any] = [*range(len(value))]
    elif isinstance(value, dict):
        keys = [key for key in value if step in (key, "...")]
    else:
        keys = []
    for key in keys:
        if rest:
            _put_nan(value[key], rest)
        elif value[key] is None:
            value[key] = math.nan


def _check_schema(schema: object, where: str) -> None:
    if not isinstance(schema, int) or isinstance(schema, bool) or not 1 <= schema <= SCHEMA:
        raise RecordError(f"{where}: schema is {schema!r}; this version reads 1 to {SCHEMA}. Upgrade pytest-roofline.")


_PLAIN = frozenset({int, bool, type(None)})
"""Types of most values: to ask each whether it is a Mapping takes long."""


def strict(value: Any, dropped: list[str] | None = None, path: str = "") -> Any:
    """Make JSON values strict: null for every number that isn't finite, half surrogates spelled out (``\\ud800``).

    :param dropped: the paths of such numbers are added to it.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if dropped is not None:
            dropped.append(path)
        return None
    if isinstance(value, Mapping):
        return {key: strict(item, dropped, f"{path}.{key}".lstrip(".")) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item, dropped, f"{path}[{index}]") for index, item in enumerate(value)]
    return value
