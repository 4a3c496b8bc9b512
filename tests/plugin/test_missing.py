"""Reasons for what is missing follow from what the record is."""

from __future__ import annotations

import pytest

from pytest_roofline.missing import explained
from roofline.schema.record import Case, Device, Operation, Record, Uncovered, Work


def record_without_times(**missing: str) -> Record:
    operation = Operation(
        name="aten::mm", kind="matmul", dtype="fp32", shape="2x2", calls=1, flop=16.0, byte=48.0, working_set_byte=48.0
    )
    return Record(
        case=Case(id="x", workload_hash="0", model="x", mode="infer", precision="fp32", batch=1, samples_per_step=1),
        device=Device(kind="cpu", name="a CPU"),
        work=Work(
            flop_per_step=16.0,
            flop_by_dtype={"fp32": 16.0},
            byte_low_per_step=48.0,
            byte_high_per_step=48.0,
            uncovered=(Uncovered(name="own::op", calls=1),),
        ),
        operations=(operation,),
        missing=dict(missing),
    )


@pytest.mark.parametrize("path", ["operations.time_s", "work.uncovered.time_s"])
def test_operations_have_no_times_for_the_reason_that_there_is_no_profile(path: str) -> None:
    """Whoever asks for the one is told of the other."""
    assert explained(record_without_times(profile="the profiler was busy")).missing[path] == "the profiler was busy"


@pytest.mark.parametrize("path", ["operations.time_s", "work.uncovered.time_s"])
def test_a_reason_of_their_own_is_kept(path: str) -> None:
    """Where there is a profile, and no times in it."""
    missing = explained(record_without_times(**{path: "compiled"})).missing
    assert missing[path] == "compiled"
