"""What a program printed into a file, as text."""

from __future__ import annotations

import codecs

import pytest

from roofline.files.decoding import printed_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("µ".encode(), "µ"),
        ("µ".encode("utf-8-sig"), "µ"),
        ("µ".encode("utf-16"), "µ"),
        (codecs.BOM_UTF16_BE + "µ".encode("utf-16-be"), "µ"),
        # The blank between groups of digits in the code page of Windows; what has no meaning is shown as such.
        (b"27\xa0595 \x81", "27\xa0595 \ufffd"),
        (b"\xff\xfe\x00", "\ufffd"),
    ],
)
def test_printed_text(content: bytes, text: str) -> None:
    """UTF-8, UTF-16 as PowerShell's > writes it, or the code page of Windows."""
    assert printed_text(content) == text
