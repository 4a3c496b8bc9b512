"""Nsight Compute's metrics, and the quantities that they add up to.

What an instruction is worth: one FLOP for each add and multiply of a thread, two for a fused multiply-add; the
half-precision ones work on two values at once, as do the packed single-precision ones of compute capability 10. Tensor
counters count operations, of which a multiply-add is two. A sector is 32 bytes (Nsight Compute's Profiling Guide,
Metrics Decoder).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from roofline.ncu_chips import DRAM_READ, DRAM_WRITE, Chip, chip_of

Dimension = Literal["time", "byte", "count", "byte_per_s", "frequency", "per_cycle", "share"]
"""What a metric is a number of. In base units: s, byte, 1, byte/s, 1/s, 1 a cycle, per cent."""

QUANTITIES = ("time_s", "flop", "dram_byte", "dram_read_byte", "dram_write_byte", "l2_byte", "l1_byte")
"""The sums in `KernelFigures`."""

TIME = "gpu__time_duration.sum"
DRAM_RATE = "dram__bytes.sum.per_second"

_CACHES = ("lts__t_bytes.sum", "l1tex__t_bytes.sum")
_SM_CLOCKS = ("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
_SECTOR_BYTE = 32.0

_INSTRUCTIONS: Mapping[str, Mapping[str, float]] = {
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
    "fp16": {"hadd": 2, "hmul": 2, "hfma": 4},
}
"""FLOP of one thread's instruction, by what the CUDA cores computed in."""

_PACKED: Mapping[str, float] = {"fadd2": 2, "fmul2": 2, "ffma2": 4}
"""Of fp32, where the chip has them."""

_OF_SEVERAL = "fp16_bf16_tf32_dst_fp32"
"""Counts three types at once: that of one of them only on a chip without the others."""

_TENSOR: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "tensor_fp64": (("fp64",),),
    "tensor_tf32": (("tf32_dst_fp32",),),
    "tensor_bf16": (("bf16_dst_fp32",),),
    "tensor_fp16": (("fp16",), ("fp16_dst_fp16", "fp16_dst_fp32"), ("fp16_dst_fp16", _OF_SEVERAL)),
    "tensor_fp8": (("fp8",), ("fp8_dst_fp16", "fp8_dst_fp32")),
    "tensor_fp4_fp6_fp8": (("fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"),),
    "tensor_fp4_fp6": (("fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32"),),
    "tensor_fp4": (("fp4_dst_fp32",),),
}
"""Pipe by source type: sets of `roofline.ncu_chips.Chip.tensor` whose sum it is. A chip has one of the sets or none."""

_ROUNDED = "a rate that isn't 0, but the time rounds to 0"
"""Why there is no amount: in place of a value, as in ``absent`` of `figures`."""

_TENSOR_ACTIVITY = ("sm__inst_executed_pipe_tensor", "sm__pipe_tensor")
"""Begin the names of metrics that tell whether the tensor cores did anything, but not how much."""


@dataclass(frozen=True, slots=True)
class _Term:
    """``factor`` times a metric, times others: a rate of one kernel times its own duration is its amount."""

    metric: str
    factor: float = 1.0
    times: tuple[str, ...] = ()


_Sum = tuple[_Term, ...]
_Alternatives = tuple[_Sum, ...]
"""The first whose metrics all answered is taken."""

_QUANTITIES: Mapping[str, _Alternatives] = {
    "time_s": ((_Term(TIME),), (_Term("gpu__time_duration.max"),), (_Term("gpu__time_duration.avg"),)),
    "dram_read_byte": (
        *((_Term(name),) for name in DRAM_READ),
        (_Term("dram__sectors_read.sum", _SECTOR_BYTE),),
        (_Term("dram__bytes_read.sum.per_second", times=(TIME,)),),
    ),
    "dram_write_byte": (
        *((_Term(name),) for name in DRAM_WRITE),
        (_Term("dram__sectors_write.sum", _SECTOR_BYTE),),
        (_Term("dram__bytes_write.sum.per_second", times=(TIME,)),),
    ),
    "l2_byte": (
        (_Term("lts__t_bytes.sum"),),
        (_Term("lts__t_sectors.sum", _SECTOR_BYTE),),
        tuple(_Term(f"lts__t_sectors_op_{op}.sum", _SECTOR_BYTE) for op in ("read", "write", "atom", "red")),
    ),
    "l1_byte": ((_Term("l1tex__t_bytes.sum"),), (_Term("l1tex__t_sectors.sum", _SECTOR_BYTE),)),
}

