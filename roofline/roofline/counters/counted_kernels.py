"""The kernels of one step as hardware counters saw them: each one's work, and which of the machine's roofs bounds it.

The bound of a kernel, from its time t under the counters and the least times by the roofs:

    arithmetic = sum over its pipes of FLOP / compute roof of the pipe's type
    traffic    = max(DRAM byte / DRAM roof, L2 byte / roof of the last-level cache), of those that are known

1. No time, or no roof for one of the two: **undetermined**.
2. Both, and launches x launch latency, below 5 % of t: **undetermined**, far below its roofs.
3. Launches x launch latency above both: **launch**.
4. Arithmetic at least 15 % above traffic: **compute**; 15 % below: **memory**; between: **undetermined**.

t is taken with the kernels one after the other and a profiler around them: it serves this sorting out, and is never a
timing of the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from roofline.counters.kernel_kinds import kind_of, named_for_tensor_cores
from roofline.counters.quantities import LEVELS
from roofline.machine.roof_choice import Roofs
from roofline.model.bounds import side_of_knee
from roofline.model.counter_values import TENSOR, counters_of, roof_name, tensor_share
from roofline.model.operations import Limit, concluded, not_by_roofs
from roofline.schema.amounts import usable, usable_amount, usable_or_zero
from roofline.schema.record import KernelCounters, Record

_NOT_READ = "not read"
_TENSOR_CORES_NOT_READ = "its name tells of tensor cores, whose operations were not collected"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedKernel:
    """All launches of one kernel in one step. Every number is finite and at least 0, or None where it isn't known.

    ``flop`` is the sum over ``flop_by_pipe``; both are None where a pipe lacks, and ``no_flop`` says why. ``byte`` has
    those of each of `LEVELS`. ``limit`` is what bounds it, ``why`` in a few words.
    """

    name: str
    kind: str
    launches: int
    time_s: float | None
    flop: float | None
    flop_by_pipe: Mapping[str, float] | None
    byte: Mapping[str, float | None]
    limit: Limit
    why: str
    no_flop: str | None = None

    @property
    def tensor_share(self) -> float | None:
        """Share of its FLOPs that ran on tensor cores."""
        return tensor_share(self.flop_by_pipe)

    def intensity(self, level: str) -> float | None:
        """FLOP/byte of one of `LEVELS`; None where one of them isn't known, or there is nothing of it."""
        byte = self.byte[level]
        return self.flop / byte if self.flop and byte else None

    @property
    def flop_per_s(self) -> float | None:
        """By its own time."""
        return self.flop / self.time_s if self.flop and self.time_s else None


def counted_kernels(record: Record, roofs: Roofs) -> tuple[CountedKernel, ...]:
    """The kernels of a record's counters, those that took longest first; none where there are no counters."""
    counters = counters_of(record)
    if counters is None:
        return ()
    latency = roofs.value("latency", "launch")
    counted = (_counted(kernel, roofs, latency) for kernel in counters.kernels)
    return tuple(sorted(counted, key=lambda one: -(one.time_s or 0.0)))


def without_flop(kernels: Sequence[CountedKernel]) -> str | None:
    """Say how many of the kernels have FLOPs that aren't known, and why; None where all are known."""
    reasons = [one.no_flop or _NOT_READ for one in kernels if one.flop is None]
    if not reasons:
        return None
    why = "; ".join(reason for reason in dict.fromkeys(reasons) if reason != _NOT_READ)
    return f"the FLOPs of {len(reasons)} of {len(kernels)} kernels were not read" + (f" ({why})" if why else "")


def flop_by_pipe(kernels: Iterable[CountedKernel]) -> dict[str, float]:
    """The sum over the kernels whose FLOPs are known."""
    total: dict[str, float] = {}
    for one in kernels:
        for pipe, flop in (one.flop_by_pipe or {}).items():
            total[pipe] = total.get(pipe, 0.0) + flop
    return total


