"""Units as Nsight Compute prints them, ``Mbyte``, ``usecond``, ``Ghz``, to SI base units."""

from __future__ import annotations

from functools import lru_cache

from roofline.counters.terms import Dimension

_LARGE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
"""Of anything but seconds, whatever the case: ``Kbyte`` is 1000 byte."""

_SMALL = {"": 1.0, "m": 1e3, "u": 1e6, "\u00b5": 1e6, "\u03bc": 1e6, "n": 1e9, "p": 1e12}
"""Parts of a second in one second."""

_SECONDS = ("seconds", "second", "sec", "s")
_BYTES = ("bytes", "byte")
_COUNTED = ("inst", "op", "ops", "sector", "thread", "warp", "request", "cycle", "")
"""What is counted; some versions print no unit."""

_RATES = ("hz",)

LEAST, MOST = 1e-30, 1e30
"""Between them lies what a kernel may have, in base units, unless it is 0: a day at an exaFLOP/s is 1e23. What is made
of such numbers, products of three, sums, and a ratio of those, is finite and not rounded to 0.
"""


def plausible(value: float) -> bool:
    """Whether a kernel may have so much, in base units; of NaN and infinity no."""
    return value == 0 or LEAST <= value <= MOST


@lru_cache(maxsize=1024)
def factors(unit: str, dimension: Dimension) -> tuple[float, float] | None:
    """What to multiply with and what to divide by to get base units; None where the unit is of another dimension or not
    known.

    Two numbers, for powers of ten are exact and their reciprocals are not: 10,000 usecond is 0.01 s to the last bit.

    >>> factors("Mbyte", "byte"), factors("usecond", "time")
    ((1000000.0, 1.0), (1.0, 1000000.0))
    """
    text = unit.strip()
    if dimension == "time":
        parts = _parts_of_second(text)
        return None if parts is None else (1.0, parts)
    if dimension == "byte":
        return _over(_times(text, _BYTES), 1.0)
    if dimension == "count":
        return _over(_times(text, _COUNTED), 1.0)
    if dimension == "share":
        return (1.0, 1.0) if text == "%" else None
    if dimension == "frequency" and _times(text, _RATES) is not None:
        return _over(_times(text, _RATES), 1.0)
    above, slash, below = text.partition("/")
    if not slash:
        return None
    if dimension == "per_cycle":
        return _over(_times(above, _COUNTED), 1.0) if below == "cycle" else None
    # By a part of a second: as many more in a whole one.
    parts = _parts_of_second(below)
    times = _times(above, _BYTES if dimension == "byte_per_s" else _COUNTED)
    return None if parts is None or times is None else (times * parts, 1.0)


def _over(times: float | None, parts: float) -> tuple[float, float] | None:
    return None if times is None else (times, parts)


def _parts_of_second(text: str) -> float | None:
    lower = text.lower()
    word = next((word for word in _SECONDS if lower.endswith(word)), None)
    return None if word is None else _SMALL.get(lower.removesuffix(word))


def _times(text: str, words: tuple[str, ...]) -> float | None:
    lower = text.lower()
    for word in words:
        if lower.endswith(word) and (factor := _LARGE.get(lower.removesuffix(word))) is not None:
            return factor
    return None
