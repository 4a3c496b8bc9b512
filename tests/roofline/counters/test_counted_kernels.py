"""A kernel is bound by the roof that its own work takes longest under, and by none where a roof isn't known."""

from __future__ import annotations

from typing import Any

import pytest

from roofline.counters.counted_kernels import CountedKernel, counted_kernels, without_flop
from roofline.counters.quantities import LEVELS
from roofline.machine.roof_choice import Roofs
from roofline.schema.record import Counters
from tests.roofline import build
from tests.roofline.kernels import ADD, GEMM, counted, counters, kernel

# 10 TFLOP/s on CUDA cores, 100 on tensor cores; 1 TB/s of DRAM, 4 of the cache; 2 us a launch.
_ROOFS = Roofs(
    roofs=(
        build.roof("flop", "fp32", 1e13),
        build.roof("flop", "bf16", 1e14),
        build.roof("byte", "dram", 1e12),
        build.roof("byte", "llc", 4e12),
        build.roof("latency", "launch", 2e-6),
    )
)


def _one(roofs: Roofs = _ROOFS, name: str = GEMM, **changes: Any) -> CountedKernel:
    (found,) = counted_kernels(counted(kernel(name, **changes)), roofs)
    return found


def test_a_kernel_s_work() -> None:
    """1e11 FLOP and 1 GB, 4 GB, 10 GB: 100, 25 and 10 FLOP/byte; in 10 ms 10 TFLOP/s."""
    one = _one()
    assert (one.name, one.kind, one.launches, one.flop) == (GEMM, "gemm", 1, 1e11)
    assert [one.intensity(level) for level in LEVELS] == [100, 25, 10]
    assert one.flop_per_s == pytest.approx(1e13)
    assert one.tensor_share == 0.0


@pytest.mark.parametrize(
    ("changes", "limit", "why"),
    [
        ({}, "compute", "CUDA cores (fp32)"),
        ({"flop_by_pipe": {"tensor_bf16": 1e12}}, "compute", "tensor cores (bf16)"),
        ({"flop_by_pipe": {"tensor_bf16": 1e12, "fp32": 2e11}}, "compute", "CUDA cores (fp32)"),
        ({"flop_by_pipe": {"fp32": 1e10}, "dram_byte": 8e9}, "memory", "DRAM"),
        ({"flop_by_pipe": {"fp32": 1e10}, "dram_byte": 1e9, "l2_byte": 2e10}, "memory", "last-level cache"),
        ({"flop_by_pipe": {}, "dram_byte": 8e9}, "memory", "DRAM"),
        (
            {"flop_by_pipe": {"fp32": 8e10}, "dram_byte": 8e9, "l2_byte": None},
            "undetermined",
            "within 15 % of the knee",
        ),
        ({"flop_by_pipe": {"fp32": 1e9}, "dram_byte": 1e8, "l2_byte": None}, "undetermined", "far below its roofs"),
        (
            {"flop_by_pipe": {"fp32": 1e4}, "dram_byte": 1e4, "l2_byte": 1e4, "time_s": 4e-6},
            "launch",
            "launches take longer",
        ),
        ({"time_s": None}, "undetermined", "no time seen"),
        ({"time_s": 0.0}, "undetermined", "no time seen"),
        ({"flop_by_pipe": None}, "undetermined", "FLOPs not counted"),
        ({"flop_by_pipe": {"fp32": -1.0}}, "undetermined", "FLOPs not counted"),
        ({"flop_by_pipe": {"tensor_int8": 1e12}}, "undetermined", "no compute roof for tensor_int8"),
        ({"flop_by_pipe": {"fp16": 1e12}}, "undetermined", "no compute roof for fp16"),
        ({"dram_byte": None, "l2_byte": None}, "undetermined", "bytes not counted"),
        ({"dram_byte": float("nan"), "l2_byte": 1e308}, "undetermined", "bytes not counted"),
    ],
)
def test_what_bounds_it(changes: dict[str, Any], limit: str, why: str) -> None:
    """Arithmetic of all pipes by turns against the slower of DRAM and L2; what isn't known concludes nothing."""
    one = _one(**changes)
    assert (one.limit, one.why) == (limit, why)


def test_counters_that_were_not_read_have_no_kernels() -> None:
    """Whatever stands beside the status."""
    record = build.record(counters=Counters(status="failed", kernels=(kernel(),)))
    assert counted_kernels(record, _ROOFS) == ()
    assert counted_kernels(build.record(), _ROOFS) == ()


TF32_GEMM = "sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n_tilesize128x128x16"
CUDA_CORES = {"fp32": 1e6, "fp64": 0.0, "fp16": 0.0}


def test_a_kernel_of_tensor_cores_that_were_not_counted_has_no_flops() -> None:
    """What its CUDA cores did is its epilogue."""
    one = _one(name=TF32_GEMM, flop_by_pipe=CUDA_CORES)
    assert (one.flop, one.no_flop) == (None, "its name tells of tensor cores, whose operations were not collected")
    known = _one(name=TF32_GEMM, flop_by_pipe={**CUDA_CORES, "tensor_tf32": 0.0})
    assert (known.flop, known.no_flop) == (1e6, None)


def test_a_kernel_of_whose_flops_a_part_lacks_has_none() -> None:
    """As its record says: no FLOP, intensity, share or bound; its bytes stay, and the others keep theirs."""
    lacks = "tensor_bf16: 1 of 2 kernels have none"
    one = _one(flop_lacks=lacks)
    assert (one.flop, one.flop_by_pipe, one.tensor_share, one.flop_per_s) == (None, None, None, None)
    assert (one.intensity("dram_byte"), one.byte["dram_byte"]) == (None, 1e9)
    assert (one.limit, one.why, one.no_flop) == ("undetermined", "FLOPs not counted", lacks)
    kernels = (kernel(flop_by_pipe=CUDA_CORES, flop_lacks=lacks), kernel(ADD, flop_by_pipe=CUDA_CORES))
    record = build.record(counters=counters(*kernels, status="missing_metric", flop=None))
    found = {one.name: (one.flop, one.no_flop) for one in counted_kernels(record, _ROOFS)}
    assert found == {GEMM: (None, lacks), ADD: (1e6, None)}


def test_how_many_kernels_have_no_flops() -> None:
    """With the reasons that are known, each once."""
    known, odd = kernel(ADD), kernel(flop_lacks="no tensor_bf16")
    assert without_flop(counted_kernels(counted(known, odd, odd), _ROOFS)) == (
        "the FLOPs of 2 of 3 kernels were not read (no tensor_bf16)"
    )
    unread = kernel(flop_by_pipe=None)
    assert without_flop(counted_kernels(counted(known, unread), _ROOFS)) == "the FLOPs of 1 of 2 kernels were not read"
    assert without_flop(counted_kernels(counted(known), _ROOFS)) is None
