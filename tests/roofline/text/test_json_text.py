"""JSON that is strict, and that a terminal may show."""

from __future__ import annotations

import json

import pytest

from roofline.text.json_text import json_text


def test_what_a_terminal_would_obey_is_escaped_and_parses_to_the_same() -> None:
    """Controls, marks of direction and what lies beyond 16 bits, in keys and in values; letters stay as they are."""
    document = {"k\x1b\x7f\x9b": ["\u202e", "\U000e0001", "two\nlines\ttab", "größer 核 😀"], "n": [1.5, None, True]}
    text = json_text(document)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == document
    for shown in (r"k\u001b\u007f\u009b", r"\u202e", r"\udb40\udc01", r"two\nlines\ttab", "größer 核 😀"):
        assert shown in text


def test_it_is_indented_and_ends_in_a_newline() -> None:
    """People read it, too."""
    assert json_text({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}\n'


def test_no_number_that_is_not_finite() -> None:
    """Other programs' parsers refuse NaN."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text([float("nan")])
