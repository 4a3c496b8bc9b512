"""The quantities that hardware counters measure of a kernel, and the Nsight Compute metrics of each, by chip.

A counter is a row of `QUANTITIES`. From it come what is asked of ncu, what is read of its files, the sums and the
columns of ``roofline ncu`` and ``roofline metrics``, and the values of a record (its fields have the rows' names).

One FLOP for each add and multiply of a thread, two for a fused multiply-add; the half-precision instructions work on
two values at once, as do the packed single-precision ones of compute capability 10. Tensor counters count operations,
of which a multiply-add is two. A sector is 32 bytes (Nsight Compute's Profiling Guide, Metrics Decoder).

The names of metrics by chip are those that the metric evaluator in NVIDIA's ``nvidia-cuda-cupti`` wheels lists
(13.5.25, and 12.9.79 for 7.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

Dimension = Literal["time", "byte", "count", "byte_per_s", "frequency", "per_cycle", "share"]
"""What a metric is a number of. In base units: s, byte, 1, byte/s, 1/s, 1 a cycle, per cent."""

TIME = "gpu__time_duration.sum"
DRAM_RATE = "dram__bytes.sum.per_second"
SM_CLOCKS = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
"""Either is that of the SMs: cycles of a launch over its time."""

CYCLES = {clock.removesuffix(".per_second"): clock for clock in SM_CLOCKS[::-1]}
"""The cycles of a launch, by which of the clocks they are counted."""

_SECTOR_BYTE = 32.0


@dataclass(frozen=True, slots=True)
class Term:
    """``factor`` times a metric, times others: a rate of one kernel times its own duration is its amount. All of it is
    divided by ``over``, where that is given.
    """

    metric: str
    factor: float = 1.0
    times: tuple[str, ...] = ()
    over: str | None = None


Sum = tuple[Term, ...]
Alternatives = tuple[Sum, ...]
"""Sums that tell the same, the best first: that is taken whose metrics all answered."""


def _each(*metrics: str, factor: float = 1.0, times: tuple[str, ...] = ()) -> Alternatives:
    """Metrics each of which tells the whole quantity."""
    return tuple((Term(metric, factor, times),) for metric in metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number of one launch, and a sum over launches.

    :param name: its field in the record (`Counters`, `KernelCounters`), its key in JSON and its column in CSV.
    :param title: of its column.
    :param asked: metrics to ask ncu for where the chip isn't known; the first, where it is and `Chip` has no others.
    :param ways: the sums of metrics that it is read from.
    :param parts: quantities whose sum it is; ``ways`` are for where one of them lacks.
    :param part: it is only a part of another: a step does without it, and the record has it of the step alone.
    """

    name: str
    title: str
    unit: Literal["s", "FLOP", "B"]
    asked: tuple[str, ...] = ()
    ways: Alternatives = ()
    parts: tuple[str, ...] = ()
    part: bool = False


_DRAM_READ = ("dram__bytes_read.sum", "dram__bytes_op_read.sum")
_DRAM_WRITE = ("dram__bytes_write.sum", "dram__bytes_op_write.sum")

