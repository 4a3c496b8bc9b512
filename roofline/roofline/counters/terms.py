"""Nsight Compute's metrics, each with what it is a number of and what one of it is worth.

What an instruction is worth: one FLOP for each add and multiply of a thread, two for a fused multiply-add; the
half-precision ones work on two values at once, as do the packed single-precision ones of compute capability 10. Tensor
counters count operations, of which a multiply-add is two. A sector is 32 bytes (Nsight Compute's Profiling Guide,
Metrics Decoder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from roofline.counters.chips import DRAM_READ, DRAM_WRITE

Dimension = Literal["time", "byte", "count", "byte_per_s", "frequency", "per_cycle", "share"]
"""What a metric is a number of. In base units: s, byte, 1, byte/s, 1/s, 1 a cycle, per cent."""

TIME = "gpu__time_duration.sum"
DRAM_RATE = "dram__bytes.sum.per_second"

CACHES = ("lts__t_bytes.sum", "l1tex__t_bytes.sum")
SM_CLOCKS = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
"""Either is that of the SMs: cycles of a launch over its time."""

CYCLES = {clock.removesuffix(".per_second"): clock for clock in SM_CLOCKS[::-1]}
"""The cycles of a launch, by which of the clocks they are counted."""

_ALIKE_OF_ONE = ("sum", "max", "avg")
"""Of a counter that a GPU has once they are the same."""

_SECTOR_BYTE = 32.0

INSTRUCTIONS: Mapping[str, Mapping[str, float]] = {
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}
"""FLOP of one thread's instruction, by what the CUDA cores computed in."""

PACKED: Mapping[str, float] = {"fadd2": 2, "fmul2": 2, "ffma2": 4}
"""Of fp32, where the chip has them."""

OF_SEVERAL = "fp16_bf16_tf32_dst_fp32"
"""Counts three types at once: that of one of them only on a chip without the others."""

TENSOR: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "tensor_fp64": (("fp64",),),
    "tensor_tf32": (("tf32_dst_fp32",),),
    "tensor_bf16": (("bf16_dst_fp32",),),
    "tensor_fp16": (("fp16",), ("fp16_dst_fp16", "fp16_dst_fp32"), ("fp16_dst_fp16", OF_SEVERAL)),
    "tensor_fp8": (("fp8",), ("fp8_dst_fp16", "fp8_dst_fp32")),
    "tensor_fp4_fp6_fp8": (("fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"),),
    "tensor_fp4_fp6": (("fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32"),),
    "tensor_fp4": (("fp4_dst_fp32",),),
}
"""Pipe by source type: sets of `Chip.tensor` whose sum it is. A chip has one of the sets or none."""

TENSOR_ACTIVITY = ("sm__inst_executed_pipe_tensor", "sm__pipe_tensor")
"""Begin the names of metrics that tell whether the tensor cores did anything, but not how much."""

TENSOR_OPERATIONS = "sm__ops_path_tensor_src_"
"""Begins the names of those that count their operations, by type."""


@dataclass(frozen=True, slots=True)
class Term:
    """``factor`` times a metric, times others: a rate of one kernel times its own duration is its amount. All of it is
    divided by ``over``, if that is told.
    """

    metric: str
    factor: float = 1.0
    times: tuple[str, ...] = ()
    over: str | None = None


Sum = tuple[Term, ...]
Alternatives = tuple[Sum, ...]
"""Sums that tell the same, the best first: that is taken whose metrics all answered."""