def _why_no_flop(kernel: KernelCounters) -> str | None:
    """Say why a kernel's FLOPs aren't known; None where they are."""
    by_pipe = kernel.flop_by_pipe
    if by_pipe is None or not all(map(usable_or_zero, by_pipe.values())):
        return _NOT_READ
    if kernel.flop_lacks is not None:
        return kernel.flop_lacks
    # What is left of a product on tensor cores is its epilogue.
    counted = any(pipe.startswith(TENSOR) for pipe in by_pipe) or not named_for_tensor_cores(kernel.name)
    return None if counted else _TENSOR_CORES_NOT_READ


def _counted(kernel: KernelCounters, roofs: Roofs, latency: float | None) -> CountedKernel:
    no_flop = _why_no_flop(kernel)
    by_pipe = kernel.flop_by_pipe if no_flop is None else None
    time_s = kernel.time_s if kernel.time_s is not None and usable(kernel.time_s) else None
    launches = max(0, kernel.launches)
    byte = {level: usable_amount(getattr(kernel, level)) for level in LEVELS}
    launches_s = 0.0 if latency is None else latency * launches
    limit, why = _limit(time_s, by_pipe, byte, roofs, launches_s)
    return CountedKernel(
        name=kernel.name,
        kind=kind_of(kernel.name),
        launches=launches,
        time_s=time_s,
        flop=None if by_pipe is None else sum(by_pipe.values()),
        flop_by_pipe=by_pipe,
        byte=byte,
        limit=limit,
        why=why,
        no_flop=no_flop,
    )


def _limit(
    time_s: float | None,
    by_pipe: Mapping[str, float] | None,
    byte: Mapping[str, float | None],
    roofs: Roofs,
    launches_s: float,
) -> tuple[Limit, str]:
    if time_s is None:
        return "undetermined", "no time seen"
    arithmetic, traffic = _arithmetic(by_pipe, roofs), _traffic(byte["dram_byte"], byte["l2_byte"], roofs)
    if isinstance(arithmetic, str):
        return "undetermined", arithmetic
    if isinstance(traffic, str):
        return "undetermined", traffic
    (compute_s, units), (memory_s, level) = arithmetic, traffic
    limit = not_by_roofs(time_s, max(compute_s, memory_s), launches_s)
    return limit or concluded(side_of_knee(compute_s, memory_s), units, level)


def _arithmetic(by_pipe: Mapping[str, float] | None, roofs: Roofs) -> tuple[float, str] | str:
    """Seconds that all pipes take by turns, and where most of them go; or why that isn't known."""
    if by_pipe is None:
        return "FLOPs not counted"
    seconds: dict[str, float] = {}
    for pipe, flop in by_pipe.items():
        if not flop:
            continue
        name = roof_name(pipe)
        roof = None if name is None else roofs.value("flop", name)
        if roof is None:
            return f"no compute roof for {pipe}"
        seconds[pipe] = flop / roof
    if not seconds:
        return 0.0, "no FLOPs"
    longest = max(seconds, key=lambda pipe: seconds[pipe])
    units = (
        f"tensor cores ({longest.removeprefix(TENSOR)})" if longest.startswith(TENSOR) else f"CUDA cores ({longest})"
    )
    return sum(seconds.values()), units


def _traffic(dram_byte: float | None, l2_byte: float | None, roofs: Roofs) -> tuple[float, str] | str:
    """Seconds that the slower of the two levels takes, and which it is; or why that isn't known."""
    if dram_byte is None and l2_byte is None:
        return "bytes not counted"
    levels = {
        name: byte / roof.value
        for name, byte, roof in (
            ("DRAM", dram_byte, roofs.get("byte", "dram")),
            ("last-level cache", l2_byte, roofs.get("byte", "llc")),
        )
        if byte is not None and roof is not None
    }
    if not levels:
        return "no memory roof"
    slowest = max(levels, key=lambda name: levels[name])
    return levels[slowest], slowest
