"""Text from elsewhere, names of kernels and of files among it, as a terminal may show it."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with escapes in place of what a terminal would obey or not show, such as ESC: ``\\x1b``.

    A line break is escaped, too.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines: its line breaks stay."""
    return "\n".join(map(printable, text.split("\n")))