SUMS: Mapping[str, Alternatives] = {
    "time_s": (
        *((Term(f"{name}.{part}"),) for name in ("gpu__time_duration", "gpu__time_active") for part in _ALIKE_OF_ONE),
        *((Term(cycles, over=clock),) for cycles, clock in CYCLES.items()),
    ),
    "dram_read_byte": (
        *((Term(name),) for name in DRAM_READ),
        (Term("dram__sectors_read.sum", _SECTOR_BYTE),),
        (Term("dram__bytes_read.sum.per_second", times=(TIME,)),),
    ),
    "dram_write_byte": (
        *((Term(name),) for name in DRAM_WRITE),
        (Term("dram__sectors_write.sum", _SECTOR_BYTE),),
        (Term("dram__bytes_write.sum.per_second", times=(TIME,)),),
    ),
    "l2_byte": (
        (Term("lts__t_bytes.sum"),),
        (Term("lts__t_sectors.sum", _SECTOR_BYTE),),
        tuple(Term(f"lts__t_sectors_op_{op}.sum", _SECTOR_BYTE) for op in ("read", "write", "atom", "red")),
    ),
    "l1_byte": ((Term("l1tex__t_bytes.sum"),), (Term("l1tex__t_sectors.sum", _SECTOR_BYTE),)),
}
"""By quantity of a launch."""

DRAM: Alternatives = (
    (Term("dram__bytes.sum"),),
    (Term("dram__sectors.sum", _SECTOR_BYTE),),
    (Term(DRAM_RATE, times=(TIME,)),),
)
"""Reads and writes together, where they are not told apart."""


def dimension(metric: str) -> Dimension | None:
    """What a metric is a number of; None for those that no quantity is made of."""
    if metric.startswith(TENSOR_ACTIVITY):
        return "share" if ".pct_" in metric else "count" if metric.endswith(".sum") else None
    return _DIMENSIONS.get(metric)


def instruction_count(instruction: str) -> Alternatives:
    """How often threads executed it. Rates are what ``--set roofline`` and ``--set full`` collect."""
    stem = f"sass_thread_inst_executed_op_{instruction}_pred_on.sum"
    units = ("smsp", "sm")
    return (
        *((Term(f"{unit}__{stem}"),) for unit in units),
        *((Term(f"{unit}__{stem}.per_cycle_elapsed", times=(clock, TIME)),) for unit in units for clock in SM_CLOCKS),
    )


def tensor_count(source: str) -> Alternatives:
    """Operations of the tensor cores, by source (and destination) type as `TENSOR` has it."""
    stem = f"{TENSOR_OPERATIONS}{source}.sum"
    rates = ((Term(f"{stem}.per_cycle_elapsed", times=(clock, TIME)),) for clock in reversed(SM_CLOCKS))
    return ((Term(stem),), *rates)


def tensor_sources() -> tuple[str, ...]:
    """Those of any chip, each once."""
    return tuple(dict.fromkeys(source for sets in TENSOR.values() for sources in sets for source in sources))


def own_metrics(alternatives: Alternatives) -> frozenset[str]:
    """The metrics, without the times and clocks that they are multiplied with, which are asked for in any case."""
    return frozenset(term.metric for terms in alternatives for term in terms)


def metrics_of(terms: Sum) -> Iterator[str]:
    """All that has to answer, times and clocks with it."""
    for term in terms:
        yield term.metric
        yield from term.times
        if term.over is not None:
            yield term.over


def _dimension(name: str) -> Dimension:
    if name.startswith("gpu__time_"):
        return "time"
    if name in SM_CLOCKS:
        return "frequency"
    if name.endswith(".per_second"):
        return "byte_per_s"
    if name.endswith(".per_cycle_elapsed"):
        return "per_cycle"
    return "byte" if "_bytes" in name else "count"


def _terms() -> Iterator[Term]:
    """All that a quantity is made of."""
    sass = (instruction_count(one) for instructions in (*INSTRUCTIONS.values(), PACKED) for one in instructions)
    tensor = (tensor_count(source) for source in tensor_sources())
    every = (*SUMS.values(), DRAM, *sass, *tensor)
    return (term for sets in every for terms in sets for term in terms)


_DIMENSIONS = {name: _dimension(name) for term in _terms() for name in metrics_of((term,))}
"""Of every metric that a quantity is made of."""

RATES = tuple(dict.fromkeys(term.metric for term in _terms() if TIME in term.times))
"""The metrics that a launch's time makes amounts of."""

CYCLE_RATES = tuple(name for name in RATES if _DIMENSIONS[name] == "per_cycle")
"""Those that it takes a clock for, besides."""