QUANTITIES = (
    Quantity(
        name="time_s",
        title="time",
        unit="s",
        asked=(TIME,),
        ways=(
            # Of a counter that a GPU has once, sum, maximum and mean are the same.
            *_each(*(f"gpu__time_{of}.{part}" for of in ("duration", "active") for part in ("sum", "max", "avg"))),
            *((Term(cycles, over=clock),) for cycles, clock in CYCLES.items()),
        ),
    ),
    # Made of INSTRUCTIONS and TENSOR, pipe by pipe.
    Quantity(name="flop", title="FLOP", unit="FLOP"),
    Quantity(
        name="dram_byte",
        title="DRAM\nbyte",
        unit="B",
        ways=(
            *_each("dram__bytes.sum"),
            *_each("dram__sectors.sum", factor=_SECTOR_BYTE),
            *_each(DRAM_RATE, times=(TIME,)),
        ),
        parts=("dram_read_byte", "dram_write_byte"),
    ),
    Quantity(
        name="dram_read_byte",
        title="DRAM\nread",
        unit="B",
        asked=_DRAM_READ,
        ways=(
            *_each(*_DRAM_READ),
            *_each("dram__sectors_read.sum", factor=_SECTOR_BYTE),
            *_each("dram__bytes_read.sum.per_second", times=(TIME,)),
        ),
        part=True,
    ),
    Quantity(
        name="dram_write_byte",
        title="DRAM\nwritten",
        unit="B",
        asked=_DRAM_WRITE,
        ways=(
            *_each(*_DRAM_WRITE),
            *_each("dram__sectors_write.sum", factor=_SECTOR_BYTE),
            *_each("dram__bytes_write.sum.per_second", times=(TIME,)),
        ),
        part=True,
    ),
    Quantity(
        name="l2_byte",
        title="L2\nbyte",
        unit="B",
        asked=("lts__t_bytes.sum",),
        ways=(
            *_each("lts__t_bytes.sum"),
            *_each("lts__t_sectors.sum", factor=_SECTOR_BYTE),
            tuple(Term(f"lts__t_sectors_op_{op}.sum", _SECTOR_BYTE) for op in ("read", "write", "atom", "red")),
        ),
    ),
    Quantity(
        name="l1_byte",
        title="L1\nbyte",
        unit="B",
        asked=("l1tex__t_bytes.sum",),
        ways=(*_each("l1tex__t_bytes.sum"), *_each("l1tex__t_sectors.sum", factor=_SECTOR_BYTE)),
    ),
)
"""Every counter, a row each."""

BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
NAMES = tuple(BY_NAME)
WHOLE = tuple(quantity.name for quantity in QUANTITIES if not quantity.part)
"""Those that a step's counters have to have."""

OF_KERNEL = tuple(name for name in WHOLE if name != "flop")
"""Those that the record has of each kernel, beside its FLOPs by pipe."""

LEVELS = tuple(name for name in OF_KERNEL if BY_NAME[name].unit == "B")
"""The bytes of each level of memory."""

INSTRUCTIONS: Mapping[str, Mapping[str, float]] = {
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}
"""FLOP of one thread's instruction, by what the CUDA cores computed in."""

PACKED: Mapping[str, float] = {"fadd2": 2, "fmul2": 2, "ffma2": 4}
"""Of fp32, where the chip has them."""

_OF_SEVERAL = "fp16_bf16_tf32_dst_fp32"
"""Counts three types at once: that of one of them only on a chip without the others."""

