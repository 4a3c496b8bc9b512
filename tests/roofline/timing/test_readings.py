"""One figure each of what the machine told during the rounds; none from readings that can't be."""

from __future__ import annotations

import pytest

from roofline.timing import readings


@pytest.mark.parametrize(
    ("series", "mean", "most", "total"),
    [
        ((300.0, 500.0), 400.0, 500.0, 800.0),
        ((0.0, 1.0), 0.5, 1.0, 1.0),
        ((7, 9), 8.0, 9, 16),
        ((0.0, 0.0), 0.0, 0.0, 0.0),
        (None, None, None, None),
        ((), None, None, None),
        ((300.0, -1.0), None, None, None),
        ((1e308, 1e308), None, None, None),
    ],
)
def test_a_series_in_one_figure(
    series: tuple[float, ...] | None, mean: float | None, most: float | None, total: float | None
) -> None:
    """Without a series there is none, nor with a reading in it that no machine has."""
    assert (readings.mean(series), readings.most(series), readings.total(series)) == (mean, most, total)
