"""Flags: doubts about a number, each with its evidence and arithmetic. Nothing is clipped or dropped.

The flags found here are added to those the measuring side put into the record.
Those of a case's rounds are in `roofline.timing.round_flags`.

- ``..._disproved`` (invalid): a check of the record failed. The measuring side sets this flag itself, under the same
  name; a record from elsewhere may tell of its checks alone.
- ``unproven`` (invalid): the record of a case has no check at all. The measuring side writes some with every case.
- ``impossible_work`` (invalid): FLOPs or bytes below 0 or not finite, least bytes above the most, or FLOPs that are not
  the sum of those by dtype.
- ``above_roof``: attained more than the roof allows: a roof or a count is wrong.
- ``faster_than_peak`` (invalid): attained more than a clock above the rated one explains (1.25 times) of a published
  compute roof, where fp32 3x3 convolutions count with the 1/2.25 of their multiplications that Winograd needs; or more
  than three times a measured one, which may have been measured too low. The time, the count or the roof is wrong.
- ``faster_than_sol``: the step took less than its speed of light.
- ``cache_resident``: the step's data fits into the last-level cache; DRAM is no roof of it.
- ``host_bound``: the device was busy for less than 70 % of the wall time; the point is placed by device time.
- ``memory_oversubscribed``: more than 95 % of the device's memory reserved: a driver that spills to host memory does so
  without an error.
- ``system_time``: on a CPU the operating system used a quarter of the CPU time or more.
- ``fewer_threads``: on a CPU the case computes with fewer threads than its roofs: its loader's workers have the rest.
- ``throughput_cliff``: less than half the throughput of a smaller batch of the same case.
- ``uncovered``: operations without a formula; their FLOPs are not in the totals. With their share of the step's time.
- ``straggler``: a rank's own work of a step takes 10 % longer than that of the median rank, and all others wait for it.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence

from roofline.machine.roof_choice import BEYOND_PUBLISHED, Roofs
from roofline.model.input_pipeline import fewer_threads
from roofline.model.placement import HOST_BOUND_DEVICE_SHARE, Placement
from roofline.model.speed_of_light import SpeedOfLight
from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.record import Case, Flag, Parallel, Record, Timing, Work
from roofline.text.units import percent, scaled, significant, some_of
from roofline.timing.round_flags import mostly_disturbed_flag, series_flags, usable_step_times
from roofline.timing.step_time import throughput

FULL_MEMORY_SHARE = 0.95
CLIFF = 0.5
SYSTEM_SHARE = 0.25
"""Of the CPU time. A step of matrix products alone has next to none. MobileNetV2, trained on a CPU at batch 64, had
42 %: glibc's allocator returned what was freed, and each step had 2.7 million page faults. With thresholds of 8 GiB
(``MALLOC_MMAP_THRESHOLD_``, ``MALLOC_TRIM_THRESHOLD_``) it had 22 thousand, and 0.6 %.
"""
_BEYOND_MEASURED = 3.0
_SAME_AMOUNT = 1e-6
"""Relative difference up to which two amounts are one: sums of whole numbers, kept as floats."""

STRAGGLES = 0.10
"""A rank takes longer than the median one by more than this share of its time."""


def derived(
    record: Record, placement: Placement, roofs: Roofs, sol: SpeedOfLight, threads: int | None = None
) -> tuple[Flag, ...]:
    """The flags of one benchmark, in a fixed order.

    :param threads: of torch, with which the machine and its roofs were measured; None where that isn't known.
    """
    found = (
        *disproved(record),
        faster_than_peak(placement) or _above(placement, roofs),
        _faster_than_light(record.timing, sol, placement),
        _resident(record, placement, roofs),
        _host(placement),
        oversubscribed(record),
        _system_time(record),
        _fewer_threads(record, threads),
        mostly_disturbed_flag(record.timing),
        *series_flags(usable_step_times(record.timing)),
        _uncovered(record),
        _straggler(record.parallel),
    )
    return tuple(flag for flag in found if flag is not None)


def disproved(record: Record) -> tuple[Flag, ...]:
    """The flags for what the record itself shows to be wrong, but for those that are among its own."""
    own = {flag.name for flag in record.flags if flag.invalid}
    found = [(f"{check.name}_disproved", check.evidence) for check in record.checks if check.status == "failed"]
    if record.case.mode in ("train", "infer") and not record.checks:
        found.append(("unproven", "the record has no checks: of a case that pytest-roofline measured it has some"))
    if (contradiction := None if record.work is None else _contradiction(record.work)) is not None:
        found.append(("impossible_work", contradiction))
    return tuple(Flag(name=name, evidence=why, invalid=True) for name, why in found if name not in own)


def _contradiction(work: Work) -> str | None:
    """Say why no step has this work; None where one may. Of bytes that aren't known both ends are NaN; FLOPs that
    couldn't be counted are no work at all.
    """
    low, high = work.byte_low_per_step, work.byte_high_per_step
    amounts = {
        "flop_per_step": work.flop_per_step,
        **({} if math.isnan(low) and math.isnan(high) else {"byte_low_per_step": low, "byte_high_per_step": high}),
        **{f"flop_by_dtype.{dtype}": flop for dtype, flop in work.flop_by_dtype.items()},
    }
    impossible = [f"{name} is not finite" for name, value in amounts.items() if not math.isfinite(value)]
    impossible += [f"{name} is {value:g}" for name, value in amounts.items() if math.isfinite(value) and value < 0]
    if impossible:
        return f"the record's work can't be: {', '.join(impossible)}"
    if low > high * (1 + _SAME_AMOUNT):
        return f"the record's work can't be: least bytes {scaled(low, 'B')}, most bytes {scaled(high, 'B')}"
    total = sum(work.flop_by_dtype.values())
    if not math.isclose(total, work.flop_per_step, rel_tol=_SAME_AMOUNT):
        flop = scaled(work.flop_per_step, "FLOP")
        return f"the record's work can't be: {flop} in all, {scaled(total, 'FLOP')} over all dtypes"
    return None


def faster_than_peak(placement: Placement) -> Flag | None:
    """The flag for a time, a count or a roof that can't be right."""
    peak = placement.fraction_of_compute
    published = placement.compute_source == "spec"
    most = BEYOND_PUBLISHED * placement.winograd_saving if published else _BEYOND_MEASURED
    if peak is None or peak <= most:
        return None
    attained = scaled(placement.attained_flop_per_s, "FLOP/s")
    roof = scaled(placement.compute_flop_per_s, "FLOP/s")
    return Flag(
        name="faster_than_peak",
        evidence=f"{attained} is {significant(peak)} times the compute roof of {roof} ({placement.compute_source}):"
        f" {_causes(placement, beyond=True)}",
        invalid=True,
    )


