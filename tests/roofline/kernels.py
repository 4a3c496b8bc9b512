"""Kernels as hardware counters and the profiler tell of them, with names as cuBLAS, cuDNN and ATen give theirs."""

from __future__ import annotations

from typing import Any

from roofline.schema.record import Counters, Device, KernelCounters, KernelTime, Record
from tests.roofline import build

DEVICE = Device(
    kind="cuda",
    name="NVIDIA A100-SXM4-80GB",
    index=0,
    memory_byte=80 * 10**9,
    last_level_cache_byte=40 * 10**6,
    compute_capability="8.0",
)

GEMM = "ampere_sgemm_128x64_tn"
TENSOR_GEMM = "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_tn_align8"
CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_ffma"
WINOGRAD = "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(WinogradDataParams<float, float>)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int, float)"


def kernel(name: str = GEMM, **changes: Any) -> KernelCounters:
    """100 GFLOP on CUDA cores in 10 ms, 1 GB of DRAM, 4 of L2, 10 of L1."""
    values: dict[str, Any] = {
        "launches": 1,
        "time_s": 0.01,
        "flop_by_pipe": {"fp32": 1e11},
        "dram_byte": 1e9,
        "l2_byte": 4e9,
        "l1_byte": 1e10,
        **changes,
    }
    return KernelCounters(name=name, **values)


def counters(*kernels: KernelCounters, **changes: Any) -> Counters:
    """Sums over the kernels where they all have a value."""

    def total(name: str) -> float | None:
        values = [getattr(one, name) for one in kernels]
        return None if None in values else sum(values)

    by_pipe: dict[str, float] = {}
    for one in kernels:
        for pipe, flop in (one.flop_by_pipe or {}).items():
            by_pipe[pipe] = by_pipe.get(pipe, 0.0) + flop
    values: dict[str, Any] = {
        "status": "ok",
        "source": "ncu 2025.3.1",
        "flop": sum(by_pipe.values()),
        "flop_by_pipe": by_pipe,
        **{name: total(name) for name in ("time_s", "dram_byte", "l2_byte", "l1_byte")},
        "kernels": kernels,
        **changes,
    }
    return Counters(**values)


def counted(*kernels: KernelCounters, **changes: Any) -> Record:
    """A case on a GPU with these counters, and of 100 ms."""
    return build.record(**{"device": DEVICE, "counters": counters(*kernels), **changes})


def profiled(**changes: Any) -> Record:
    """A step of 100 ms on a GPU, busy for 62 of them: a product of 50 ms, 20 additions of 0.5 and a copy of 2."""
    kernels = (
        KernelTime(name=GEMM, launches=1.0, time_s=0.05),
        KernelTime(name=ADD, launches=20.0, time_s=0.01),
        KernelTime(name="Memcpy HtoD (Pageable -> Device)", launches=1.0, time_s=0.002),
    )
    values: dict[str, Any] = {
        "device": DEVICE,
        "operations": (
            build.operation(time_s=0.05),
            build.operation(name="aten::add", kind="elementwise", time_s=0.01),
        ),
        "profile": build.profile(
            source="kernels", operations_s=0.06, device_busy_s=0.062, longest_gap_s=0.004, kernels=kernels
        ),
        **changes,
    }
    return build.record(**values)
