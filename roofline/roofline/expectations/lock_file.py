"""``expected_bounds.toml`` written: new expectations put into what stands there, the rest of it kept to the letter.

An entry of the same machine and exactly the same case is replaced where it stands; a new one comes at the end. So the
same sessions give the same file, and a pull request shows what changed. Machines may share a label: the fingerprint
tells them apart. An entry that has none is of any machine with its label, and stays.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from roofline.expectations.locking import Locked
from roofline.schema.expected import ANY, FLOORS, Expected
from roofline.schema.expected_file import HEADER, TABLE, ExpectedFileError, parse
from roofline.text.printable import printable

_WIDTH = 100

_HEAD = """# Expected bounds: what bounds each case, and how near to its limits it comes at least.
# `roofline lock FILE... -o` this file writes entries from good sessions: review what it changes.
# `roofline check FILE... --expect` this file, and `pytest --roofline-assert-bounds`, hold results against them.
"""


def text_of(locked: Sequence[Locked], before: str = "", where: str = "") -> str:
    """The file's new text.

    :param before: its text until now; empty where there is none.
    :param where: its name, for messages.
    :raises ExpectedFileError: what stands there can't be read, or not taken apart, or the new text couldn't be read.
    """
    head, blocks = _taken_apart(before, where) if before.strip() else (_HEAD, [])
    new = {_key(one.expected): _block(one) for one in locked}
    kept = [new.pop(key, text) for key, text in blocks]
    parts = (part.strip("\n") for part in (head, *kept, *new.values()))
    text = "\n\n".join(filter(None, parts)) + "\n"
    # A text that can't be read must never take the place of one that can.
    try:
        parse(text, where)
    except ExpectedFileError as error:
        raise ExpectedFileError(
            f"{where}: left as it was: with the new entries it couldn't be read any more ({error}). Lock into another"
            " file."
        ) from error
    return text


_Key = tuple[str, str, str]
"""Device, case and fingerprint."""


def _key(expected: Expected) -> _Key:
    return (expected.device, expected.case, expected.fingerprint)


def _taken_apart(text: str, where: str) -> tuple[str, list[tuple[_Key, str]]]:
    """Split off what stands before the first table from each table's text with the comment above it, under its key."""
    entries = parse(text, where)
    lines = text.split("\n")  # as the parser counts them: U+2028 ends no line of TOML
    starts = [number for number, line in enumerate(lines) if HEADER.match(line)]
    if len(starts) != len(entries):
        raise ExpectedFileError(
            f"{where}: can't be added to: not every entry begins with a line [[{TABLE}]]. Write them so, or lock into"
            " another file."
        )
    starts = [_with_comment(lines, start) for start in starts]
    ends = [*starts[1:], len(lines)]
    texts = ["\n".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
    keys = [_key(entry) for entry in entries]
    return "\n".join(lines[: starts[0]]), list(zip(keys, texts, strict=True))


def _with_comment(lines: Sequence[str], header: int) -> int:
    while header > 0 and lines[header - 1].lstrip().startswith("#"):
        header -= 1
    return header


def _block(locked: Locked) -> str:
    comment = [line for part in locked.evidence for line in _wrapped(part)]
    return "\n".join([*comment, f"[[{TABLE}]]", *_keys(locked.expected)])


def _wrapped(text: str) -> list[str]:
    # A name in a result may hold a line break, which would end the comment, or U+007F, which TOML has in none.
    return textwrap.wrap(
        printable(" ".join(text.split())), _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False
    )


def _keys(expected: Expected) -> list[str]:
    named = [(key, value) for key in _OF if (value := getattr(expected, key)) != ANY]
    lines = [f"{key} = {_quoted(value)}" for key, value in named]
    lines += [] if expected.bound is None else [f"bound = {_quoted(expected.bound)}"]
    floors = [(key, getattr(expected, key)) for key in FLOORS]
    lines += [f"{key} = {floor!r}" for key, floor in floors if floor is not None]
    if expected.roofs:
        values = ", ".join(f"{_quoted(name)} = {value!r}" for name, value in expected.roofs)
        lines += [f"roofs = {{ {values} }}", f"roofs_source = {_quoted(expected.roofs_source)}"]
    return lines


_OF = ("device", "fingerprint", "case", "workload_hash")
"""What an entry is of. ``*`` is what a key that isn't there stands for."""


def _quoted(text: str) -> str:
    """Write a TOML basic string: JSON's, in which what can't be seen is escaped. TOML refuses U+007F as it is, and a
    reader would miss the others.
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in quoted)