def _causes(placement: Placement, *, beyond: bool) -> str:
    """Explain a rate above the roof, the likeliest cause first. Only a measured roof can have been measured too low.

    :param beyond: by more than a clock or a roof's own error explains.
    """
    if placement.roof_source == "spec":
        if not beyond:
            return "the clock ran above the rated one, or a count is too high"
        return (
            "in order of likelihood, the published figures are another device's, the kernels used structured sparsity"
            " (the roof is dense), FLOPs were counted twice, or part of the work was skipped"
        )
    return "the time or the count is wrong" if beyond else "a roof was measured too low, or a count is too high"


def oversubscribed(record: Record) -> Flag | None:
    """The flag for a device whose memory is full."""
    memory = record.memory
    if memory is None or memory.peak_reserved_byte is None:
        return None
    total = memory.device_total_byte or record.device.memory_byte
    if not total or memory.peak_reserved_byte <= FULL_MEMORY_SHARE * total:
        return None
    reserved, share = memory.peak_reserved_byte, memory.peak_reserved_byte / total
    return Flag(
        name="memory_oversubscribed",
        evidence=f"{scaled(reserved, 'B')} reserved of {scaled(total, 'B')} ({percent(share, 3)}): memory is full,"
        " a driver may have spilled to the host without an error",
    )


