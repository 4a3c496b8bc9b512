"""Sizes of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def parse(text: str) -> int:
    """Bytes of ``24GiB``, ``80 GB`` or ``16000000000``.

    :raises ValueError: it is no size; the message says what is.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]i?|Ki)?B?\s*", text)
    unit = (match[2] or "").replace("ki", "Ki") if match else ""
    byte = int(float(match[1]) * _UNITS[unit]) if match else 0
    if byte < 1:
        raise ValueError(f"{text!r} is no size of memory: use a number with a unit, such as 24GiB, 80GB or 512MiB")
    return byte
