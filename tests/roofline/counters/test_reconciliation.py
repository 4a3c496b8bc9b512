"""Count and counters are held against each other where both know something, and a reason is given where one shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roofline.counters.counted_kernels import counted_kernels
from roofline.counters.reconciliation import Reconciled, reconcile
from roofline.machine.roof_choice import Roofs
from roofline.schema.record import Counters, KernelCounters, Operation, Record
from tests.roofline import build
from tests.roofline.kernels import ADD, CONVOLUTION, DEVICE, TENSOR_GEMM, WINOGRAD, counted, kernel

_ROOFS = Roofs(roofs=build.roofs())


def _rows(record: Record) -> dict[str, Reconciled]:
    return {row.name: row for row in reconcile(record, counted_kernels(record, _ROOFS))}


def _product(shape: str = "512x1024, 1024x512", **changes: Any) -> Operation:
    return build.operation(flop=1e11, shape=shape, **changes)


def _convolution(shape: str = "32x64x56x56, 64x64x3x3, padding 1", **changes: Any) -> Operation:
    return build.operation(name="aten::convolution", kind="convolution", flop=1e11, shape=shape, **changes)


def _step(*operations: Operation, of: tuple[KernelCounters, ...], other: float | None = 0.0, **changes: Any) -> Record:
    flop = sum(one.flop for one in operations)
    return counted(*of, operations=operations, work=build.work(flop, other_flop_per_step=other), **changes)


def test_products_alone() -> None:
    """All of it by kernels of products: one row for them, one for the rest, one for the bytes."""
    rows = _rows(_step(_product(), of=(kernel(),)))
    assert list(rows) == ["matrix products", "other arithmetic", "DRAM bytes"]
    row = rows["matrix products"]
    assert (row.counted_low, row.counted_high, row.counters, row.launches) == (1e11, 1e11, 1e11, 1)
    assert (row.ratio, row.standing, row.reasons) == (1.0, "agrees", ())


@pytest.mark.parametrize(
    ("flop", "standing"), [(1.019e11, "agrees"), (1.021e11, "more"), (0.981e11, "agrees"), (0.979e11, "fewer")]
)
def test_two_percent_are_the_same(flop: float, standing: str) -> None:
    """Either way."""
    row = _rows(_step(_product(), of=(kernel(flop_by_pipe={"fp32": flop}),)))["matrix products"]
    assert row.ratio == pytest.approx(flop / 1e11)
    assert row.standing == standing


def test_convolutions_that_ran_as_products() -> None:
    """Each by itself disagrees and says that it may have run otherwise; the sum agrees."""
    rows = _rows(_step(_product(), _convolution(), of=(kernel(flop_by_pipe={"fp32": 2e11}),)))
    assert (rows["matrix products"].standing, rows["convolutions"].standing) == ("more", "fewer")
    (reason,) = rows["convolutions"].reasons
    assert "a convolution as a matrix product" in reason
    assert rows["matrix products"].reasons == (reason,)
    both = rows["products and convolutions"]
    assert (both.counters, both.counted_high, both.standing, both.reasons) == (2e11, 2e11, "agrees", ())


@pytest.mark.parametrize(
    ("flop", "ratio", "standing"),
    [
        (1e11, 1.0, "agrees"),
        (0.6e11, 1.0, "agrees"),
        (1e11 / 2.25, 1.0, "agrees"),
        (0.4e11, 0.9, "fewer"),
        (1.2e11, 1.2, "more"),
    ],
)
def test_winograd_makes_the_count_a_range(flop: float, ratio: float, standing: str) -> None:
    """From 1/2.25 of the 3x3 convolutions that may run so to all of it."""
    row = _rows(_step(_convolution(winograd=True), of=(kernel(WINOGRAD, flop_by_pipe={"fp32": flop}),)))["convolutions"]
    assert (row.counted_low, row.counted_high) == (pytest.approx(1e11 / 2.25), 1e11)
    assert row.ratio == pytest.approx(ratio)
    assert row.standing == standing
    assert "the 100 GFLOP of 3x3 convolutions that may run so need as little as 44.4 GFLOP" in row.reasons[0]


def test_without_winograd_kernels_there_is_no_range() -> None:
    """That a convolution may run so is no sign that it did."""
    row = _rows(_step(_convolution(winograd=True), of=(kernel(CONVOLUTION),)))["convolutions"]
    assert (row.counted_low, row.reasons) == (1e11, ())


def test_winograd_of_convolutions_that_were_not_marked() -> None:
    """In half precision, say: said, and not calculated with."""
    row = _rows(_step(_convolution(), of=(kernel(WINOGRAD, flop_by_pipe={"fp32": 0.5e11}),)))["convolutions"]
    assert (row.counted_low, row.standing) == (1e11, "fewer")
    assert "how many fewer isn't known" in row.reasons[0]


@pytest.mark.parametrize(
    ("shape", "padded"),
    [
        ("32x3x224x224, 64x3x7x7, stride 2, padding 3", True),
        ("32x96x56x56, 96x1x3x3, padding 1, groups 96", True),
        ("32x64x56x56, 64x64x3x3, padding 1", False),
    ],
    ids=["three channels", "depthwise", "sixty-four"],
)
def test_channels_are_filled_up_for_tensor_cores(shape: str, padded: bool) -> None:
    """Where the weights have a number of input channels that is no multiple of 8."""
    of = kernel(CONVOLUTION, flop_by_pipe={"tensor_tf32": 1.4e11})
    (reason,) = _rows(_step(_convolution(shape=shape), of=(of,)))["convolutions"].reasons
    assert ("(100 GFLOP) with a number of input channels that is no multiple of 8" in reason) is padded
    as_counted = kernel(CONVOLUTION, flop_by_pipe={"tensor_tf32": 1e11})
    assert _rows(_step(_convolution(shape=shape), of=(as_counted,)))["convolutions"].reasons == ()
    on_cuda_cores = kernel(CONVOLUTION, flop_by_pipe={"fp32": 1.4e11})
    (reason,) = _rows(_step(_convolution(shape=shape), of=(on_cuda_cores,)))["convolutions"].reasons
    assert "input channels" not in reason


@pytest.mark.parametrize(
    ("flop", "standing", "reason"),
    [(3e9, "more", "as many as its function needs"), (1e8, "fewer", "comparisons are none")],
)
def test_other_arithmetic(flop: float, standing: str, reason: str) -> None:
    """Functions are one FLOP to the count and several to the counters; comparisons are none to them."""
    gelu = build.operation(name="aten::gelu", kind="elementwise", flop=0.0)
    row = _rows(_step(gelu, of=(kernel(ADD, flop_by_pipe={"fp32": flop}),), other=1e9))["other arithmetic"]
    assert (row.counters, row.counted_high, row.ratio) == (flop, 1e9, pytest.approx(flop / 1e9))
    assert row.standing == standing
    assert [reason in found for found in row.reasons] == [True]


def test_what_was_not_counted_has_its_reason() -> None:
    """The counters' side stands alone."""
    record = _step(
        _product(), of=(kernel(),), other=None, missing={"work.other_flop_per_step": "no formula for my::op"}
    )
    row = _rows(record)["other arithmetic"]
    assert (row.counted_high, row.ratio, row.standing) == (None, None, "unknown")
    assert row.reasons == ("not counted: no formula for my::op",)


