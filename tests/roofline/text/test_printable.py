"""What a terminal, Markdown or a spreadsheet would obey is shown."""

from __future__ import annotations

import pytest

from roofline.text.printable import markdown_text, printable, spreadsheet_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("red \x1b[31m", r"red \x1b[31m"),
        ("two\nlines\r", r"two\nlines\r"),
        ("\ttab", r"\ttab"),
        ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
        ("right to left \u202e", r"right to left \u202e"),
        ("no width\u200b", r"no width\u200b"),
        ("half a pair \ud800", r"half a pair \ud800"),
        ("private \U000f0000", r"private \U000f0000"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    """Controls, marks of direction, characters without a shape and half surrogate pairs are spelled out."""
    assert printable(text) == shown
    assert printable(text).isprintable()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("resnet50-train-b32-amp_bf16 1.5 % -2.0 49-131", "resnet50-train-b32-amp_bf16 1.5 % -2.0 49-131"),
        ("<img src=x>&amp;", "&lt;img src=x>&amp;amp;"),
        ("![a](b) [x]", r"!\[a\](b) \[x\]"),
        ("a|b `c` *d* _e_ __f__ ~~g~~ $h$ \\", r"a\|b \`c\` \*d\* \_e\_ \_\_f\_\_ \~\~g\~\~ \$h\$ \\"),
        ("@octocat", "@&#8203;octocat"),
        ("https://a.b WWW.c.d", "https:&#8203;//a.b WWW&#8203;.c.d"),
        ("# a", r"\# a"),
        ("> a", r"\> a"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("two\nlines", r"two\\nlines"),
    ],
)
def test_markdown_shows_the_text_letter_by_letter(text: str, escaped: str) -> None:
    """No HTML, link, image, code, mention, address or list comes of a name."""
    assert markdown_text(text) == escaped


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "-"])
def test_no_spreadsheet_takes_a_text_for_a_formula(text: str) -> None:
    """An apostrophe in front makes it text."""
    assert spreadsheet_text(text) == f"'{text}"
