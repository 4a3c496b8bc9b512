"""What changed in the work of a case."""

from __future__ import annotations

from typing import Any

import pytest

from roofline.comparison.workload import declared, parameter_changes, workload_changes
from roofline.schema.record import Case

CASE = Case(id="a", workload_hash="h", model="mlp", mode="infer", precision="fp32", batch=2, samples_per_step=2)


def changed(**values: Any) -> dict[str, Any]:
    return {**declared(CASE), **values}


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (changed(), ""),
        (changed(precision="tf32", batch=4), "precision tf32, baseline fp32, batch 4, baseline 2"),
        (changed(workload_hash="g", config={"parameters": 7}), "parameters 7, baseline none"),
        (changed(config={"seed": 7}), ""),
        (changed(id="b", workload_hash="g"), ""),
    ],
    ids=["none", "fields", "config", "config, the same hash", "name and hash"],
)
def test_what_changed_is_told_with_both_values(new: dict[str, Any], told: str) -> None:
    """Fields of the case, then those of its configuration: these where the hash says that the work is another one."""
    assert workload_changes(declared(CASE), new, "baseline") == told


def test_a_field_that_one_side_s_version_lacks_is_a_change() -> None:
    """It has none there, as a value of the configuration that isn't told."""
    assert workload_changes({"batch": 2}, {"batch": 2, "tiles": 4}, "base") == "tiles 4, base none"


def test_a_long_value_is_cut() -> None:
    """A test may be parametrised with a text of 100,000 characters; a line of a log can't hold it."""
    found = parameter_changes({"n": "a" * 100_000}, {"n": 1}, "baseline")
    assert found == f"n 1, baseline {'a' * 100}... (100000 characters)"
