"""What a terminal would obey is shown, not sent."""

from __future__ import annotations

import pytest

from roofline.printable import printable, printable_lines


@pytest.mark.parametrize("text", ["", "ampere_sgemm_128x64_tn", "Faltung größer als 3", "核 #1", "a b"])
def test_what_a_terminal_shows_stays(text: str) -> None:
    """Letters of any script, marks and blanks are as they were."""
    assert printable(text) == text


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


def test_of_several_lines_the_breaks_stay() -> None:
    """And nothing else that isn't shown; other marks that end a line for some programs are no line breaks of ours."""
    assert printable_lines("one\ttwo\n\n three\x1b\u2028\r\n") == "one\\ttwo\n\n three\\x1b\\u2028\\r\n"
