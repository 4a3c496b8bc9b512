"""What to ask Nsight Compute for, by chip, and what to ask for in its place where an ncu doesn't know it."""

from __future__ import annotations

from collections.abc import Set

from roofline.counters.chips import DRAM_READ, DRAM_WRITE, chip_of
from roofline.counters.terms import (
    CACHES,
    DRAM,
    INSTRUCTIONS,
    OF_SEVERAL,
    PACKED,
    SUMS,
    TENSOR,
    TIME,
    Alternatives,
    instruction_count,
    metrics_of,
    own_metrics,
    tensor_count,
    tensor_sources,
)

ASK = "`roofline ncu --ask CC`, with the GPU's compute capability (8.9), lists those to ask for."
"""What to do where an ncu has no metric of a name."""


def byte_metrics(compute_capability: str | None) -> tuple[str, ...]:
    """Bytes by level and the time: what one pass collects.

    Where the chip is not known, or may answer to two names, both are asked for; ncu prints ``n/a`` for one it lacks.
    """
    chip = chip_of(compute_capability)
    dram = (*DRAM_READ, *DRAM_WRITE) if chip is None else chip.dram
    return (*dram, *CACHES, TIME)


def flop_metrics(compute_capability: str | None, tensor: bool) -> tuple[str, ...]:
    """FLOP instructions of the CUDA cores (one pass) and, with ``tensor``, operations of the tensor cores by source
    type (four passes more on compute capability 8.0 to 9.0).
    """
    chip = chip_of(compute_capability)
    cuda = [name for instructions in INSTRUCTIONS.values() for name in instructions]
    if chip is None or chip.packed:
        cuda += PACKED
    sources = () if not tensor else tensor_sources() if chip is None else chip.tensor
    first = (alternatives[0][0] for alternatives in (*map(instruction_count, cuda), *map(tensor_count, sources)))
    return tuple(term.metric for term in first)


def instead(metric: str, unknown: Set[str]) -> tuple[str, ...]:
    """What to ask for in the place of a metric that an ncu doesn't know: the next that tell the same.

    A counter that it doesn't know in one form (``.sum``) it knows in none.

    :param unknown: all metrics that it is known not to know.
    :returns: empty where nothing is left.
    """
    counters = {_counter(name) for name in unknown}
    ways = (tuple(metrics_of(terms)) for terms in _ALIKE.get(metric, ()))
    return next((names for names in ways if counters.isdisjoint(map(_counter, names))), ())


def _counter(metric: str) -> str:
    """What a metric is the sum, the mean or the rate of."""
    return metric.partition(".")[0]


def _alike() -> dict[str, Alternatives]:
    found: dict[str, Alternatives] = {}
    for quantity, sums in SUMS.items():
        found |= dict.fromkeys(own_metrics(sums), (*sums, *DRAM) if quantity.startswith("dram_") else sums)
    for instruction in (*(one for instructions in INSTRUCTIONS.values() for one in instructions), *PACKED):
        found |= dict.fromkeys(own_metrics(instruction_count(instruction)), instruction_count(instruction))
    for sets in TENSOR.values():
        plain = {source: tensor_count(source)[0][0] for sources in sets for source in sources}
        sums = tuple(tuple(plain[one] for one in sources) for sources in sets if OF_SEVERAL not in sources)
        found |= {term.metric: sums for term in plain.values()}
    return found


_ALIKE = _alike()
"""By metric the sums of which each tells what it tells, its own with them, the best first."""
