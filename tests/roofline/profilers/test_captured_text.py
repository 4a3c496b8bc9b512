"""Text of other people's programs, in the encodings that it comes in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roofline.files.text import ReadError
from roofline.profilers.captured_text import captured, decoded


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode(encoding: str) -> None:
    """PowerShell's > writes UTF-16, editors put a mark in front; neither is part of the text."""
    assert decoded('"ID","µs"\n'.encode(encoding)) == '"ID","µs"\n'


def test_big_endian() -> None:
    """As its mark says."""
    assert decoded(b"\xfe\xff" + "µ".encode("utf-16-be")) == "µ"


def test_windows() -> None:
    """The blank between groups of digits is a byte that is no UTF-8; what has no meaning at all is shown as such."""
    assert decoded(b"27\xa0595 \x81") == "27\xa0595 \ufffd"
    assert decoded(b"\xff\xfe\x00") == "\ufffd"


def test_what_can_not_be_read(tmp_path: Path) -> None:
    """No file, no regular file: the reason, and no waiting for the end of a pipe."""
    with pytest.raises(ReadError, match=r"none\.csv: can't be read \(No such file"):
        captured(tmp_path / "none.csv")
    with pytest.raises(ReadError, match="no regular file"):
        captured(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReadError, match="no regular file"):
        captured(tmp_path / "pipe")
