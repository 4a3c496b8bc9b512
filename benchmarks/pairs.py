"""Two things timed in turn in one process, so that what disturbs the machine disturbs both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pairs:
    """Times of the two, one pair per turn."""

    first_s: tuple[float, ...]
    second_s: tuple[float, ...]

    def ratios(self) -> tuple[float, ...]:
        """First over second, of each pair."""
        return tuple(first / second for first, second in zip(self.first_s, self.second_s, strict=True))

    def differences_s(self) -> tuple[float, ...]:
        """First minus second, of each pair."""
        return tuple(first - second for first, second in zip(self.first_s, self.second_s, strict=True))


def alternate(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Pairs:
    """Call both ``pairs`` times in turn, the order reversed from pair to pair: a steady drift then favours neither.

    Both return the seconds that are to be compared.
    """
    first_s: list[float] = []
    second_s: list[float] = []
    for turn in range(pairs):
        if turn % 2 == 0:
            first_s.append(first())
            second_s.append(second())
        else:
            second_s.append(second())
            first_s.append(first())
    return Pairs(tuple(first_s), tuple(second_s))