_DRAM: _Alternatives = (
    (_Term("dram__bytes.sum"),),
    (_Term("dram__sectors.sum", _SECTOR_BYTE),),
    (_Term(DRAM_RATE, times=(TIME,)),),
)
"""Reads and writes together, where they are not told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFigures:
    """Quantities of one launch, or of several counted together. None: not had, and ``missing`` says why.

    ``flop_by_pipe`` has the pipes that were counted in full, and is None where none was. ``flop`` is their sum, where
    the CUDA cores were counted and every pipe that was asked for answered; ``not_counted`` are those that nobody asked
    for. ``metrics`` tells by quantity which metric answered. ``tensor_cores``: whether they did anything.
    """

    time_s: float | None = None
    flop: float | None = None
    flop_by_pipe: Mapping[str, float] | None = None
    dram_byte: float | None = None
    dram_read_byte: float | None = None
    dram_write_byte: float | None = None
    l2_byte: float | None = None
    l1_byte: float | None = None
    tensor_cores: bool | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    not_counted: tuple[str, ...] = ()


def byte_metrics(compute_capability: str | None) -> tuple[str, ...]:
    """Bytes by level and the time: what one pass collects.

    Where the chip is not known, or may answer to two names, both are asked for; ncu prints ``n/a`` for one it lacks.
    """
    chip = chip_of(compute_capability)
    dram = (*DRAM_READ, *DRAM_WRITE) if chip is None else chip.dram
    return (*dram, *_CACHES, TIME)


def flop_metrics(compute_capability: str | None, tensor: bool) -> tuple[str, ...]:
    """FLOP instructions of the CUDA cores (one pass) and, with ``tensor``, operations of the tensor cores by source
    type (four passes more on compute capability 8.0 to 9.0).
    """
    chip = chip_of(compute_capability)
    cuda = [name for instructions in _INSTRUCTIONS.values() for name in instructions]
    if chip is None or chip.packed:
        cuda += _PACKED
    sources = () if not tensor else _all_sources() if chip is None else chip.tensor
    first = (alternatives[0][0] for alternatives in (*map(_sass, cuda), *map(_tensor, sources)))
    return tuple(term.metric for term in first)


def instead(metric: str, unknown: Set[str]) -> tuple[str, ...]:
    """What to ask for in the place of a metric that an ncu doesn't know: the next that tell the same.

    A counter that it doesn't know in one form (``.sum``) it knows in none.

    :param unknown: all metrics that it is known not to know.
    :returns: empty where nothing is left.
    """
    counters = {_counter(name) for name in unknown}
    ways = (tuple(_names(terms)) for terms in _ALIKE.get(metric, ()))
    return next((names for names in ways if counters.isdisjoint(map(_counter, names))), ())


def dimension(metric: str) -> Dimension | None:
    """What a metric is a number of; None for those that no quantity is made of."""
    if metric.startswith(_TENSOR_ACTIVITY):
        return "share" if ".pct_" in metric else "count" if metric.endswith(".sum") else None
    return _DIMENSIONS.get(metric)


def figures(
    metrics: Mapping[str, float],
    *,
    absent: Mapping[str, str] | None = None,
    compute_capability: str | None = None,
) -> KernelFigures:
    """What the metrics of one launch add up to.

    :param metrics: values in base units (see `Dimension`), finite and not negative.
    :param absent: metrics that were asked for and did not answer, with what was printed in their place.
    """
    # Rates are rounded apart from the time: times one that rounds to 0 they give no amount. A rate of 0 gives 0.
    rounded = [name for name in _RATES if metrics.get(name)] if metrics.get(TIME) == 0 else []
    unanswered = {**(absent or {}), **dict.fromkeys(rounded, _ROUNDED)}
    plan = _plan(frozenset(metrics).difference(rounded), tuple(unanswered.items()), chip_of(compute_capability))
    amounts = {quantity: _amount(parts, metrics) for quantity, parts in plan.sums.items()}
    counted = {pipe: _amount(parts, metrics) for pipe, parts in plan.pipes.items()}
    return KernelFigures(
        **amounts,
        flop=math.fsum(counted.values()) if "flop" not in plan.missing else None,
        flop_by_pipe=counted or None,
        tensor_cores=_tensor_cores(counted, metrics, plan),
        metrics=plan.used,
        missing=plan.missing,
        not_counted=plan.not_counted,
    )


_Parts = tuple[tuple[_Sum, float], ...]
"""Sums of metrics, each with what one of it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What launches with certain metrics tell, whatever the values: worked out once for all of them.

    ``sums`` by quantity, ``pipes`` by pipe; the rest as in `KernelFigures`. ``every_tensor_pipe``: all that the chip
    has are counted.
    """

    sums: Mapping[str, _Parts]
    pipes: Mapping[str, _Parts]
    used: Mapping[str, str]
    missing: Mapping[str, str]
    not_counted: tuple[str, ...]
    every_tensor_pipe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pipe:
    """Sets of metrics, each with the FLOP that one count of it is worth; the first set that answers is the sum.

    ``metrics``: all of them. ``certain``: the chip is known to have the pipe.
    """

    name: str
    sets: tuple[tuple[tuple[_Alternatives, float], ...], ...]
    metrics: frozenset[str]
    certain: bool


class _Answers:
    """Looks metrics up, and keeps account of which answer and what is missing."""

    def __init__(self, answered: frozenset[str], absent: Mapping[str, str]) -> None:
        self._answered = answered
        self._absent = absent
        self.used: dict[str, str] = {}
        self.missing: dict[str, str] = {}

    def first(self, quantity: str, alternatives: _Alternatives) -> _Sum | None:
        """The first alternative that answers."""
        terms = self.answering(alternatives)
        if terms is None:
            self.missing[quantity] = self.why(alternatives)
        else:
            self.used[quantity] = _written(terms)
        return terms

    def answering(self, alternatives: _Alternatives) -> _Sum | None:
        return next((terms for terms in alternatives if self._answered.issuperset(_names(terms))), None)

    def asked(self, metrics: Set[str]) -> bool:
        return not (metrics.isdisjoint(self._answered) and metrics.isdisjoint(self._absent))

    def rounded(self, metrics: Set[str]) -> bool:
        """Whether one answered, but with a rate whose amount isn't known."""
        return any(self._absent.get(name) == _ROUNDED for name in metrics)

    def why(self, alternatives: _Alternatives) -> str:
        """What the alternatives lack."""
        # A time or a clock that lacks is the reason only where the rate that it belongs to was asked for.
        asked = [terms for terms in alternatives if self.asked({term.metric for term in terms})]
        for name in (name for terms in asked for name in _names(terms)):
            if name in self._absent:
                return f"{name}: {self._absent[name]}"
        # Of a sum of which some metrics are there, one that is not.
        begun = (terms for terms in alternatives if any(term.metric in self._answered for term in terms))
        lacking = next(name for name in _names(next(begun, alternatives[0])) if name not in self._answered)
        return f"{lacking} was not collected"