def _system_share(record: Record) -> float | None:
    """The operating system's share of the CPU time of a step on a CPU; None elsewhere, and where it isn't large."""
    process = record.process
    if process is None or record.device.kind != "cpu" or record.case.mode not in ("train", "infer"):
        return None
    if not (usable_or_zero(process.user_s) and usable(process.system_s)):
        return None
    share = process.system_s / (process.user_s + process.system_s)
    return share if share >= SYSTEM_SHARE else None


def _system_time(record: Record) -> Flag | None:
    share = _system_share(record)
    if share is None:
        return None
    return Flag(
        name="system_time",
        evidence=f"the operating system used {percent(share)} of the CPU time: often because the allocator returns"
        " freed memory and gets it back page by page. Try another (LD_PRELOAD of jemalloc or tcmalloc), or set glibc's"
        " MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ to some GB",
    )


def _fewer_threads(record: Record, threads: int | None) -> Flag | None:
    fewer = fewer_threads(record, threads)
    if fewer is None:
        return None
    return Flag(name="fewer_threads", evidence=f"{fewer}; its roofs are of {threads} threads")


def cliffs(records: Sequence[Record | None]) -> tuple[Flag | None, ...]:
    """For each record the flag, where its throughput falls off a cliff against a smaller batch of the same case.

    Compared with the best of all smaller batches, so that what comes after the first fall is found too. Invalid rows
    and rows without a time are no measure for others.
    """
    series: dict[tuple[str | None, ...], list[tuple[int, Record]]] = {}
    for index, record in enumerate(records):
        if record is not None:
            series.setdefault(_series(record), []).append((index, record))
    found: list[Flag | None] = [None] * len(records)
    for members in series.values():
        best: dict[int, float] = {}
        for _, record in members:
            if record.valid and (rate := throughput(record)) is not None:
                best[record.case.batch] = max(rate, best.get(record.case.batch, 0.0))
        for index, record in members:
            own = throughput(record)
            smaller = [(rate, batch) for batch, rate in best.items() if batch < record.case.batch]
            if own is not None and smaller:
                found[index] = _cliff(record, own, max(smaller))
    return tuple(found)


def _cliff(record: Record, own: float, best_smaller: tuple[float, int]) -> Flag | None:
    """:param best_smaller: the highest throughput of a smaller batch, and that batch."""
    best, batch = best_smaller
    if own >= CLIFF * best:
        return None
    spilled = oversubscribed(record) is not None or any(flag.name == "spilled" for flag in record.flags)
    of_system = _system_share(record)
    by_system = "not known" if of_system is None else f"the system used {percent(of_system)} of the CPU time"
    return Flag(
        name="throughput_cliff",
        evidence=f"{significant(own)} {record.case.sample_unit}s/s at batch {record.case.batch} against"
        f" {significant(best)} at batch {batch}, {significant(best / own)} times less;"
        f" cause: {'device memory is full' if spilled else by_system}",
    )


def _series(record: Record) -> tuple[str | None, ...]:
    case, device = record.case, record.device
    ranks = "1" if record.parallel is None else str(record.parallel.ranks)
    settings = settings_but_batch(case)
    return (case.model, case.mode, case.precision, case.layout, case.data, device.kind, device.name, ranks, settings)


def settings_but_batch(case: Case) -> str:
    """The settings of a case but for its batch size, the first dimension of its inputs, as a text to compare."""
    settings = {name: value for name, value in case.config.items() if name != "seed"}
    if isinstance(shapes := settings.get("input_shapes"), list):
        settings["input_shapes"] = [shape[1:] if isinstance(shape, list) else shape for shape in shapes]
    return json.dumps(settings, sort_keys=True)


