"""What samples cost, in money and in energy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.report.costs import costs_table
from roofline.schema.record import Parallel, Rank
from roofline.show.export import json_of
from tests.roofline import build


def test_a_million_samples_have_a_price_and_a_joule_its_samples(tmp_path: Path) -> None:
    """320 samples/s at 2.88 an hour are 2.5 a million. A case with neither price nor energy has no row, nor an invalid
    one.
    """
    labels = {"rented": [build.record(energy_j_per_step=64.0)], "own": [build.record(), build.record(timing=None)]}
    points = [
        point
        for label, held in labels.items()
        for point in build.points(tmp_path / f"{label}.json", held, on=build.machine(label))
    ]
    shown = json.loads(json_of(costs_table(points, {"rented": 2.88})))
    named = [{key: row[key] for key in row if key != "case"} for row in shown]
    assert named == [
        {
            "machine": "rented",
            "samples_per_s": 320.0,
            "sample_unit": "image",
            "price_per_hour": 2.88,
            "price_per_million_samples": 2.5,
            "samples_per_joule": 0.5,
        }
    ]
    assert costs_table(points[1:], {}).rows == []


def test_machines_that_share_a_training_are_all_paid_for(tmp_path: Path) -> None:
    """Two ranks on each of two machines; without the price of one there is none."""
    ranks = tuple(Rank(node=node, label=label) for node, label in ((0, "rented"), (1, "other")) * 2)
    record = build.record(parallel=Parallel(ranks=4, nodes=2, backend="nccl", by_rank=ranks))
    (point,) = build.points(tmp_path / "two.json", [record], on=build.machine("rented"))
    (row,) = costs_table([point], {"rented": 2.88, "other": 1.44}).rows
    assert (row.price_per_hour, row.price_per_million_samples) == pytest.approx((4.32, 3.75))
    assert costs_table([point], {"rented": 2.88}).rows == []