@lru_cache(maxsize=1024)
def _plan(answered: frozenset[str], absent: tuple[tuple[str, str], ...], chip: Chip | None) -> _Plan:
    answers = _Answers(answered, dict(absent))
    found = {name: answers.first(name, alternatives) for name, alternatives in _QUANTITIES.items()}
    found["dram_byte"] = _dram(found, answers, chip)
    pipes, not_counted = _counted(answers, chip)
    if (why := _why_no_flop(pipes, answers)) is not None:
        answers.missing["flop"] = why
        if not pipes:
            answers.missing["flop_by_pipe"] = why
    own = [pipe.name for pipe in _pipes(chip) if pipe.certain and pipe.name in _TENSOR]
    return _Plan(
        sums={quantity: ((terms, 1.0),) for quantity, terms in found.items() if terms is not None},
        pipes=pipes,
        used=answers.used,
        missing=answers.missing,
        not_counted=not_counted,
        every_tensor_pipe=bool(own) and all(name in pipes for name in own),
    )


def _dram(found: Mapping[str, _Sum | None], answers: _Answers, chip: Chip | None) -> _Sum | None:
    """Reads and writes together."""
    read, write = found["dram_read_byte"], found["dram_write_byte"]
    if read is not None and write is not None:
        answers.used["dram_byte"] = _written((*read, *write))
        return (*read, *write)
    both = answers.first("dram_byte", _DRAM)
    if both is not None:
        return both
    if chip is not None and not chip.dram:
        why = "this chip has no counter of DRAM bytes"
        answers.missing |= dict.fromkeys(("dram_byte", "dram_read_byte", "dram_write_byte"), why)
    elif not answers.asked(_own(_DRAM)):
        answers.missing["dram_byte"] = answers.missing["dram_read_byte" if read is None else "dram_write_byte"]
    return None


