"""TOML files that hold lists of tables, with the line of every key: an error can say where it is."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = r"""["']?([A-Za-z0-9_.-]+)["']?"""
_HEADER = re.compile(rf"\s*\[\[\s*{_NAME}\s*\]\]")
_KEY = re.compile(rf"\s*{_NAME}\s*=")
_LONG_NUMBER = re.compile(r"[0-9_]{640,}")  # no setting of Python's limit is lower


class TomlError(ValueError):
    """A file that isn't TOML, or isn't lists of tables. Reads ``path:line: message``."""


@dataclass(frozen=True, slots=True)
class Table:
    """One ``[[name]]`` table: its values, and where it and its keys stand."""

    values: Mapping[str, Any]
    path: str
    line: int
    lines: Mapping[str, int]

    def where(self, key: str | None = None) -> str:
        """``path:line`` of the key, or of the table's header."""
        return f"{self.path}:{self.line if key is None else self.lines.get(key, self.line)}"


def read(path: Path) -> dict[str, list[Table]]:
    """The lists of tables of a file, by name.

    :raises TomlError: not TOML, or something else than ``[[name]]`` tables in it.
    :raises OSError: it can't be read.
    """
    shown = str(path) if not path.is_absolute() else os.path.relpath(path)
    if not stat.S_ISREG(path.stat().st_mode):
        # A pipe or a device might never end.
        raise TomlError(f"{shown}: can't be read (no regular file); give a TOML file")
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors on Windows begin a file with a byte order mark
    except UnicodeDecodeError as error:
        raise TomlError(f"{shown}:1: not UTF-8 text (byte {error.start})") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{shown}:{_error_line(error, text)}: {_bare(error)}") from error
    except ValueError as error:  # Python converts no number of thousands of digits
        long = next((n for n, line in enumerate(text.splitlines(), start=1) if _LONG_NUMBER.search(line)), 1)
        raise TomlError(f"{shown}:{long}: a number of too many digits") from error
    except RecursionError as error:
        raise TomlError(f"{shown}:1: lists or tables are nested too deeply") from error
    positions = _positions(text)
    tables = {}
    for name, value in values.items():
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value) or not value:
            raise TomlError(
                f"{shown}:{_line_of(name, text)}: {name!r} is not a list of tables; begin each with [[{name}]]"
            )
        found = [*positions.get(name, []), *[(1, {})] * len(value)]
        tables[name] = [Table(item, shown, *place) for item, place in zip(value, found, strict=False)]
    if not tables:
        raise TomlError(f"{shown}:1: holds no table; begin each with [[NAME]]")
    return tables


def _positions(text: str) -> dict[str, list[tuple[int, dict[str, int]]]]:
    """For every table of a name the line of its header and those of its keys."""
    positions: dict[str, list[tuple[int, dict[str, int]]]] = {}
    keys: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            keys = {}
            positions.setdefault(header[1], []).append((number, keys))
        elif key := _KEY.match(line):
            keys.setdefault(key[1], number)
    return positions


def _line_of(name: str, text: str) -> int:
    """The first line that begins with the name, as a key or as a table's header."""
    begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}\b""")
    return next((number for number, line in enumerate(text.splitlines(), start=1) if begins.match(line)), 1)


def _error_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """tomllib tells the line in its message (and, from Python 3.14, as an attribute)."""
    found = re.search(r"\(at line (\d+),", str(error))
    return int(found[1]) if found else max(1, len(text.splitlines()))


def _bare(error: tomllib.TOMLDecodeError) -> str:
    return re.sub(r" \(at [^)]*\)$", "", str(error))
