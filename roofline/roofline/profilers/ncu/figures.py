"""Kernels with what their counters add up to: by launch, by kernel, by kind, and all together.

Amounts are summed, and rates are made of the sums: a sum or a mean of rates is the rate of nothing. A sum is there only
where every launch has its part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from roofline.counters.figures import QUANTITIES, KernelFigures, figures
from roofline.counters.kernel_kinds import kind_of, named_for_tensor_cores
from roofline.profilers.captures import Capture, Launch

_TENSOR = "tensor_"
_PIPE = "flop_by_pipe."


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A launch, or several together. None: not had, and ``missing`` says why.

    ``time_s`` is under the profiler: never a timing. ``intensity`` is ``flop`` / ``dram_byte``, FLOP/byte.
    """

    name: str
    kind: str | None
    launches: int
    time_s: float | None
    flop: float | None
    flop_by_pipe: Mapping[str, float] | None
    dram_byte: float | None
    dram_read_byte: float | None
    dram_write_byte: float | None
    l2_byte: float | None
    l1_byte: float | None
    tensor_cores: bool | None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def intensity(self) -> float | None:
        return self.flop / self.dram_byte if self.flop is not None and self.dram_byte else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A capture, worked out. ``metrics`` tells by quantity which metrics answered, ``not_counted`` which pipes nobody
    asked for, ``compute_capability`` the chip, ``passes`` and ``passes_by_file`` as in `Capture`.
    """

    kernels: tuple[Kernel, ...]
    total: Kernel
    metrics: Mapping[str, str]
    not_counted: tuple[str, ...]
    compute_capability: str | None
    passes: int | None
    passes_by_file: Mapping[str, int | None]
    notes: tuple[str, ...]


def count(capture: Capture) -> Counted:
    """Every launch of the capture, in order."""
    worked_out = [
        figures(one.metrics, absent=one.absent, compute_capability=one.compute_capability) for one in capture.launches
    ]
    metrics: dict[str, dict[str, None]] = {}
    for one in worked_out:
        for quantity, metric in one.metrics.items():
            metrics.setdefault(quantity, {}).setdefault(metric)
    not_counted = dict.fromkeys(pipe for one in worked_out for pipe in one.not_counted)
    kernels = tuple(_kernel(launch, one) for launch, one in zip(capture.launches, worked_out, strict=True))
    return Counted(
        kernels=kernels,
        total=together(kernels, "total", None),
        metrics={quantity: "; ".join(names) for quantity, names in metrics.items()},
        not_counted=tuple(not_counted),
        compute_capability=next((one.compute_capability for one in capture.launches if one.compute_capability), None),
        passes=capture.passes,
        passes_by_file=capture.passes_by_file,
        notes=capture.notes,
    )


def by_kernel(kernels: Iterable[Kernel]) -> list[Kernel]:
    """All launches of a kernel in one row, the one with the most time first."""
    return _grouped(kernels, lambda one: one.name)


def by_kind(kernels: Iterable[Kernel]) -> list[Kernel]:
    """All launches of a kind in one row, the one with the most time first."""
    return _grouped(kernels, lambda one: one.kind or "")


def slowest_first(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Those without a time last, in their order."""
    return sorted(kernels, key=lambda one: -1.0 if one.time_s is None else one.time_s, reverse=True)


def together(kernels: Sequence[Kernel], name: str, kind: str | None) -> Kernel:
    """The sums over kernels."""
    missing: dict[str, str] = {}
    sums = {quantity: _sum(kernels, quantity, missing) for quantity in QUANTITIES}
    return Kernel(
        name=name,
        kind=kind,
        launches=sum(one.launches for one in kernels),
        **sums,
        flop_by_pipe=_sum_by_pipe(kernels, missing),
        tensor_cores=_any([one.tensor_cores for one in kernels]),
        missing=_with_intensity(missing, sums["flop"], sums["dram_byte"]),
    )


def _kernel(launch: Launch, found: KernelFigures) -> Kernel:
    missing = dict(found.missing)
    flop = found.flop
    amounts = [amount for pipe, amount in (found.flop_by_pipe or {}).items() if pipe.startswith(_TENSOR)]
    counted = any(amounts) or (amounts and not any(pipe.startswith(_TENSOR) for pipe in found.not_counted))
    if flop is not None and not counted and found.tensor_cores is not False and named_for_tensor_cores(launch.name):
        flop = None
        missing["flop"] = "its name tells of tensor cores, whose operations were not collected"
    return Kernel(
        name=launch.name,
        kind=kind_of(launch.name),
        launches=launch.launches,
        time_s=found.time_s,
        flop=flop,
        flop_by_pipe=found.flop_by_pipe,
        dram_byte=found.dram_byte,
        dram_read_byte=found.dram_read_byte,
        dram_write_byte=found.dram_write_byte,
        l2_byte=found.l2_byte,
        l1_byte=found.l1_byte,
        tensor_cores=found.tensor_cores,
        missing=_with_intensity(missing, flop, found.dram_byte),
    )


def _grouped(kernels: Iterable[Kernel], key: Callable[[Kernel], str]) -> list[Kernel]:
    groups: dict[str, list[Kernel]] = {}
    for one in kernels:
        groups.setdefault(key(one), []).append(one)
    return slowest_first(together(group, name, group[0].kind) for name, group in groups.items())


def _with_intensity(missing: Mapping[str, str], flop: float | None, dram_byte: float | None) -> dict[str, str]:
    if flop is None or dram_byte is None:
        lacking = "flop" if flop is None else "dram_byte"
        return {**missing, "intensity": f"no {lacking}: {missing[lacking]}"}
    return dict(missing) if dram_byte else {**missing, "intensity": "no byte of DRAM was moved"}


def _sum(kernels: Sequence[Kernel], quantity: str, missing: dict[str, str]) -> float | None:
    """The sum; None where a kernel has no part of it, with the reason put into ``missing``."""
    values: list[float | None] = [getattr(one, quantity) for one in kernels]
    had = [value for value in values if value is not None]
    if len(had) == len(values):
        return math.fsum(had)
    lacking = [one for one, value in zip(kernels, values, strict=True) if value is None]
    missing[quantity] = _why(lacking, kernels, quantity)
    return None


def _why(lacking: Sequence[Kernel], kernels: Sequence[Kernel], quantity: str) -> str:
    why = lacking[0].missing[quantity]
    if len(lacking) == len(kernels):
        return why
    launches, every = sum(one.launches for one in lacking), sum(one.launches for one in kernels)
    return f"{launches} of {every} launches have none, first {lacking[0].name!r:.80}: {why}"


def _sum_by_pipe(kernels: Sequence[Kernel], missing: dict[str, str]) -> dict[str, float] | None:
    """Of the pipes that every kernel has."""
    without = [one for one in kernels if one.flop_by_pipe is None]
    if without:
        missing["flop_by_pipe"] = _why(without, kernels, "flop_by_pipe")
        return None
    counted = [one.flop_by_pipe or {} for one in kernels]
    sums: dict[str, float] = {}
    for pipe in dict.fromkeys(pipe for pipes in counted for pipe in pipes):
        values = [pipes[pipe] for pipes in counted if pipe in pipes]
        if len(values) == len(counted):
            sums[pipe] = math.fsum(values)
        else:
            missing[_PIPE + pipe] = f"{len(counted) - len(values)} of {len(counted)} kernels have none"
    if not sums:
        missing["flop_by_pipe"] = "no pipe was counted of every kernel"
    return sums or None


def _any(answers: Sequence[bool | None]) -> bool | None:
    """True where one is; False where all are known to be."""
    if any(answers):
        return True
    return None if None in answers else False