def _counted(answers: _Answers, chip: Chip | None) -> tuple[dict[str, _Parts], tuple[str, ...]]:
    """The pipes that are counted in full, and those that nobody asked for."""
    counted: dict[str, _Parts] = {}
    not_counted: list[str] = []
    unanswered: list[_Pipe] = []
    for pipe in _pipes(chip):
        if not answers.asked(pipe.metrics):
            if pipe.certain:
                not_counted.append(pipe.name)
            continue
        answering = next((one for one in pipe.sets if all(answers.answering(part) for part, _ in one)), None)
        if answering is None:
            unanswered.append(pipe)
            continue
        parts = tuple((answers.answering(part) or (), flop) for part, flop in answering)
        counted[pipe.name] = parts
        written = (_written(one) if flop == 1 else f"{flop:g} {_written(one)}" for one, flop in parts)
        answers.used[f"flop_by_pipe.{pipe.name}"] = " + ".join(written)
    some_tensor = any(name in _TENSOR for name in counted)
    for pipe in unanswered:
        # Types of the tensor cores that don't answer where others do are types that the chip doesn't have.
        if pipe.certain or not some_tensor or answers.rounded(pipe.metrics):
            begun = next(one for one in pipe.sets if any(answers.asked(_own(part)) for part, _ in one))
            lacking = next(part for part, _ in begun if answers.answering(part) is None)
            answers.missing[f"flop_by_pipe.{pipe.name}"] = answers.why(lacking)
    return counted, tuple(not_counted)


def _why_no_flop(pipes: Mapping[str, _Parts], answers: _Answers) -> str | None:
    lacking = next((name for name in answers.missing if name.startswith("flop_by_pipe.")), None)
    if lacking is not None:
        return f"{lacking.partition('.')[2]} is not counted: {answers.missing[lacking]}"
    if not any(pipe in pipes for pipe in _INSTRUCTIONS):
        return f"the CUDA cores are not counted: {answers.why(_sass('ffma')[:1])}"
    return None


def _amount(parts: _Parts, metrics: Mapping[str, float]) -> float:
    return math.fsum(
        worth * term.factor * math.prod((metrics[term.metric], *(metrics[name] for name in term.times)))
        for terms, worth in parts
        for term in terms
    )


def _tensor_cores(counted: Mapping[str, float], metrics: Mapping[str, float], plan: _Plan) -> bool | None:
    activity = [value for name, value in metrics.items() if name.startswith(_TENSOR_ACTIVITY)]
    if any(activity) or any(flop for pipe, flop in counted.items() if pipe in _TENSOR):
        return True
    return False if activity or plan.every_tensor_pipe else None


@lru_cache(maxsize=32)
def _pipes(chip: Chip | None) -> tuple[_Pipe, ...]:
    """The pipes that the chip has or, as far as is known, may have."""
    pipes: list[_Pipe] = []
    for name, flop in _INSTRUCTIONS.items():
        plain = tuple((_sass(one), worth) for one, worth in flop.items())
        packed = (*plain, *((_sass(one), worth) for one, worth in _PACKED.items()))
        if name != "fp32" or (chip is not None and not chip.packed):
            pipes.append(_pipe(name, (plain,), certain=True))
        else:
            pipes.append(_pipe(name, (packed,) if chip is not None else (packed, plain), certain=True))
    for name, sets in _TENSOR.items():
        own = [sources for sources in sets if chip is not None and set(sources) <= set(chip.tensor)]
        ordered = (*own, *(sources for sources in sets if sources not in own))
        summed = tuple(tuple((_tensor(one), 1.0) for one in sources) for sources in ordered)
        pipes.append(_pipe(name, summed, certain=bool(own)))
    return tuple(pipes)


