"""``expected_bounds.toml``: reading it, finding the one that lies beside tests, and what a suite's ones hold.

Its form: ``[[expected]]`` tables with the keys of `roofline.schema.expected.FILE_KEYS`; ``case`` has to be there.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from roofline.files.decoding import ReadError, text_of
from roofline.schema.expected import FILE_KEYS, ExpectationError, Expected, expectation

NAME = "expected_bounds.toml"
TABLE = "expected"

HEADER = re.compile(rf"\s*\[\[\s*{TABLE}\s*\]\]")
"""The line that a table begins with."""

_ADVICE = "Give a TOML file of [[expected]] tables; `roofline lock` writes one."


class ExpectedFileError(Exception):
    """A file of expectations that can't be used. The message names file, line, key and value."""


def read(path: Path) -> tuple[Expected, ...]:
    """All expectations of a file, in its order.

    :raises ExpectedFileError: it can't be read, isn't TOML of the form, or a value is not allowed.
    """
    try:
        return parse(text_of(path, _ADVICE), str(path))
    except ReadError as error:
        raise ExpectedFileError(str(error)) from error


def parse(text: str, where: str) -> tuple[Expected, ...]:
    """The expectations in the text of a file.

    :param where: the file's name, for messages and as the source of each.
    :raises ExpectedFileError: not TOML of the form, or a value is not allowed.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExpectedFileError(f"{where}: not TOML ({error}). {_ADVICE}") from error
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or thousands of brackets, can be neither read nor shown.
        raise ExpectedFileError(f"{where}: TOML that can't be read ({error}). {_ADVICE}") from error
    tables = content.pop(TABLE, None)
    if content or not isinstance(tables, list) or not tables:
        found = ", ".join(sorted(content)) or "none"
        raise ExpectedFileError(f"{where}: expected [[{TABLE}]] tables and nothing else, found {found}. {_ADVICE}")
    # TOML knows no other end of a line: str.splitlines would cut a comment at U+2028, too.
    lines = [number for number, line in enumerate(text.split("\n"), 1) if HEADER.match(line)]
    if len(lines) != len(tables):  # written as an array of inline tables
        lines = [1] * len(tables)
    return tuple(_entry(table, f"{where}:{line}") for table, line in zip(tables, lines, strict=True))


def beside(tests: Iterable[str], root: Path) -> Path | None:
    """The file nearest above the tests: in the folder of one, or in a folder around it up to ``root``.

    :param tests: names as pytest has them, ``folder/test_file.py::test``, relative to ``root``.
    """
    for folder in dict.fromkeys(Path(test.partition("::")[0]).parent for test in tests):
        for place in (folder, *folder.parents):
            if (root / place / NAME).is_file():
                return root / place / NAME
    return None


def _entry(table: object, where: str) -> Expected:
    if not isinstance(table, Mapping):
        raise ExpectedFileError(f"{where}: expected a table, found {table!r}.")
    if "case" not in table:
        raise ExpectedFileError(f"{where}: no case; give the id of one, or a pattern such as 'resnet18-train-*'.")
    try:
        return expectation(table, FILE_KEYS, where)
    except ExpectationError as error:
        raise ExpectedFileError(f"{where}: {error}.") from error


@dataclass(frozen=True, slots=True)
class SuiteBounds:
    """What the suite's files expect of tests, by their full names: each file of those that it lies beside.

    ``root`` is the project's: messages name the files from there.
    """

    root: Path
    files: Mapping[str, tuple[Expected, ...]]

    def without_root(self, text: str) -> str:
        return text.replace(f"{self.root}{os.sep}", "")
