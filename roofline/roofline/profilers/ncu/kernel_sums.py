"""Files of Nsight Compute in, kernels with what their counters add up to out: by launch, by kernel, by kind, in total.

Amounts are summed, and rates are made of the sums: a sum or a mean of rates is the rate of nothing. A sum is there only
where every launch has its part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roofline.counters.kernel_kinds import kind_of, named_for_tensor_cores
from roofline.counters.launch_amounts import LaunchAmounts, launch_amounts
from roofline.counters.quantities import NAMES
from roofline.files.decoding import content_of, printed_text, refuse_binary
from roofline.profilers.ncu import csv_pages, rep_file
from roofline.profilers.ncu.launches import Capture, Launch, in_range, join
from roofline.profilers.ncu.values import Mark


def read(path: Path, decimal: Mark | None = None) -> Capture:
    """The launches of one file: what ``ncu --csv`` printed, or a report.

    :param decimal: what stands before its decimals, where the user knows.
    :raises ReadError: it can't be read, with file, line, what is wrong and what to give instead.
    """
    content = content_of(path)
    if path.suffix == ".ncu-rep" or content.startswith(b"NVR\0"):
        return rep_file.parse(path)
    refuse_binary(path, content)
    return csv_pages.parse(path, printed_text(content), decimal)


def read_all(paths: Sequence[Path], decimal: Mark | None = None, nvtx_range: str | None = None) -> Capture:
    """The launches of one program, with the metrics of all files; where several have one metric, the first file's.

    :param nvtx_range: the name of the range whose launches alone are wanted.
    :raises ReadError: a file can't be read, two have other launches, or none is in the range.
    """
    captures = [read(path, decimal) for path in paths]
    joined = captures[0]
    for other in captures[1:]:
        joined = join(joined, other)
    joined = in_range(joined, nvtx_range)
    return replace(joined, passes_by_file={one.source: one.passes for one in captures})


_TENSOR = "tensor_"
_PIPE = "flop_by_pipe."


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSum:
    """A launch, or several together. ``amounts`` has each of `QUANTITIES` by its name.

    None: not had, and ``missing`` says why. The time is under the profiler: never a timing.
    """

    name: str
    kind: str | None
    launches: int
    amounts: Mapping[str, float | None]
    flop_by_pipe: Mapping[str, float] | None
    tensor_cores: bool | None
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def intensity(self) -> float | None:
        """FLOP per byte of DRAM."""
        flop, byte = self.amounts["flop"], self.amounts["dram_byte"]
        return flop / byte if flop is not None and byte else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedCapture:
    """A capture, worked out. ``metrics`` tells by quantity which metrics answered, ``not_counted`` which pipes nobody
    asked for.
    """

    capture: Capture
    kernels: tuple[KernelSum, ...]
    total: KernelSum
    metrics: Mapping[str, str]
    not_counted: tuple[str, ...]


def count(capture: Capture) -> CountedCapture:
    """Every launch of the capture, in order."""
    worked_out = [
        launch_amounts(one.metrics, absent=one.absent, compute_capability=one.compute_capability)
        for one in capture.launches
    ]
    metrics: dict[str, dict[str, None]] = {}
    for one in worked_out:
        for quantity, metric in one.metrics.items():
            metrics.setdefault(quantity, {}).setdefault(metric)
    not_counted = dict.fromkeys(pipe for one in worked_out for pipe in one.not_counted)
    kernels = tuple(_kernel(launch, one) for launch, one in zip(capture.launches, worked_out, strict=True))
    return CountedCapture(
        capture=capture,
        kernels=kernels,
        total=together(kernels, "total", None),
        metrics={quantity: "; ".join(names) for quantity, names in metrics.items()},
        not_counted=tuple(not_counted),
    )


def by_kernel(kernels: Iterable[KernelSum]) -> list[KernelSum]:
    """All launches of a kernel in one row, the one with the most time first."""
    return _grouped(kernels, lambda one: one.name)


def by_kind(kernels: Iterable[KernelSum]) -> list[KernelSum]:
    """All launches of a kind in one row, the one with the most time first."""
    return _grouped(kernels, lambda one: one.kind or "")


def slowest_first(kernels: Iterable[KernelSum]) -> list[KernelSum]:
    """Those without a time last, in their order."""
    return sorted(kernels, key=lambda one: -1.0 if (time_s := one.amounts["time_s"]) is None else time_s, reverse=True)


def together(kernels: Sequence[KernelSum], name: str, kind: str | None) -> KernelSum:
    """The sums over kernels."""
    missing: dict[str, str] = {}
    amounts = {name: _sum(kernels, name, missing) for name in NAMES}
    used = [one.tensor_cores for one in kernels]
    # No only where all are known not to have.
    tensor_cores = True if any(used) else None if None in used else False
    return KernelSum(
        name=name,
        kind=kind,
        launches=sum(one.launches for one in kernels),
        amounts=amounts,
        flop_by_pipe=_sum_by_pipe(kernels, missing),
        tensor_cores=tensor_cores,
        missing=_with_derived(missing, amounts, tensor_cores),
    )


def _kernel(launch: Launch, found: LaunchAmounts) -> KernelSum:
    amounts, missing = dict(found.amounts), dict(found.missing)
    tensor = [flop for pipe, flop in (found.flop_by_pipe or {}).items() if pipe.startswith(_TENSOR)]
    counted = any(tensor) or (tensor and not any(pipe.startswith(_TENSOR) for pipe in found.not_counted))
    unseen = not counted and found.tensor_cores is not False and named_for_tensor_cores(launch.name)
    if amounts["flop"] is not None and unseen:
        amounts["flop"] = None
        missing["flop"] = "its name tells of tensor cores, whose operations were not collected"
    return KernelSum(
        name=launch.name,
        kind=kind_of(launch.name),
        launches=launch.launches,
        amounts=amounts,
        flop_by_pipe=found.flop_by_pipe,
        tensor_cores=found.tensor_cores,
        missing=_with_derived(missing, amounts, found.tensor_cores),
    )


def _grouped(kernels: Iterable[KernelSum], key: Callable[[KernelSum], str]) -> list[KernelSum]:
    groups: dict[str, list[KernelSum]] = {}
    for one in kernels:
        groups.setdefault(key(one), []).append(one)
    return slowest_first(together(group, name, group[0].kind) for name, group in groups.items())


def _with_derived(
    missing: Mapping[str, str], amounts: Mapping[str, float | None], tensor_cores: bool | None
) -> dict[str, str]:
    reasons = dict(missing)
    lacking = next((name for name in ("flop", "dram_byte") if amounts[name] is None), None)
    if lacking is not None:
        reasons["intensity_flop_per_byte"] = f"no {lacking}: {missing[lacking]}"
    elif not amounts["dram_byte"]:
        reasons["intensity_flop_per_byte"] = "no byte of DRAM was moved"
    if tensor_cores is None:
        reasons["tensor_cores"] = "nothing that was collected tells whether they did anything"
    return reasons


def _sum(kernels: Sequence[KernelSum], quantity: str, missing: dict[str, str]) -> float | None:
    """The sum; None where a kernel has no part of it, with the reason put into ``missing``."""
    values = [one.amounts[quantity] for one in kernels]
    had = [value for value in values if value is not None]
    if len(had) == len(values):
        return math.fsum(had)
    lacking = [one for one, value in zip(kernels, values, strict=True) if value is None]
    missing[quantity] = _why(lacking, kernels, quantity)
    return None


def _why(lacking: Sequence[KernelSum], kernels: Sequence[KernelSum], quantity: str) -> str:
    why = lacking[0].missing[quantity]
    if len(lacking) == len(kernels):
        return why
    launches, every = sum(one.launches for one in lacking), sum(one.launches for one in kernels)
    return f"{launches} of {every} launches have none, first {lacking[0].name!r:.80}: {why}"


def _sum_by_pipe(kernels: Sequence[KernelSum], missing: dict[str, str]) -> dict[str, float] | None:
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