TENSOR: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "tensor_fp64": (("fp64",),),
    "tensor_tf32": (("tf32_dst_fp32",),),
    "tensor_bf16": (("bf16_dst_fp32",),),
    "tensor_fp16": (("fp16",), ("fp16_dst_fp16", "fp16_dst_fp32"), ("fp16_dst_fp16", _OF_SEVERAL)),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What one compute capability has.

    ``tensor``: source and destination types of its counters ``sm__ops_path_tensor_src_*``. ``asked``: the metrics to
    ask for by quantity, where not the first of `Quantity.asked`: several names, one of which may answer, or none.
    ``packed``: it has single-precision instructions that work on two values. ``flop_passes``: in how many passes of a
    kernel all its FLOP are counted, those of CUDA cores in one; None: not known.
    """

    tensor: tuple[str, ...]
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packed: bool = False
    flop_passes: int | None = None

    @property
    def has_dram_counters(self) -> bool:
        return self.asked.get("dram_read_byte") != ()


_AMPERE = ("bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp64", "tf32_dst_fp32")
_FP4 = ("fp4_dst_fp32", "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32")
_BLACKWELL = (*_AMPERE, *_FP4, "fp8_dst_fp16", "fp8_dst_fp32")

_CHIPS: Mapping[str, Chip] = {
    "7.5": Chip(tensor=(_OF_SEVERAL, "fp16_dst_fp16")),
    "8.0": Chip(tensor=_AMPERE, flop_passes=5),
    "8.6": Chip(tensor=_AMPERE, flop_passes=5),
    "8.9": Chip(tensor=(*_AMPERE, "fp8"), flop_passes=5),
    "9.0": Chip(tensor=("bf16_dst_fp32", "fp16", "fp64", "fp8", "tf32_dst_fp32"), flop_passes=5),
    "10.0": Chip(tensor=(*_AMPERE, "fp4_dst_fp32", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"), packed=True),
    "10.3": Chip(tensor=_BLACKWELL, packed=True),
    # The evaluator lists the *_op_* names alone; a run on such a chip answered the others.
    "12.0": Chip(tensor=_BLACKWELL, asked={"dram_read_byte": _DRAM_READ[::-1], "dram_write_byte": _DRAM_WRITE[::-1]}),
    "12.1": Chip(tensor=_BLACKWELL, asked={"dram_read_byte": (), "dram_write_byte": ()}),
}

LISTED = tuple(_CHIPS)
"""The compute capabilities whose counters are known."""


def chip_of(compute_capability: str | None) -> Chip | None:
    """The chip, or that which it is taken for; None where there is none."""
    name = taken_for(compute_capability)
    return None if name is None else _CHIPS[name]


def taken_for(compute_capability: str | None) -> str | None:
    """The listed compute capability whose counters are those of this one, as far as is known: itself, or the nearest
    older one of its generation; None where there is none.
    """
    major, _, minor = (compute_capability or "").partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        return None
    listed = [int(name.partition(".")[2]) for name in _CHIPS if name.partition(".")[0] == major]
    older = [one for one in listed if one <= int(minor)]
    return f"{major}.{max(older)}" if older else None


def byte_metrics(compute_capability: str | None) -> tuple[str, ...]:
    """Say what to ask ncu for to get bytes by level and the time, in one pass.

    Where the chip is not known, or may answer to two names, both are asked for; ncu prints ``n/a`` for one it lacks.
    """
    chip = chip_of(compute_capability)
    return tuple(
        metric
        for quantity in QUANTITIES
        for metric in (quantity.asked if chip is None else chip.asked.get(quantity.name, quantity.asked[:1]))
    )


def flop_metrics(compute_capability: str | None, tensor: bool) -> tuple[str, ...]:
    """FLOP instructions of the CUDA cores (one pass) and, with ``tensor``, operations of the tensor cores by source
    type (four passes more on compute capability 8.0 to 9.0).
    """
    chip = chip_of(compute_capability)
    cuda = [name for instructions in INSTRUCTIONS.values() for name in instructions]
    if chip is None or chip.packed:
        cuda += PACKED
    sources = () if not tensor else _tensor_sources() if chip is None else chip.tensor
    first = (alternatives[0][0] for alternatives in (*map(instruction_count, cuda), *map(tensor_count, sources)))
    return tuple(term.metric for term in first)


def instruction_count(instruction: str) -> Alternatives:
    """Count how often threads executed it. Rates are what ``--set roofline`` and ``--set full`` collect."""
    stem = f"sass_thread_inst_executed_op_{instruction}_pred_on.sum"
    names = [f"{unit}__{stem}" for unit in ("smsp", "sm")]
    rates = ((Term(f"{name}.per_cycle_elapsed", times=(clock, TIME)),) for name in names for clock in SM_CLOCKS)
    return (*_each(*names), *rates)


def tensor_count(source: str) -> Alternatives:
    """Operations of the tensor cores, by source (and destination) type as `TENSOR` has it."""
    stem = f"{TENSOR_OPERATIONS}{source}.sum"
    rates = ((Term(f"{stem}.per_cycle_elapsed", times=(clock, TIME)),) for clock in reversed(SM_CLOCKS))
    return (*_each(stem), *rates)


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


def dimension(metric: str) -> Dimension | None:
    """Give what a metric is a number of; None for those that no quantity is made of."""
    if metric.startswith(TENSOR_ACTIVITY):
        return "share" if ".pct_" in metric else "count" if metric.endswith(".sum") else None
    return _DIMENSIONS.get(metric)


def _tensor_sources() -> tuple[str, ...]:
    """Those of any chip, each once."""
    return tuple(dict.fromkeys(source for sets in TENSOR.values() for sources in sets for source in sources))


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


_TERMS = tuple(
    term
    for ways in (
        *(one.ways for one in QUANTITIES),
        *map(instruction_count, chain(*INSTRUCTIONS.values(), PACKED)),
        *map(tensor_count, _tensor_sources()),
    )
    for terms in ways
    for term in terms
)
_DIMENSIONS = {name: _dimension(name) for term in _TERMS for name in metrics_of((term,))}
"""Of every metric that a quantity is made of."""
