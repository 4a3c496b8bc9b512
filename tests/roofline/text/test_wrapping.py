"""Columns of a terminal are counted, not characters."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from roofline.text.wrapping import cut, wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("   ", []),
        ("one two", ["one two"]),
        ("one two three", ["one two", "three"]),
        ("one-two-three", ["one-two-t", "hree"]),
        ("1 one-two-three", ["1", "one-two-t", "hree"]),
        ("a  b         c", ["a  b", "c"]),
        ("核核核核 核", ["核核核核", "核"]),
        ("核核核核核核", ["核核核核", "核核"]),
    ],
)
def test_lines_of_nine_columns(text: str, lines: list[str]) -> None:
    """Broken at blanks, else anywhere; a character of two columns counts twice, a mark above another not at all."""
    assert [line.removeprefix("  ") for line in wrapped(text, 11)] == lines


@pytest.mark.parametrize("width", range(4, 40))
@pytest.mark.parametrize("text", ["the quick 茶色の brown 狐が犬を飛び越える fox", "日本語" * 20, "a" * 99, "é" * 50])
def test_nothing_is_wider_nothing_is_lost(text: str, width: int) -> None:
    """Whatever the text and the width."""
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("核核核", 6, "核核核"),
        ("核核核", 5, "核核…"),
        ("核核核", 4, "核…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
    ],
)
def test_cut(text: str, width: int, shown: str) -> None:
    """What fits stays as it is; else a mark says that something is missing."""
    assert cut(text, width) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("abcdefgh", "abcdefgh"),
        ("abcdefghi", "abcd…ghi"),
        ("ab核核核核x", "ab核…核x"),
    ],
)
def test_an_end_is_kept_where_it_tells_names_apart(text: str, shown: str) -> None:
    """Half a wide character is none, a mark stays with its letter."""
    assert cut(text, 8, last=3) == shown
