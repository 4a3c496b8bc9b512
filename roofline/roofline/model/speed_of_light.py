"""Speed of light: the least time a machine's roofs allow for the operations of one step.

Eager: the sum over operations of max(FLOP / compute roof of its dtype, byte / roof of the fastest level that could hold
its working set): each operation runs by itself, and inside it arithmetic and transfer may overlap completely.

Compiled, or where operations were not recorded: max(sum of the arithmetic, least bytes of the step / memory roof).
Fusion removes the traffic between operations, so their single bytes bound nothing; the step's least traffic does.

A 3x3 fp32 convolution that may run as Winograd F(2x2, 3x3) needs 1/2.25 of the multiplications (Lavin, Gray 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from roofline.machine.roof_choice import Roofs
from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.record import Device, Operation, Record, Work

WINOGRAD_SAVING = 2.25
_NEGLIGIBLE_FLOP_SHARE = 0.01
"""Share of the FLOPs whose dtype may lack a roof: counted as taking no time, the bound stays a bound."""

Method = Literal["operations", "totals"]
Level = Literal["dram", "llc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The least time that all calls of one operation can take by themselves.

    ``compute_s`` is what its arithmetic takes at the roof of its dtype, None where that has no roof. ``memory_s`` is
    what its bytes take from ``level``, the fastest that could hold what a call touches; None where that has no roof.
    """

    compute_s: float | None
    memory_s: float | None
    level: Level

    @property
    def time_s(self) -> float:
        return _overlapped(self.compute_s or 0.0, self.memory_s or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedOfLight:
    """``time_s`` is the bound. ``compute_s`` and ``memory_s`` are what arithmetic and traffic alone would take.

    ``method`` says whether operations were summed one by one or the step's totals were taken. Where ``time_s`` is
    None, ``why_none`` tells why. ``reservations`` are what makes the bound less certain.
    """

    time_s: float | None
    compute_s: float | None = None
    memory_s: float | None = None
    method: Method | None = None
    why_none: str | None = None
    reservations: tuple[str, ...] = ()


def speed_of_light(record: Record, roofs: Roofs, *, resident: bool) -> SpeedOfLight:
    """The bound for one step of ``record``.

    :param resident: the whole step's data fits into the last-level cache (see placement), so DRAM bounds nothing.
    """
    if record.work is None:
        return SpeedOfLight(time_s=None, why_none="the work of the step was not counted")
    if not roofs.roofs:
        return SpeedOfLight(time_s=None, why_none=f"no roofs: {roofs.why_none}")
    flop_by_dtype = _flop_by_dtype(record.operations) or record.work.flop_by_dtype
    total = sum(flop_by_dtype.values())
    if not math.isfinite(total) or not math.isfinite(record.work.byte_low_per_step):
        return SpeedOfLight(time_s=None, why_none="the count of the step is not a finite number")
    without = roofs.missing(flop_by_dtype)
    if sum(flop_by_dtype[dtype] for dtype in without) > _NEGLIGIBLE_FLOP_SHARE * total:
        return SpeedOfLight(time_s=None, why_none=f"no compute roof for {', '.join(without)}")
    if roofs.get("byte", "dram") is None:
        return SpeedOfLight(time_s=None, why_none="no DRAM roof")
    if record.operations and not compiled(record):
        sol = _eager(record.operations, record.device, roofs)
    else:
        sol = _whole(record, record.work, roofs, resident=resident)
    if sol.time_s is None or not usable_or_zero(sol.time_s):
        return SpeedOfLight(time_s=None, why_none="the counts of the operations are no numbers of a step's size")
    return sol


def compiled(record: Record) -> bool:
    """True if the step ran as a compiled graph."""
    return bool(record.case.config.get("compile")) or (
        record.timing is not None and record.timing.compile_s is not None
    )


def winograd_saving(record: Record) -> float:
    """The factor by which the step may have needed fewer multiplications than were counted.

    Without operations it isn't known which convolutions it ran: then all of its fp32 work may have been Winograd's.
    """
    if record.work is None:
        return 1.0
    if record.operations:
        eligible = sum(one.flop for one in record.operations if one.winograd and one.dtype == "fp32")
        if not eligible:
            return 1.0
        total = sum(one.flop for one in record.operations)
    else:
        eligible, total = record.work.flop_by_dtype.get("fp32", 0.0), sum(record.work.flop_by_dtype.values())
    needed = total - eligible * (1 - 1 / WINOGRAD_SAVING)
    return total / needed if usable(total) and usable(needed) else 1.0


def memory_byte_per_s(roofs: Roofs, *, fits_llc: bool) -> float | None:
    """Roof of the fastest level that could hold the data; None where it fits into a cache whose roof is not known."""
    dram, llc = roofs.value("byte", "dram"), roofs.value("byte", "llc")
    if not fits_llc:
        return dram
    # A cache measured slower than DRAM is noise; the faster one is the bound that holds.
    return None if llc is None else max(llc, dram or 0.0)


def least(operation: Operation, device: Device, roofs: Roofs) -> Least:
    """The bound for all calls of one operation; the sum of them is the speed of light of a step that ran eagerly."""
    compute_s, memory_s, fits = _terms(device, roofs)(operation)
    return Least(compute_s=compute_s, memory_s=memory_s, level="llc" if fits else "dram")


def _eager(operations: Iterable[Operation], device: Device, roofs: Roofs) -> SpeedOfLight:
    time = compute = memory = 0.0
    terms = _terms(device, roofs)
    for operation in operations:
        compute_s, memory_s, _ = terms(operation)
        time += _overlapped(compute_s or 0.0, memory_s or 0.0)
        compute += compute_s or 0.0
        memory += memory_s or 0.0
    reservations = []
    if device.last_level_cache_byte is None:
        reservations.append("the cache's size is not known: every operation was taken to go to DRAM")
    return SpeedOfLight(
        time_s=time, compute_s=compute, memory_s=memory, method="operations", reservations=tuple(reservations)
    )


def _whole(record: Record, work: Work, roofs: Roofs, *, resident: bool) -> SpeedOfLight:
    if record.operations:
        terms = _terms(record.device, roofs)
        compute = sum(terms(operation)[0] or 0.0 for operation in record.operations)
    else:
        compute = sum(flop / roof for dtype, flop in work.flop_by_dtype.items() if (roof := roofs.value("flop", dtype)))
    rate = memory_byte_per_s(roofs, fits_llc=resident)
    memory = 0.0 if rate is None else work.byte_low_per_step / rate
    return SpeedOfLight(time_s=max(compute, memory), compute_s=compute, memory_s=memory, method="totals")


def _terms(device: Device, roofs: Roofs) -> Callable[[Operation], tuple[float | None, float | None, bool]]:
    """Look up the roofs of a device once for the hundreds of operations that a model has.

    :returns: what gives ``compute_s`` and ``memory_s`` of `Least`, and whether what a call touches fits into the cache.
    """
    flop_per_s, cache_byte = roofs.flop_per_s, device.last_level_cache_byte
    from_cache, from_dram = (memory_byte_per_s(roofs, fits_llc=fits) for fits in (True, False))

    def terms(operation: Operation) -> tuple[float | None, float | None, bool]:
        fits = cache_byte is not None and operation.working_set_byte <= cache_byte
        rate = from_cache if fits else from_dram
        memory_s = None if rate is None else operation.byte / rate
        flop = operation.flop
        if flop == 0:
            return 0.0, memory_s, fits
        roof = flop_per_s.get(operation.dtype)
        if roof is None:
            return None, memory_s, fits
        saving = WINOGRAD_SAVING if operation.winograd and operation.dtype == "fp32" else 1.0
        return flop / saving / roof, memory_s, fits

    return terms


def _overlapped(compute_s: float, memory_s: float) -> float:
    """Arithmetic and transfer may overlap completely. What has no roof bounds nothing; an amount that is no number
    leaves the time NaN.
    """
    return memory_s if memory_s > compute_s or memory_s != memory_s else compute_s


def _flop_by_dtype(operations: Iterable[Operation]) -> dict[str, float]:
    total: dict[str, float] = {}
    for operation in operations:
        total[operation.dtype] = total.get(operation.dtype, 0.0) + operation.flop
    return total
