"""Text in the columns of a terminal, where some characters take two and others none."""

from __future__ import annotations


def wrapped(text: str, width: int, *, indent: str = "", break_words: bool = True) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken at blanks, or anywhere in a word that takes more than one;
    none for a text of blanks. Later lines stand two columns further in than the ``indent`` of the first.

    :param break_words: else a long word stays whole and its line is too long: a path can still be copied.
    """
    # rich takes a while to load, and most texts of a command are never wrapped.
    from rich.console import Console
    from rich.text import Text

    hanging = f"{indent}  "
    room = max(2, width - len(hanging))  # no character takes more than two
    whole = Text(text.strip(" "), overflow="fold" if break_words else "ignore")
    lines = [line.plain.rstrip(" ") for line in whole.wrap(Console(), room)]
    return [f"{hanging if index else indent}{line}" for index, line in enumerate(lines)] if any(lines) else []


def cut(text: str, width: int, last: int = 0) -> str:
    """``text`` in at most ``width`` columns; ``…`` stands for what doesn't fit.

    :param last: columns of its end that are kept, by which long names may differ.

    >>> cut("aten::convolution_backward", 12)
    'aten::convo…'
    >>> cut("triton_red_fused_convolution_backward_17", 24, last=9)
    'triton_red_fus…ckward_17'
    """
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    return f"{_begin_of(text, width - last - 1)}…{_begin_of(text[::-1], last)[::-1]}"


def _begin_of(text: str, width: int) -> str:
    """As many of its first characters as take at most ``width`` columns."""
    from rich.cells import cell_len, set_cell_size

    # What is in the place of half a wide character is a blank.
    return text if cell_len(text) <= width else set_cell_size(text, width).rstrip(" ")
