"""Printed digits are intervals: only what no values behind them explain is a difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.audits.row import agree, exact, gap, plausible, rounded

numbers = st.floats(1e-20, 1e20)


def test_a_gap_is_what_rounding_leaves_unexplained() -> None:
    """0.10 x 10.36 is 1.036, but 0.10 may be 0.0965: no gap to 1. 0.10 +- 0.005 against 0.2 leaves 0.095."""
    assert gap(rounded(0.10, 0.005) * exact(10.36), exact(1.0)) == 0.0
    assert gap(exact(1.05), exact(1.0)) == pytest.approx(0.05)
    assert gap(rounded(0.10, 0.005), exact(0.2)) == pytest.approx(-0.475)
    assert gap(exact(1.0), exact(0.0)) == float("inf")
    assert agree(exact(1.03), exact(1.0), 0.031)
    assert not agree(exact(1.03), exact(1.0), 0.029)


@given(numbers, numbers, st.floats(0, 0.5), st.floats(0, 0.5))
def test_more_slack_never_widens_a_gap(one: float, other: float, first: float, second: float) -> None:
    loose = gap(rounded(one, first * one), rounded(other, second * other))
    # But for the rounding of the arithmetic itself.
    assert abs(loose) <= abs(gap(exact(one), exact(other))) * (1 + 1e-12)


@given(numbers, st.floats(0, 0.4), numbers, st.floats(0, 0.4))
def test_a_value_lies_in_its_interval_after_arithmetic(one: float, first: float, other: float, second: float) -> None:
    left, right = rounded(one, first * one), rounded(other, second * other)
    for figure in (left * right, left / right, left + right):
        assert figure.low <= figure.value <= figure.high


def test_what_no_measurement_gives_is_not_plausible() -> None:
    assert plausible(0.0)
    assert plausible(1e-9)
    assert not any(map(plausible, (-1.0, float("nan"), float("inf"), 1e31, 1e-31)))
