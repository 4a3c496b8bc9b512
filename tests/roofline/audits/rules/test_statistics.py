"""What means, percentiles and spreads can't be."""

import pytest

from roofline.audits.row import rounded
from roofline.audits.rules.statistics import mean_above_percentile, out_of_order, zero_spread
from tests.roofline.audits.make import found, row, times


def test_a_mean_above_the_maximum() -> None:
    (one,) = found(mean_above_percentile, [row(mean_s=12e-3, percentiles=times(p100=10e-3))])
    assert one.arithmetic == "mean 12.000 ms is above maximum 10.000 ms"


def test_a_mean_above_a_high_percentile_says_what_that_would_take() -> None:
    (one,) = found(mean_above_percentile, [row(mean_s=12e-3, percentiles=times(p95=10e-3, p100=100e-3))])
    assert "above p95 10.000 ms: the slowest 5 % would outweigh all others" in one.arithmetic


def test_a_mean_above_what_a_quartile_and_the_maximum_allow() -> None:
    """100 times, 75 of them at most 1 ms, none above 2 ms: at most 1.26 ms (one time less is sure at the quartile)."""
    limits = times(p75=1e-3, p100=2e-3)
    (one,) = found(mean_above_percentile, [row(mean_s=1.30e-3, steps=100, percentiles=limits)])
    assert "above 1.2600 ms, the most that it and the maximum allow" in one.arithmetic
    assert found(mean_above_percentile, [row(mean_s=1.26e-3, steps=100, percentiles=limits)]) == ()
    # Of how many times is not known: then nothing is impossible.
    assert found(mean_above_percentile, [row(mean_s=1.30e-3, percentiles=limits)]) == ()


def test_rounding_is_no_mean_above_a_percentile() -> None:
    percentiles = ((0.95, rounded(10.4e-3, 0.05e-3)),)
    assert found(mean_above_percentile, [row(mean_s=rounded(10.44e-3, 0.005e-3), percentiles=percentiles)]) == ()


@pytest.mark.parametrize(
    ("percentiles", "mean", "text"),
    [
        (times(p50=2e-3, p75=1e-3), None, "p75 1.0000 ms is below median 2.0000 ms"),
        (times(p0=2e-3, p100=1e-3), None, "maximum 1.0000 ms is below minimum 2.0000 ms"),
        (times(p0=2e-3, p100=3e-3), 1e-3, "mean 1.0000 ms is below the minimum 2.0000 ms"),
    ],
)
def test_order(percentiles: tuple[tuple[float, object], ...], mean: float | None, text: str) -> None:
    (one,) = found(out_of_order, [row(percentiles=percentiles, mean_s=mean)])
    assert one.arithmetic == text


def test_spread_of_zero_names_the_runs() -> None:
    (one,) = found(zero_spread, [row(step_time_s=0.5, step_time_sd_s=0.0, steps=20)])
    assert one.arithmetic == "0.5 ± 0 s over 20 runs: no clock gives that"
