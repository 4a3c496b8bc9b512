"""Text in the columns of a terminal, where some characters take two and others none."""

from __future__ import annotations

import re


def wrapped(text: str, width: int, *, first: str = "", rest: str = "", break_words: bool = True) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken at blanks; none for a text of blanks.

    :param first: what the first line begins with, such as an indent.
    :param rest: what the others begin with.
    :param break_words: break a word that takes more than a line anywhere. Else it stays whole and its line is too
        long: a path can still be copied.
    """
    # rich takes a while to load, and most texts of a command are never wrapped.
    from rich.cells import cell_len, chop_cells

    lines: list[str] = []
    line, started = first, False
    room = max(2, width - max(cell_len(first), cell_len(rest)))  # no character takes more than two
    for blanks, word in _WORDS.findall(text):
        if started and cell_len(line) + len(blanks) + cell_len(word) <= width:
            line += blanks + word
            continue
        if started:
            lines.append(line)
            line = rest
        *whole, last = chop_cells(word, room) if break_words and cell_len(word) > room else [word]
        for piece in whole:
            lines.append(line + piece)
            line = rest
        line += last
        started = True
    return [*lines, line] if started else lines


_WORDS = re.compile("( *)([^ ]+)")


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
