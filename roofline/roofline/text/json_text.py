"""What the program shows as JSON: strict, and safe to show at a terminal."""

from __future__ import annotations

import json
from typing import Any


def json_text(document: Any) -> str:
    """``document`` as strict JSON that ends in a newline.

    Letters of any script stand as they are. What a terminal would obey or not show is escaped, which JSON leaves to the
    writer for all but the oldest control characters; whoever parses it gets the same text.

    :raises ValueError: a number in it is not finite.
    """
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n")) + "\n"


def _escaped(line: str) -> str:
    # Outside of its strings JSON has none of these characters.
    return "".join(one if one.isprintable() else _escape(one) for one in line)


def _escape(character: str) -> str:
    code = ord(character)
    # Beyond 16 bits JSON has a pair of escapes.
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(character)[1:-1]
