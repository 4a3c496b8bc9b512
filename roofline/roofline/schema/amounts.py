"""Numbers of a result that can be calculated with: a file is edited, a counter broken, and a clock set back."""

from __future__ import annotations

from collections.abc import Iterable


def usable(value: float) -> bool:
    """Whether a rate, time or amount can be calculated with: above 0, finite, and of a size that could be measured.

    Beyond 1e30 either way something is broken, and quotients of such numbers leave the range of floats.
    """
    return 1e-30 < value < 1e30


def usable_or_zero(value: float) -> bool:
    """`usable`, or 0: of amounts that may be none at all, such as the FLOPs of a copy."""
    return value == 0 or usable(value)


def usable_amount(value: float | None) -> float | None:
    """The amount, where there is one and it is `usable_or_zero`."""
    return value if value is not None and usable_or_zero(value) else None


def total_of(values: Iterable[float | None]) -> float | None:
    """The sum, where all are known."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
