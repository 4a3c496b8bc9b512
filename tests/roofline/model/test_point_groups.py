"""The knee of throughput over batch sizes, where margins show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.model.point_groups import knee
from tests.roofline import build


@pytest.mark.parametrize(
    ("rates", "margin", "place"),
    [
        ((50.0, 85.0, 95.0, 100.0), 0.01, 2),
        ((50.0, 100.0, 60.0), 0.01, 1),
        ((50.0, 80.0, 100.0), 0.01, 2),
        ((100.0, 80.0), 0.01, 0),
        ((50.0, 89.0, 100.0), 0.01, None),
        ((50.0, 85.0, 95.0, 100.0), 0.04, None),
        ((50.0, 100.0), None, None),
    ],
    ids=["bends", "falls", "rises", "falls at once", "near 90 %", "wide margins", "no margins"],
)
def test_the_knee_is_the_smallest_batch_near_the_best(
    tmp_path: Path, rates: tuple[float, ...], margin: float | None, place: int | None
) -> None:
    """With nine tenths of the best throughput. Both margins count; where they leave it open there is none."""
    records = [
        build.record(case=build.case(batch=2**index), timing=build.timing(2**index / rate, margin=margin))
        for index, rate in enumerate(rates)
    ]
    points = build.points(tmp_path / "run.json", records)
    assert knee(points) == place
