"""Text from elsewhere, names of kernels and of files among it, escaped for what shows it: terminal, Markdown, CSV."""

from __future__ import annotations

import re


def printable(text: str) -> str:
    """The text with escapes in place of what a terminal would obey or not show, such as ESC: ``\\x1b``.

    A line break is escaped, too.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def markdown_text(text: str) -> str:
    """The text, made printable, as Markdown that shows it letter by letter.

    HTML, links, images, code, emphasis, mentions and addresses in it stay text, and so does what begins a list or a
    heading.
    """
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    text = _MARKED.sub(r"\\\g<0>", text)
    # A backslash stops neither a mention nor an address: a space without width in it does.
    return _LINKED.sub(r"\g<0>&#8203;", text)


_MARKED = re.compile(
    r"""
    [\\`*\[\]|~$]
    | (?<![A-Za-z0-9])_ | _(?![A-Za-z0-9])  # between letters, as in amp_bf16, it marks nothing
    | ^[\#>]
    | (?:^[-+] | (?<=^\d)[.)] | (?<=^\d\d)[.)]) (?=\s)
    """,
    re.VERBOSE,
)
_LINKED = re.compile(r"@|:(?=//)|www(?=\.)", re.IGNORECASE)


def spreadsheet_text(text: str) -> str:
    """The text, made printable, as a cell that no spreadsheet takes for a formula: ``'=1+1`` for ``=1+1``.

    A number in a text stays as it is.
    """
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and not _NUMBER.fullmatch(text) else text


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
