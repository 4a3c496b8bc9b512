"""Place a case on its machine's roofline: attained FLOP/s, intensity, the roof above it.

Attained = FLOP of a step / time of a step. Intensity = FLOP / byte, and a range where bytes are a range: from
FLOP / byte_high to FLOP / byte_low. Attainable = min(compute roof, memory roof x intensity), at both ends of it.

Provenance of the bytes, best first: ``counters`` (read from the hardware), ``analytic`` (counted from the operations),
``time_only`` (no bytes: intensity = attained / memory roof, which puts every point on the memory roof by construction,
so that nothing may be concluded from it), ``none`` (no FLOPs either).

The FLOPs have a source of their own, ``counters`` or ``analytic``: where a metric lacks, or one of the two runs under
ncu failed, either may be by counters and the other counted. Counters that got a matrix product of known size wrong are
taken for no FLOPs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from roofline.machine.roof_choice import Roofs
from roofline.model.counter_values import counters_of, unit_fails
from roofline.model.speed_of_light import memory_byte_per_s, winograd_saving
from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.timing.step_time import undisturbed

HOST_BOUND_DEVICE_SHARE = 0.70
"""The device busy for less than this share of the wall time: the host sets the pace."""

Provenance = Literal["counters", "analytic", "time_only", "none"]
FlopSource = Literal["counters", "analytic"]
TimeBasis = Literal["wall", "device"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A point and its roofs; every number is finite and above 0, or None.

    ``provenance`` is that of the bytes and ``flop_source`` that of the FLOPs, None without any. ``time_s`` is the step
    time the point is placed by and ``time_basis`` whose: the device's where the host sets the pace, since the roof is
    the device's. ``device_share`` is what `busy_share` says. ``roof_source`` is that of the roofs over this point, and
    ``compute_source`` that of its compute roof alone. ``winograd_saving`` is how many times fewer multiplications the
    step may have needed than were counted.
    ``fraction_low`` and ``fraction_high`` are attained / attainable at the high and at the low end of the intensity
    range. ``why_not`` says why the point can't be drawn.
    """

    provenance: Provenance
    flop_source: FlopSource | None = None
    time_s: float | None = None
    time_basis: TimeBasis = "wall"
    device_share: float | None = None
    attained_flop_per_s: float | None = None
    intensity_low: float | None = None
    intensity_high: float | None = None
    compute_flop_per_s: float | None = None
    memory_byte_per_s: float | None = None
    memory_level: Literal["dram", "llc"] | None = None
    roof_source: str | None = None
    compute_source: str | None = None
    winograd_saving: float = 1.0
    cache_resident: bool = False
    fraction_low: float | None = None
    fraction_high: float | None = None
    why_not: str | None = None

    @property
    def knee(self) -> float | None:
        """FLOP/byte at which the two roofs over this point meet."""
        if self.compute_flop_per_s is None or self.memory_byte_per_s is None:
            return None
        return self.compute_flop_per_s / self.memory_byte_per_s

    @property
    def work_source(self) -> str:
        """The source of the work: one word where bytes and FLOPs have the same source, else both:

        >>> Placement(provenance="counters", flop_source="analytic").work_source
        'counters (FLOP analytic)'
        """
        if self.provenance in ("time_only", "none") or self.flop_source in (None, self.provenance):
            return self.provenance
        return f"{self.provenance} (FLOP {self.flop_source})"

    @property
    def fraction_of_compute(self) -> float | None:
        """Attained / compute roof, whatever the intensity: the "percent of peak" of reports."""
        if self.attained_flop_per_s is None or self.compute_flop_per_s is None:
            return None
        return self.attained_flop_per_s / self.compute_flop_per_s


