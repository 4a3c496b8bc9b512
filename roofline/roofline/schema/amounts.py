"""Numbers of a result that can be calculated with: a file is edited, a counter broken, and a clock set back."""

from __future__ import annotations

from collections.abc import Iterable

LEAST, MOST = 1e-30, 1e30
"""What is measured lies between them, in base units: a day at an exaFLOP/s is 1e23. Products of three such numbers,
sums, and a ratio of those are finite and not rounded to 0.
"""


def usable(value: float) -> bool:
    """Tell if a rate, time or amount can be calculated with: above 0, finite, and of a size that could be measured."""
    return LEAST <= value <= MOST


def usable_or_zero(value: float) -> bool:
    """Tell if it is `usable`, or 0: of amounts that may be none at all, such as the FLOPs of a copy."""
    return value == 0 or usable(value)


def usable_amount(value: float | None) -> float | None:
    """Take the amount where there is one and it is `usable_or_zero`."""
    return value if value is not None and usable_or_zero(value) else None


def total_of(values: Iterable[float | None]) -> float | None:
    """Add up, where all are known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
