"""What is said of kernels: where their numbers are from, tensor cores and who uses them, and why there are none."""

from __future__ import annotations

import pytest

from roofline.counters.counted_kernels import counted_kernels
from roofline.counters.reconciliation import Reconciled
from roofline.machine.roof_choice import Roofs
from roofline.schema.record import Counters, Record
from roofline.show.kernel_notes import about_counted, about_reasons, about_status, plain
from tests.roofline import build
from tests.roofline.kernels import ADD, GEMM, TENSOR_GEMM, counted, counters, kernel

_ROOFS = Roofs(roofs=build.roofs())


def _about(record: Record) -> list[str]:
    return about_counted(record, counted_kernels(record, _ROOFS))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (ADD, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>"),
        (GEMM, GEMM),
        ("void at::native::(anonymous namespace)::softmax_warp<float, 4>(float*, int)", "softmax_warp<float, 4>"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
        ("void f<(int)4>(float*)", "f<(int)4>"),
        ("(anonymous namespace)::", "(anonymous namespace)::"),
        ("", ""),
    ],
)
def test_names_without_what_all_have(name: str, shown: str) -> None:
    """A kernel is told by what is left; a copy's direction is no argument list."""
    assert plain(name) == shown


def test_where_the_numbers_are_from() -> None:
    """The program, kernels, launches, passes of each run, and that its times are none."""
    record = build.record(counters=counters(kernel(launches=3), kernel(ADD, time_s=0.002), passes=5))
    assert _about(record)[0] == (
        "Read by ncu 2025.3.1: 2 kernels in 4 launches. Their time of 12.0 ms is under that profiler, and no timing"
    )


def test_where_less_is_known() -> None:
    """Neither program nor passes nor every time."""
    record = build.record(counters=counters(kernel(time_s=None), source=None))
    assert _about(record)[0] == "Read: 1 kernel in 1 launch. Their time is under that profiler, and no timing"


def test_tensor_cores() -> None:
    """The share of all FLOPs, by pipe."""
    record = counted(
        kernel(flop_by_pipe={"fp32": 1e11}),
        kernel(TENSOR_GEMM, flop_by_pipe={"tensor_bf16": 3e11}),
        *(kernel(f"hmma_{number}", flop_by_pipe={"tensor_bf16": 1e10 * number}) for number in (1, 2, 3, 4)),
    )
    assert _about(record)[1] == ("Tensor cores: 80.0 % of the FLOPs (80.0 % tensor_bf16, 20.0 % fp32), in 5 kernels")


def test_tensor_cores_that_nobody_uses() -> None:
    """Nor known of those whose FLOPs weren't read."""
    assert _about(counted(kernel()))[1] == "Tensor cores: not used"
    some = counted(kernel(), kernel(ADD, flop_by_pipe=None))
    assert _about(some)[1] == "Tensor cores: not used by the kernels whose FLOPs were read"
    none = counted(kernel(flop_by_pipe=None))
    assert _about(none)[1] == "Tensor cores: not known, for no FLOPs were read"


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        (1.0, ["A matrix product of known size was counted at 1.000 of its FLOPs"]),
        (
            0.5,
            [
                "A matrix product of known size was counted at 0.5000 of its FLOPs: the counters' FLOPs are not to be"
                " trusted on this machine"
            ],
        ),
        (None, []),
        (0.0, []),
    ],
)
def test_the_unit_of_the_counters(ratio: float | None, told: list[str]) -> None:
    """A product of known size shows it."""
    assert _about(build.record(counters=counters(kernel(), unit_check=ratio)))[2:] == told


def test_why_the_unit_of_the_counters_is_not_known() -> None:
    """Where the record tells it."""
    record = build.record(counters=counters(kernel()), missing={"counters.unit_check": "fp32: it hung"})
    assert _about(record)[2:] == [
        "A matrix product of known size, which would show what a counted FLOP is, was not counted: fp32: it hung"
    ]


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        (None, []),
        (Counters(status="ok"), []),
        (Counters(status="not_requested"), []),
        (
            Counters(status="permission_denied", reason="ERR_NVGPUCTRPERM"),
            ["No counters (permission_denied): ERR_NVGPUCTRPERM"],
        ),
        (Counters(status="timeout"), ["No counters (timeout): no reason is given"]),
        (
            Counters(status="missing_metric", reason="no DRAM counter on this chip"),
            ["Counters are incomplete (missing_metric): no DRAM counter on this chip"],
        ),
    ],
)
def test_why_there_are_none(counters: Counters | None, told: list[str]) -> None:
    """Only where they were asked for."""
    assert about_status(build.record(counters=counters)) == told


def test_reasons_stand_under_their_quantity() -> None:
    """A line each; abbreviations keep their letters."""
    rows = [
        Reconciled(name=name, unit="B", counted_low=1, counted_high=1, counters=2, launches=1, reasons=("a", "b"))
        for name in ("other arithmetic", "DRAM bytes")
    ]
    assert about_reasons(rows) == ["Other arithmetic: a", "Other arithmetic: b", "DRAM bytes: a", "DRAM bytes: b"]