def place(record: Record | None, roofs: Roofs) -> Placement:
    """The point of one benchmark. Never raises: what is missing or unusable is said in ``why_not``."""
    if record is None:
        return Placement(
            provenance="none", why_not="no record of the work: a plain benchmark, without the fixture roofline"
        )
    if record.timing is None or not usable(record.timing.step_time_s):
        return Placement(provenance="none", why_not="no step time")
    share, time_s = busy_share(record), record.timing.step_time_s
    basis: TimeBasis = "wall"
    if share is not None and share < HOST_BOUND_DEVICE_SHARE:
        basis, time_s = "device", time_s * share
    flop, flop_source = _flop(record)
    if flop is None:
        why = "the work was not counted" if record.work is None else "no FLOPs counted"
        return Placement(provenance="none", time_s=time_s, time_basis=basis, device_share=share, why_not=why)
    attained = flop / time_s
    resident = is_cache_resident(record)
    compute = roofs.compute_flop_per_s(record.work.flop_by_dtype) if record.work is not None else None
    memory = memory_byte_per_s(roofs, fits_llc=resident)
    level: Literal["dram", "llc"] | None = None if memory is None else "llc" if resident else "dram"
    dtypes = [dtype for dtype, amount in record.work.flop_by_dtype.items() if amount > 0] if record.work else []
    provenance, low, high, why_not = _intensity(record, flop, attained, roofs.value("byte", "dram"))
    fraction_low = fraction_high = None
    # From time alone the attainable is the attained: a fraction of that roof says nothing.
    if low is not None and high is not None and compute is not None and provenance != "time_only":
        fraction_low = attained / _attainable(high, compute, memory)
        fraction_high = attained / _attainable(low, compute, memory)
    return Placement(
        provenance=provenance,
        flop_source=flop_source,
        time_s=time_s,
        time_basis=basis,
        device_share=share,
        attained_flop_per_s=attained,
        intensity_low=low,
        intensity_high=high,
        compute_flop_per_s=compute,
        memory_byte_per_s=memory,
        memory_level=level,
        roof_source=roofs.source_of([*dtypes, *([level] if level else [])]),
        compute_source=roofs.source_of(dtypes),
        winograd_saving=1.0 if flop_source == "counters" else winograd_saving(record),
        cache_resident=resident,
        fraction_low=fraction_low,
        fraction_high=fraction_high,
        why_not=why_not,
    )


def is_cache_resident(record: Record) -> bool:
    """True if everything the step touches fits into the last-level cache, so that DRAM is no roof of it.

    What a step touches is at most what it reads and writes altogether; where the parts are recorded, their sum and its
    inputs. Those are what remains of the least bytes, in which parameters and optimiser state are read and written.
    """
    size, work = record.device.last_level_cache_byte, record.work
    if size is None or work is None or not usable(work.byte_high_per_step):
        return False
    parts = (work.parameter_byte, work.gradient_byte, work.optimizer_state_byte, work.activation_byte)
    touched = work.byte_high_per_step
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        parameters, gradients, state, _ = known
        inputs = max(0.0, work.byte_low_per_step - 2 * parameters - 2 * state - gradients)
        touched = min(touched, sum(known) + inputs)
    return touched <= size


def busy_share(record: Record) -> float | None:
    """Share of the wall time in which something ran on the device; None where that isn't known.

    By the kernels that the profiler saw run in one step, over the step as it was timed without it. Else by the device's
    events around the rounds: they count the gaps between kernels as well, so that the share is the most it can be.
    """
    timing, profile = record.timing, record.profile
    if timing is None or not usable(timing.step_time_s):
        return None
    if profile is not None and profile.device_busy_s is not None and usable(profile.device_busy_s):
        return profile.device_busy_s / timing.step_time_s
    rounds = timing.rounds
    if rounds.device_s is None:
        return None
    wall, device = (sum(undisturbed(series, rounds.disturbed)) for series in (rounds.wall_s, rounds.device_s))
    return device / wall if usable(wall) and usable(device) else None


def _flop(record: Record) -> tuple[float | None, FlopSource | None]:
    counters = counters_of(record)
    if counters is not None and counters.flop is not None and usable(counters.flop) and not unit_fails(counters):
        return counters.flop, "counters"
    if record.work is not None and usable(record.work.flop_per_step):
        return record.work.flop_per_step, "analytic"
    return None, None


def _intensity(
    record: Record, flop: float, attained: float, dram: float | None
) -> tuple[Provenance, float | None, float | None, str | None]:
    counters, work = counters_of(record), record.work
    if counters is not None and counters.dram_byte is not None and usable(counters.dram_byte):
        intensity = flop / counters.dram_byte
        return "counters", intensity, intensity, None
    if work is not None and math.isfinite(work.byte_low_per_step) and math.isfinite(work.byte_high_per_step):
        in_order = work.byte_low_per_step <= work.byte_high_per_step
        if not in_order or not usable(work.byte_low_per_step) or not usable(work.byte_high_per_step):
            counted = f"{work.byte_low_per_step:g} to {work.byte_high_per_step:g}"
            return "none", None, None, f"the bytes counted are no range above 0: {counted}"
        return "analytic", flop / work.byte_high_per_step, flop / work.byte_low_per_step, None
    if dram is not None:
        intensity = attained / dram
        return "time_only", intensity, intensity, None
    return "none", None, None, "no bytes counted, and no DRAM roof to estimate the intensity from"


def _attainable(intensity: float, compute: float, memory: float | None) -> float:
    return compute if memory is None else min(compute, memory * intensity)
