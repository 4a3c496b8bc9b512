"""The difference of a figure that doesn't scatter, at the borders of each verdict."""

from __future__ import annotations

import pytest

from roofline.comparison.effects.exact import exact_change, judge_exact
from roofline.comparison.observations.observation import Observation


def _side(*values: float) -> list[Observation]:
    return [Observation(value=value, error=None) for value in values]


@pytest.mark.parametrize(
    ("base", "new", "kind", "told"),
    [
        ((100.0,), (100.0,), "same", False),
        ((100.0,), (101.9,), "same", True),
        ((100.0,), (98.1,), "same", True),
        ((100.0,), (102.1,), "slower", False),
        ((100.0,), (97.9,), "faster", False),
        ((100.0, 100.5), (101.0, 101.9), "same", True),
        ((100.0, 104.0), (110.0, 120.0), "slower", False),  # the ranges lie apart
        ((100.0, 110.0), (109.0, 120.0), "inconclusive", True),  # they overlap
        ((100.0, 100.0), (100.0, 110.0), "inconclusive", True),
        ((100.0, 101.0), (101.5, 103.0), "inconclusive", True),  # apart, by less than matters or by more
    ],
)
def test_kinds(base: tuple[float, ...], new: tuple[float, ...], kind: str, told: bool) -> None:
    """2 % matter."""
    verdict = judge_exact(exact_change(_side(*base), _side(*new)), 0.02)
    assert (verdict.kind, bool(verdict.why)) == (kind, told)


def test_the_interval_is_the_range() -> None:
    """From the least over the most to the most over the least, whatever the confidence."""
    change = exact_change(_side(100.0, 110.0), _side(99.0, 121.0))
    assert change.interval(0.5) == change.interval(0.99) == pytest.approx((0.9, 1.21))
    assert change.ratio == pytest.approx((99 * 121 / (100 * 110)) ** 0.5)
