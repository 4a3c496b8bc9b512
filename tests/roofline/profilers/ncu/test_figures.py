"""Amounts are summed over launches, rates are made of sums, and a sum with a hole is none."""

from __future__ import annotations

import pytest

from roofline.profilers.ncu.kernels import Counted, by_kernel, by_kind, count, slowest_first, together
from roofline.profilers.ncu.launches import Capture, Launch

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


def _launch(
    name: str, time_s: float | None = None, fma: float | None = None, byte: float | None = None, launches: int = 1
) -> Launch:
    metrics: dict[str, float] = {}
    if time_s is not None:
        metrics["gpu__time_duration.sum"] = time_s
    if fma is not None:
        metrics |= {SASS.format("fadd"): 0.0, SASS.format("fmul"): 0.0, SASS.format("ffma"): fma}
    if byte is not None:
        metrics["dram__bytes.sum"] = byte
    return Launch(name=name, launches=launches, metrics=metrics, compute_capability="8.0")


def _counted(*launches: Launch) -> Counted:
    return count(Capture(source="f", launches=launches, passes=2, notes=("said",)))


def test_a_launch() -> None:
    """Kind from the name, FLOP from instructions, intensity from both sums."""
    counted = _counted(_launch("ampere_sgemm_128x64_nn", 1e-3, 50.0, 20.0))
    (one,) = counted.kernels
    assert (one.kind, one.launches, one.amounts["time_s"], one.amounts["flop"], one.amounts["dram_byte"]) == (
        "gemm",
        1,
        1e-3,
        100.0,
        20.0,
    )
    assert one.intensity == 5.0
    assert "intensity" not in one.missing
    assert (counted.passes, counted.notes) == (2, ("said",))
    assert counted.metrics["time_s"] == "gpu__time_duration.sum"
    assert "tensor_bf16" in counted.not_counted


def test_intensity_of_several_is_that_of_their_sums() -> None:
    """100 FLOP over 10 byte and 100 over 90 are 2 FLOP/byte, not the mean of 10 and 1.1."""
    counted = _counted(
        _launch("a_gemm", 1.0, 50.0, 10.0), _launch("a_gemm", 3.0, 50.0, 90.0), _launch("relu", 2.0, 0.0, 5.0)
    )
    first, second = by_kernel(counted.kernels)
    assert (first.name, first.launches, first.amounts["time_s"], first.amounts["flop"], first.amounts["dram_byte"]) == (
        "a_gemm",
        2,
        4.0,
        200.0,
        100.0,
    )
    assert first.intensity == 2.0
    assert (second.name, second.intensity) == ("relu", 0.0)
    total = counted.total
    assert (total.launches, total.amounts["time_s"], total.amounts["flop"], total.amounts["dram_byte"]) == (
        3,
        6.0,
        200.0,
        105.0,
    )
    assert total.flop_by_pipe == {"fp32": 200.0}


def test_by_kind() -> None:
    """Kernels of different names in one row."""
    counted = _counted(_launch("a_gemm", 1.0), _launch("b_gemm", 2.0), _launch("Memset (Device)", 5.0))
    assert [(one.name, one.kind, one.launches, one.amounts["time_s"]) for one in by_kind(counted.kernels)] == [
        ("copy", "copy", 1, 5.0),
        ("gemm", "gemm", 2, 3.0),
    ]


def test_a_summary_counts_as_many_launches_as_it_stands_for() -> None:
    """Its values are sums already."""
    counted = _counted(_launch("a", 1.0, launches=100), _launch("b", 2.0))
    assert (counted.total.launches, counted.total.amounts["time_s"]) == (101, 3.0)


def test_a_sum_with_a_hole_is_none() -> None:
    """With how many lack it and why; the other sums stay."""
    counted = _counted(_launch("a", 1.0, 5.0, 7.0), _launch("b", 2.0, 5.0), _launch("c", 3.0, 5.0))
    total = counted.total
    assert (total.amounts["time_s"], total.amounts["flop"], total.amounts["dram_byte"], total.intensity) == (
        6.0,
        30.0,
        None,
        None,
    )
    assert total.missing["dram_byte"] == "2 of 3 launches have none, first 'b': dram__bytes_read.sum was not collected"
    assert total.missing["intensity"].startswith("no dram_byte: ")
    everywhere = _counted(_launch("a"), _launch("b")).total
    assert everywhere.missing["time_s"] == "gpu__time_duration.sum was not collected"


def test_pipes_that_some_kernels_lack() -> None:
    """Are in no sum, and named."""
    half = {SASS.format(name): 1.0 for name in ("hadd", "hmul", "hfma")}
    both = Launch(name="a", metrics={**_launch("a", fma=1.0).metrics, **half}, compute_capability="8.0")
    total = _counted(both, _launch("b", fma=1.0)).total
    assert total.flop_by_pipe == {"fp32": 4.0}
    assert total.missing["flop_by_pipe.fp16"] == "1 of 2 kernels have none"
    other = Launch(name="c", metrics=half, compute_capability="8.0")
    none = _counted(other, _launch("b", fma=1.0)).total
    assert none.flop_by_pipe is None
    assert none.missing["flop_by_pipe"] == "no pipe was counted of every kernel"


def test_no_traffic_has_no_intensity() -> None:
    """And no infinite one."""
    (one,) = _counted(_launch("a", 1.0, 5.0, 0.0)).kernels
    assert (one.amounts["dram_byte"], one.intensity) == (0.0, None)
    assert one.missing["intensity"] == "no byte of DRAM was moved"


def test_a_kernel_named_for_tensor_cores_that_were_not_counted() -> None:
    """What its CUDA cores did is not its work; with a counter that says they did nothing, it is."""
    name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
    launch = _launch(name, 1.0, 5.0)
    (one,) = _counted(launch).kernels
    assert one.amounts["flop"] is None
    assert one.flop_by_pipe == {"fp32": 10.0}
    assert one.missing["flop"] == "its name tells of tensor cores, whose operations were not collected"
    idle = Launch(
        name=name, metrics={**launch.metrics, "sm__inst_executed_pipe_tensor.sum": 0.0}, compute_capability="8.0"
    )
    assert _counted(idle).kernels[0].amounts["flop"] == 10.0


@pytest.mark.parametrize(
    ("answers", "used"),
    [((1.0, None), True), ((0.0, 0.0), False), ((0.0, None), None)],
)
def test_tensor_cores_of_several(answers: tuple[float | None, ...], used: bool | None) -> None:
    """Yes where one used them; no only where all are known not to have."""
    name = "sm__inst_executed_pipe_tensor.sum"
    launches = [Launch(name="a", metrics={} if value is None else {name: value}) for value in answers]
    assert _counted(*launches).total.tensor_cores is used


def test_order() -> None:
    """The most time first; without one last, in their order."""
    counted = _counted(_launch("a"), _launch("b", 1.0), _launch("c", 2.0), _launch("d"))
    assert [one.name for one in slowest_first(counted.kernels)] == ["c", "b", "a", "d"]


def test_sums_lose_no_digit() -> None:
    """A large kernel does not swallow ten thousand small ones."""
    kernels = _counted(_launch("a", 1e16), *[_launch("b", 1.0) for _ in range(10)]).kernels
    assert together(kernels, "total", None).amounts["time_s"] == 1e16 + 10
