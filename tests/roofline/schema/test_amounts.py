"""What can't be calculated with is found before it gets into a sum or a quotient."""

from __future__ import annotations

import math

import pytest

from roofline.schema.amounts import total_of, usable, usable_amount, usable_or_zero


@pytest.mark.parametrize("value", [-1.0, 1e-31, 1e31, math.inf, -math.inf, math.nan])
def test_what_nothing_reaches_is_not(value: float) -> None:
    """Negative, beyond 1e30 either way, or no number."""
    assert not usable(value)
    assert not usable_or_zero(value)
    assert usable_amount(value) is None


def test_a_total_only_where_all_is_known() -> None:
    """A sum over some would look like that of all."""
    assert total_of([1.0, 2.0]) == 3.0
    assert total_of([1.0, None]) is None
    assert total_of([]) == 0.0
