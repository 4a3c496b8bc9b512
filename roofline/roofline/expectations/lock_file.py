"""``expected_bounds.toml`` written: new expectations put into what stands there, the rest of it kept to the letter.

An entry of the same machine and exactly the same case is replaced where it stands; a new one comes at the end. So the
same sessions give the same file, and a pull request shows what changed.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from roofline.expectations.locking import Locked
from roofline.expected import FLOORS, Expected
from roofline.expected_file import HEADER, TABLE, ExpectedFileError, parse

_WIDTH = 100

_HEAD = """# Expected bounds: what bounds each case, and how near to its limits it comes at least.
# `roofline lock FILE... -o` this file writes entries from good sessions: review what it changes.
# `roofline check FILE... --expect` this file, and `pytest --assert-bounds`, hold results against them.
"""


def text_of(locked: Sequence[Locked], before: str = "", where: str = "") -> str:
    """The file's new text.

    :param before: its text until now; empty where there is none.
    :param where: its name, for messages.
    :raises ExpectedFileError: what stands there can't be read, or not taken apart.
    """
    head, blocks = _taken_apart(before, where) if before.strip() else (_HEAD, [])
    new = {(one.expected.device, one.expected.case): _block(one) for one in locked}
    kept = [(new.pop(key) if key in new else text) for key, text in blocks]
    parts = [head, *kept, *new.values()]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip("\n")) + "\n"


def _taken_apart(text: str, where: str) -> tuple[str, list[tuple[tuple[str, str], str]]]:
    """What stands before the first table, and each table's text with the comment right above it, under its key."""
    entries = parse(text, where)
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if HEADER.match(line)]
    if len(starts) != len(entries):
        raise ExpectedFileError(
            f"{where}: can't be added to: not every entry begins with a line [[{TABLE}]]. Write them so, or lock into"
            " another file."
        )
    starts = [_with_comment(lines, start) for start in starts]
    ends = [*starts[1:], len(lines)]
    texts = ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    keys = [(entry.device, entry.case) for entry in entries]
    return "\n".join(lines[: starts[0]]), list(zip(keys, texts, strict=True))


def _with_comment(lines: Sequence[str], header: int) -> int:
    while header > 0 and lines[header - 1].lstrip().startswith("#"):
        header -= 1
    return header


def _block(locked: Locked) -> str:
    comment = [line for part in locked.evidence for line in _wrapped(part)]
    return "\n".join([*comment, f"[[{TABLE}]]", *_keys(locked.expected)])


def _wrapped(text: str) -> list[str]:
    # A name in a result may hold a line break, which would end the comment.
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False
    )


def _keys(expected: Expected) -> list[str]:
    values = [("device", expected.device), ("case", expected.case), ("bound", expected.bound)]
    lines = [f"{key} = {_quoted(value)}" for key, value in values if value is not None]
    floors = [(key, getattr(expected, key)) for key in FLOORS]
    return lines + [f"{key} = {floor!r}" for key, floor in floors if floor is not None]


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are among its own."""
    return json.dumps(text, ensure_ascii=False)
