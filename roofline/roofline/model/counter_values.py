"""The hardware counters of a step that can be calculated with, and what follows from them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from roofline.schema.record import Counters, Record

_HAVE_VALUES = ("ok", "missing_metric")
"""States in which counters were read: all of them, or but for some that the chip or the tool doesn't have."""

UNIT_AGREEMENT = 0.02
"""Of a matrix product of known size, counted over known FLOPs: further from 1 the counters count something else."""

TENSOR = "tensor_"
"""Begins the name of what ran on tensor cores in ``flop_by_pipe``; the type of the source follows."""


def counters_of(record: Record) -> Counters | None:
    """The counters of a record, where any were read; whatever else its status says, no value of it is used.

    Where the step's FLOPs lack a metric, its pipes are only a part of them, and left out.
    """
    counters = record.counters
    if counters is None or counters.status not in _HAVE_VALUES:
        return None
    if counters.status == "missing_metric" and counters.flop is None:
        return replace(counters, flop_by_pipe=None)
    return counters


def unit_fails(counters: Counters) -> bool:
    """True if a matrix product of known size showed that a counted FLOP is none. Where none was counted, it didn't."""
    ratio = counters.unit_check
    return ratio is not None and not abs(ratio - 1) <= UNIT_AGREEMENT


def tensor_share(flop_by_pipe: Mapping[str, float] | None) -> float | None:
    """Share of the FLOPs that ran on tensor cores; None where no FLOPs were counted."""
    total = sum((flop_by_pipe or {}).values())
    if flop_by_pipe is None or not total > 0:
        return None
    return sum(flop for pipe, flop in flop_by_pipe.items() if pipe.startswith(TENSOR)) / total


def roof_name(pipe: str) -> str | None:
    """The compute roof over what ran on a pipe; None where no roof is measured of it.

    Of half precision on CUDA cores there is none: the roof ``fp16`` is that of the tensor cores.
    """
    if pipe.startswith(TENSOR):
        return pipe.removeprefix(TENSOR)
    return None if pipe in ("fp16", "bf16") else pipe
