"""A stated number with what rounding may hide.

A table prints a few digits: 0.10 images/s may be anything from 0.095 to 0.105. Two printed figures contradict each
other only where no values behind them would agree, so every figure carries the interval it may lie in, and a
contradiction is a gap between two intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

from roofline.text.units import scaled, significant

_DIGITS = 5
"""Significant digits of a number in a sentence: as many as the tables that are audited print."""


_LEAST, _MOST = 1e-30, 1e30
"""Bounds of what is taken for a measured number: products of a few such numbers stay finite and above 0."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of at least 0 in SI base units and the least and most it may be."""

    value: float
    low: float
    high: float

    @property
    def positive(self) -> bool:
        return self.value > 0

    def __add__(self, other: Figure) -> Figure:
        return Figure(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, other: Figure) -> Figure:
        return Figure(self.value * other.value, self.low * other.low, self.high * other.high)

    def __truediv__(self, other: Figure) -> Figure:
        """:raises ZeroDivisionError: ``other`` is 0: check `positive` first."""
        high = self.high / other.low if other.low > 0 else float("inf")
        return Figure(self.value / other.value, self.low / other.high, high)


def plausible(value: float) -> bool:
    return value == 0 or _LEAST <= value <= _MOST


def exact(value: float) -> Figure:
    return Figure(value, value, value)


def rounded(value: float, slack: float) -> Figure:
    """``value`` as printed, ``slack`` half a unit of its last digit."""
    return Figure(value, max(0.0, value - slack), value + slack)


def gap(found: Figure, expected: Figure) -> float:
    """What rounding does not explain of the difference, relative to ``expected``: 0.03 is 3 % too much, 0 is none."""
    if found.low > expected.high:
        return (found.low - expected.high) / expected.high if expected.high > 0 else float("inf")
    if found.high < expected.low:
        return (found.high - expected.low) / expected.low
    return 0.0


def agree(found: Figure, expected: Figure, tolerance: float) -> bool:
    return abs(gap(found, expected)) <= tolerance


def shown(figure: Figure | float, unit: str = "") -> str:
    """In a sentence: with a prefix where there is a unit, else plain."""
    value = figure.value if isinstance(figure, Figure) else figure
    if unit:
        return scaled(value, unit, _DIGITS)
    return f"{value:.{_DIGITS}g}" if 1e-4 <= abs(value) < 10**_DIGITS else significant(value, _DIGITS)


def difference(found: Figure, expected: Figure) -> str:
    """How far ``found`` is from ``expected``: ``+59.9 %``, and a factor where that says more: ``3.34 times``."""
    ratio = found.value / expected.value
    return f"{100 * (ratio - 1):+.1f} %" if 0.5 < ratio < 2 else f"{significant(ratio)} times"
