"""Which counters may be calculated with, and what their pipes are."""

from __future__ import annotations

import pytest

from roofline.model.counter_values import counters_of, roof_name, tensor_share
from roofline.schema.record import Counters
from tests.roofline import build


@pytest.mark.parametrize(
    ("status", "there"),
    [
        ("ok", True),
        ("missing_metric", True),
        ("not_requested", False),
        ("permission_denied", False),
        ("timeout", False),
        ("failed", False),
        ("of a later version", False),
    ],
)
def test_only_counters_that_were_read_are_used(status: str, there: bool) -> None:
    """A number beside any other status is none."""
    counters = Counters(status=status, flop=1.0, flop_by_pipe={"fp32": 1.0})
    assert counters_of(build.record(counters=counters)) == (counters if there else None)


def test_a_part_of_the_flops_is_none_of_them() -> None:
    """Where one of their metrics lacks, the pipes that are left tell nothing of the step; the bytes stay."""
    found = counters_of(
        build.record(counters=Counters(status="missing_metric", flop_by_pipe={"fp32": 1.0}, dram_byte=2.0))
    )
    assert found == Counters(status="missing_metric", dram_byte=2.0)


def test_no_counters() -> None:
    """A record from before there were any."""
    assert counters_of(build.record()) is None


@pytest.mark.parametrize(
    ("flop_by_pipe", "share"),
    [
        ({"fp32": 1.0, "tensor_bf16": 2.0, "tensor_tf32": 1.0}, 0.75),
        ({"fp32": 1.0, "fp16": 1.0}, 0.0),
        ({"tensor_fp16": 1.0}, 1.0),
        ({"fp32": 0.0}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_share_of_tensor_cores(flop_by_pipe: dict[str, float] | None, share: float | None) -> None:
    """Of the FLOPs; of none there is no share."""
    assert tensor_share(flop_by_pipe) == share


@pytest.mark.parametrize(
    ("pipe", "roof"),
    [("fp32", "fp32"), ("fp64", "fp64"), ("fp16", None), ("tensor_fp16", "fp16"), ("tensor_tf32", "tf32")],
)
def test_the_roof_over_a_pipe(pipe: str, roof: str | None) -> None:
    """Half precision on CUDA cores has none: the roof of that name is the tensor cores'."""
    assert roof_name(pipe) == roof
