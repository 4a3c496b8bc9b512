"""Text in the columns of a terminal, where some characters take two and others none."""

from __future__ import annotations

import re
from collections.abc import Iterable


def wrapped(text: str, width: int, *, first: str = "", rest: str = "", break_words: bool = True) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken at blanks; none for a text of blanks.

    :param first: what the first line begins with, such as an indent.
    :param rest: what the others begin with.
    :param break_words: break a word that takes more than a line anywhere. Else it stays whole and its line is too
        long: a path can still be copied.
    """
    # rich takes a while to load, and most texts of a command are never wrapped.
    from rich.cells import cell_len, chop_cells

    room = max(2, width - max(len(first), len(rest)))  # no character takes more than two
    parts: list[str] = []
    for blanks, word in _WORDS.findall(text):
        pieces = chop_cells(word, room) if break_words and cell_len(word) > room else [word]
        parts += [blanks + pieces[0], *pieces[1:]]
    return _filled(parts, width, first, rest)


_WORDS = re.compile("( *)([^ ]+)")


def broken(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width``, broken before a ``-`` where it has one; later lines are indented."""
    return _filled(re.split("(?=-)", text), width, "", _INDENT) or [text]


def squeezed(text: str, width: int) -> list[str]:
    """Break as `broken` does, and before another mark where that is not enough, else anywhere: every line fits."""
    from rich.cells import cell_len, chop_cells

    if "\n" in text:
        return [piece for line in text.split("\n") for piece in squeezed(line, width)]
    if cell_len(text) <= width:
        return [text]
    room = max(1, width - len(_INDENT))
    parts: list[str] = []
    for part in re.split("(?=-)", text):
        for piece in [part] if cell_len(part) <= room else re.split(r"(?=[_./,:\[ ])", part):
            parts += chop_cells(piece, room) if cell_len(piece) > room else [piece]
    return _filled(parts, width, "", _INDENT)


_INDENT = "  "


def _filled(parts: Iterable[str], width: int, first: str, rest: str) -> list[str]:
    """Put parts side by side into lines; blanks before a part are left out where it begins a line.

    Each part is measured once: a name may have thousands.
    """
    from rich.cells import cell_len

    lines: list[str] = []
    line, used, begun = [first], len(first), False
    for part in parts:
        size = cell_len(part)
        if begun and used + size > width:
            lines.append("".join(line))
            line, used, begun = [rest], len(rest), False
        if not begun:
            blanks = len(part) - len(part.lstrip(" "))
            part, size = part[blanks:], size - blanks  # noqa: PLW2901 (as it is shown)
        begun = begun or bool(part)
        line.append(part)
        used += size
    return [*lines, "".join(line)] if begun else lines


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns; ``…`` stands for an end that doesn't fit.

    >>> cut("aten::convolution_backward", 12)
    'aten::convo…'
    """
    begin = begin_of(text, width)
    return text if begin == text else f"{begin_of(text, width - 1)}…"


def begin_of(text: str, width: int) -> str:
    """As many of its first characters as take at most ``width`` columns."""
    from rich.cells import cell_len

    end = 0
    while end < len(text) and cell_len(text[: end + 1]) <= width:
        end += 1
    return text[:end]