def test_kernels_without_flop() -> None:
    """There is no sum over some of them, nor a ratio."""
    of = (kernel(), kernel(TENSOR_GEMM, flop_by_pipe=None))
    row = _rows(_step(_product(), of=of))["matrix products"]
    assert (row.counters, row.ratio, row.standing) == (None, None, "unknown")
    assert row.reasons == ("the FLOPs of 1 of 2 kernels were not read",)


@pytest.mark.parametrize(
    ("byte", "ratio", "standing"),
    [(1e9, 1.0, "agrees"), (2.5e9, 1.0, "agrees"), (4e9, 1.0, "agrees"), (0.5e9, 0.5, "fewer"), (6e9, 1.5, "more")],
)
def test_bytes_are_held_against_the_range(byte: float, ratio: float, standing: str) -> None:
    """1 to 4 GB counted: inside is agreement."""
    row = _rows(_step(_product(), of=(kernel(dram_byte=byte),)))["DRAM bytes"]
    assert (row.ratio, row.standing) == (pytest.approx(ratio), standing)
    assert bool(row.reasons) == (standing != "agrees")


def test_fewer_bytes_stayed_in_the_cache() -> None:
    """With its size."""
    (reason,) = _rows(_step(_product(), of=(kernel(dram_byte=1e8),)))["DRAM bytes"].reasons
    assert "the last-level cache of 40.0 MB still held data of the step before" in reason
    record = _step(_product(), of=(kernel(dram_byte=1e8),), device=replace(DEVICE, last_level_cache_byte=None))
    (reason,) = _rows(record)["DRAM bytes"].reasons
    assert "the last-level cache still held" in reason


def test_a_compiled_step_moves_less() -> None:
    """It is counted as it is uncompiled."""
    record = _step(_product(), of=(kernel(dram_byte=1e8),), case=build.case(config={"compile": True}))
    assert "fused kernels pass less through memory" in _rows(record)["DRAM bytes"].reasons[0]


def test_bytes_alone() -> None:
    """Counters without kernels of their own still have the step's bytes."""
    record = build.record(counters=Counters(status="missing_metric", dram_byte=2e9))
    (row,) = reconcile(record, ())
    assert (row.name, row.standing, row.launches) == ("DRAM bytes", "agrees", 0)


@pytest.mark.parametrize(
    "record",
    [
        build.record(),
        build.record(counters=Counters(status="permission_denied")),
        build.record(work=None, counters=Counters(status="ok", dram_byte=1e9)),
    ],
    ids=["no counters", "refused", "not counted"],
)
def test_nothing_to_hold_against_each_other(record: Record) -> None:
    """No row, rather than rows of nothing."""
    assert reconcile(record, counted_kernels(record, _ROOFS)) == ()