def _pipe(name: str, sets: tuple[tuple[tuple[_Alternatives, float], ...], ...], *, certain: bool) -> _Pipe:
    metrics = frozenset(metric for one in sets for part, _ in one for metric in _own(part))
    return _Pipe(name=name, sets=sets, metrics=metrics, certain=certain)


def _sass(instruction: str) -> _Alternatives:
    """How often threads executed it. Rates are what ``--set roofline`` and ``--set full`` collect."""
    stem = f"sass_thread_inst_executed_op_{instruction}_pred_on.sum"
    units = ("smsp", "sm")
    return (
        *((_Term(f"{unit}__{stem}"),) for unit in units),
        *((_Term(f"{unit}__{stem}.per_cycle_elapsed", times=(clock, TIME)),) for unit in units for clock in _SM_CLOCKS),
    )


def _tensor(source: str) -> _Alternatives:
    stem = f"sm__ops_path_tensor_src_{source}.sum"
    rates = ((_Term(f"{stem}.per_cycle_elapsed", times=(clock, TIME)),) for clock in reversed(_SM_CLOCKS))
    return ((_Term(stem),), *rates)


def _all_sources() -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for sets in _TENSOR.values() for sources in sets for source in sources))


def _own(alternatives: _Alternatives) -> frozenset[str]:
    """The metrics, without the times and clocks that they are multiplied with, which are asked for in any case."""
    return frozenset(term.metric for terms in alternatives for term in terms)


def _counter(metric: str) -> str:
    """What a metric is the sum, the mean or the rate of."""
    return metric.partition(".")[0]


def _names(terms: _Sum) -> Iterator[str]:
    for term in terms:
        yield term.metric
        yield from term.times


def _written(terms: _Sum) -> str:
    """For people: ``32 dram__sectors_read.sum``."""
    return " + ".join(
        ("" if term.factor == 1 else f"{term.factor:g} ") + " x ".join((term.metric, *term.times)) for term in terms
    )


def _dimension(name: str) -> Dimension:
    if name.startswith("gpu__time_duration"):
        return "time"
    if name in _SM_CLOCKS:
        return "frequency"
    if name.endswith(".per_second"):
        return "byte_per_s"
    if name.endswith(".per_cycle_elapsed"):
        return "per_cycle"
    return "byte" if "_bytes" in name else "count"


def _terms() -> Iterator[_Term]:
    """All that a quantity is made of."""
    sass = (_sass(one) for instructions in (*_INSTRUCTIONS.values(), _PACKED) for one in instructions)
    tensor = (_tensor(source) for source in _all_sources())
    every = (*_QUANTITIES.values(), _DRAM, *sass, *tensor)
    return (term for sets in every for terms in sets for term in terms)


_DIMENSIONS = {name: _dimension(name) for term in _terms() for name in _names((term,))}
"""Of every metric that a quantity is made of."""

_RATES = tuple(dict.fromkeys(term.metric for term in _terms() if TIME in term.times))
"""The metrics that a launch's time makes amounts of."""


def _alike() -> dict[str, _Alternatives]:
    found: dict[str, _Alternatives] = {}
    for quantity, sums in _QUANTITIES.items():
        found |= dict.fromkeys(_own(sums), (*sums, *_DRAM) if quantity.startswith("dram_") else sums)
    for instruction in (*(one for instructions in _INSTRUCTIONS.values() for one in instructions), *_PACKED):
        found |= dict.fromkeys(_own(_sass(instruction)), _sass(instruction))
    for sets in _TENSOR.values():
        plain = {source: _tensor(source)[0][0] for sources in sets for source in sources}
        sums = tuple(tuple(plain[one] for one in sources) for sources in sets if _OF_SEVERAL not in sources)
        found |= {term.metric: sums for term in plain.values()}
    return found


_ALIKE = _alike()
"""By metric the sums of which each tells what it tells, its own with them, the best first."""