def _above(placement: Placement, roofs: Roofs) -> Flag | None:
    fraction = placement.fraction_low if placement.fraction_low is not None else placement.fraction_of_compute
    if fraction is None or fraction <= 1:
        return None
    spreads = ", ".join(f"{roof.name} {percent(roof.spread)}" for roof in roofs.roofs if roof.spread)
    source = f"{placement.roof_source}; spread: {spreads}" if spreads else placement.roof_source
    return Flag(
        name="above_roof",
        evidence=f"attained {percent(fraction, 3)} of its roof ({source}): {_causes(placement, beyond=False)}",
    )


def _faster_than_light(timing: Timing | None, sol: SpeedOfLight, placement: Placement) -> Flag | None:
    if timing is None or sol.time_s is None or not usable(timing.step_time_s) or timing.step_time_s >= sol.time_s:
        return None
    causes = f"{_causes(placement, beyond=False)}, or traffic stayed in a cache"
    reservations = "; ".join((causes, *sol.reservations))
    return Flag(
        name="faster_than_sol",
        evidence=f"{scaled(timing.step_time_s, 's')} for a step whose speed of light is {scaled(sol.time_s, 's')}"
        f" (arithmetic {scaled(sol.compute_s, 's')}, traffic {scaled(sol.memory_s, 's')}): {reservations}",
    )


def _resident(record: Record, placement: Placement, roofs: Roofs) -> Flag | None:
    if not placement.cache_resident or placement.time_s is None or record.work is None:
        return None
    traffic, dram = record.work.byte_high_per_step / placement.time_s, roofs.value("byte", "dram")
    beyond = f", {significant(traffic / dram)} times DRAM" if dram is not None and traffic > dram else ""
    return Flag(
        name="cache_resident",
        evidence=f"the step's data fits into the last-level cache of {scaled(record.device.last_level_cache_byte, 'B')}"
        f" (traffic up to {scaled(traffic, 'B/s')}{beyond}): DRAM is no roof of it",
    )


def _host(placement: Placement) -> Flag | None:
    share = placement.device_share
    if share is None or share >= HOST_BOUND_DEVICE_SHARE:
        return None
    return Flag(
        name="host_bound",
        evidence=f"the device was busy for {percent(share)} of the wall time; the point is placed by device time",
    )


def _uncovered(record: Record) -> Flag | None:
    if record.work is None or not record.work.uncovered:
        return None
    names = ", ".join(
        f"{operation.name} ({operation.calls} calls{_share(operation.time_s, record.timing)})"
        for operation in record.work.uncovered
    )
    return Flag(name="uncovered", evidence=f"no formula for {names}: not in the FLOPs")


def _straggler(parallel: Parallel | None) -> Flag | None:
    """The flag for ranks that the others wait for."""
    ranks = () if parallel is None else parallel.by_rank
    times = [one.own_s for one in ranks if one.own_s is not None and usable(one.own_s)]
    if len(times) < len(ranks) or not times:
        return None
    # Of two ranks the faster one.
    usual_s = statistics.median_low(times)
    slow = [
        f"rank {rank} on node {one.node} ({one.label}): {scaled(own_s, 's')}"
        for rank, (one, own_s) in enumerate(zip(ranks, times, strict=True))
        if own_s > (1 + STRAGGLES) * usual_s
    ]
    if not slow:
        return None
    return Flag(
        name="straggler",
        evidence=f"the others wait for {some_of(slow)} of a step without waiting, {scaled(usual_s, 's')} are usual",
    )


def _share(time_s: float | None, timing: Timing | None) -> str:
    """Of the timed step, where both are known."""
    if time_s is None or timing is None or not usable_or_zero(time_s) or not usable(timing.step_time_s):
        return ""
    return f", {percent(time_s / timing.step_time_s)} of the time"
