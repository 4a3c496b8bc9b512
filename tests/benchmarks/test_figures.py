"""Figures: the median is judged, bounds belong to the allowed side."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, Share, as_json


def figure(*samples: float, at_least: float | None = None, at_most: float | None = None) -> Figure:
    return Figure(name="f", unit="", samples=samples, at_least=at_least, at_most=at_most)


@pytest.mark.parametrize(
    ("at_least", "at_most", "reached"),
    [
        (None, None, True),
        (2.0, None, True),
        (2.1, None, False),
        (None, 2.0, True),
        (None, 1.9, False),
        (1.0, 3.0, True),
        (2.1, 3.0, False),
        (1.0, 1.9, False),
    ],
)
def test_the_median_is_held_against_both_bounds(at_least: float | None, at_most: float | None, reached: bool) -> None:
    """The bound itself is allowed; one outlier doesn't decide."""
    assert figure(1.0, 2.0, 100.0, at_least=at_least, at_most=at_most).reached is reached


def test_everything_a_figure_was_concluded_from_is_stored() -> None:
    """The file holds the samples, the bound and the machine, in SI units."""
    stored = as_json("b", [Figure(name="f", unit="s", samples=(1.0, 3.0), at_most=2.0)], {"cpu": "some"})
    assert stored["machine"] == {"cpu": "some"}
    assert stored["figures"] == [
        {
            "name": "f",
            "unit": "s",
            "median": 2.0,
            "quartiles": [1.5, 2.5],
            "at_least": None,
            "at_most": 2.0,
            "reached": True,
            "samples": [1.0, 3.0],
        }
    ]


def test_a_rate_is_stored_with_its_counts_and_interval() -> None:
    """One in a hundred: the exact interval at 95 %, two-sided, is 0.025 to 5.446 % (Clopper and Pearson's)."""
    rate = Figure.of_share("f", Share(1, 100), at_most=0.01)
    assert rate.reached
    (stored,) = as_json("b", [rate], {})["figures"]
    assert (stored["median"], stored["count"], stored["of"]) == (0.01, 1, 100)
    assert stored["interval"] == pytest.approx([0.000253, 0.054459], abs=1e-6)
