"""Sizes of memory."""

from __future__ import annotations

import pytest

from pytest_roofline.complexity.memory_size import parse


@pytest.mark.parametrize(
    ("text", "byte"),
    [("24GiB", 24 << 30), ("80 GB", 80 * 10**9), ("1.5kB", 1500), ("512Mi", 512 << 20), ("7", 7), ("2kiB", 2048)],
)
def test_sizes(text: str, byte: int) -> None:
    """Decimal and binary units, with or without the B."""
    assert parse(text) == byte


@pytest.mark.parametrize("text", ["", "GiB", "-1GB", "1e9", "24 gigabytes", "0GB", "nan"])
def test_no_sizes(text: str) -> None:
    """The message says what is one."""
    with pytest.raises(ValueError, match="is no size of memory: use a number with a unit, such as 24GiB"):
        parse(text)
