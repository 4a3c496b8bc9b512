"""Find the bound of a case: compute, memory, launch, input, communication, capacity, or undetermined with the reason.

The rules, in order; the first that applies decides.

1. An invalid row, no time, a throughput cliff without a known cause, steps of different work: **undetermined**.
2. Device memory full (`point_flags.FULL_MEMORY_SHARE`, or ``spilled`` in the record): **capacity**.
3. At least 10 % of the step spent waiting for the next batch: **input**. A loader that keeps up is never waited for, so
   any real wait means that the device runs dry.
4. Messages between ranks under way for half of the step or more while nothing else ran, on the rank that waited least:
   **communication**. One that waits for a slower rank is flagged (`point_flags`), not bound by its link.
5. The device busy for less than 70 % of the wall time (`placement.busy_share`), or, of an eager step, calls x launch
   latency at least half of it and more than its speed of light: **launch**.
6. No FLOPs, no bytes, intensity from time alone, no roofs; operations without a formula that take a tenth of the step
   or an unknown time, unless hardware counted: **undetermined**.
7. At less than 5 % of what the roofs allow, neither of them is the limit. **launch** (launch or latency), unless
   launches were counted and explain less than half of the step: then **undetermined**.
8. The intensity range above the knee by 15 % or more: **compute**. Below by as much: **memory** (of DRAM; of the
   last-level cache where the step's data fits into it and its roof is known). Else **undetermined**: the range
   straddles the knee or lies within 15 % of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.machine.roof_choice import Roofs
from roofline.model.placement import HOST_BOUND_DEVICE_SHARE, Placement
from roofline.model.speed_of_light import SpeedOfLight, compiled
from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.expected import BoundClass
from roofline.schema.record import Flag, Record
from roofline.text.units import percent, scaled, significant, some_of
from roofline.timing.step_time import undisturbed

INPUT_SHARE = 0.10
COMMUNICATION_SHARE = 0.50
LAUNCH_SHARE = 0.50
UNCOVERED_SHARE = 0.10
FAR_BELOW = 0.05
KNEE_MARGIN = 0.15

STRADDLES = "range straddles the knee"
NEAR_KNEE = "within 15 % of the knee"

Kind = Literal[BoundClass, "undetermined"]
Side = Literal["compute", "memory", "knee"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """``why`` is a few words for a table, ``evidence`` the sentence with the numbers."""

    kind: Kind
    why: str
    evidence: str


def bound_of(
    record: Record | None, placement: Placement, roofs: Roofs, sol: SpeedOfLight, flags: Sequence[Flag]
) -> Bound:
    """The bound of one benchmark.

    :param flags: all of it, the record's and the derived ones.
    """
    if record is None:
        return _undetermined("no record", "a plain benchmark, without the fixture roofline: its work is not known")
    if record.case.mode == "input":
        return _undetermined("loader alone", "no model ran: its rate is compared in the verdict on the input")
    return (
        _unusable(record, flags)
        or _input(record)
        or _communication(record)
        or _launch(record, placement, roofs, sol)
        or _unplaced(placement, roofs)
        or _partly_counted(record, placement)
        or _far_below(record, placement, roofs)
        or _side_of_knee(placement)
    )


def input_share(record: Record) -> float | None:
    """Share of the step time spent waiting for the next batch; None where batches lie ready."""
    timing = record.timing
    if timing is None or timing.input_wait_s is None or not usable(timing.step_time_s):
        return None
    if not usable_or_zero(timing.input_wait_s):
        return None
    rounds = timing.rounds
    if rounds.input_wait_s is None or len(rounds.input_wait_s) != len(rounds.wall_s):
        return timing.input_wait_s / timing.step_time_s
    # Of the rounds that the step time is of.
    waits, walls = (undisturbed(series, rounds.disturbed) for series in (rounds.input_wait_s, rounds.wall_s))
    total_s, waited_s = sum(walls), sum(waits)
    return waited_s / total_s if usable(total_s) and usable_or_zero(waited_s) else None


def communication_share(record: Record) -> float | None:
    """Share of a step in which messages between ranks were under way and nothing else ran; None for one rank.

    Both parts of the step are under the profiler, where it takes longer than it was timed: of the rank that waited
    least, which has the most work of its own.
    """
    parallel = record.parallel
    if parallel is None or parallel.communication_s is None or not usable_or_zero(parallel.communication_s):
        return None
    own = [rank.own_s for rank in parallel.by_rank if rank.own_s is not None and usable(rank.own_s)]
    return parallel.communication_s / (parallel.communication_s + max(own)) if own else None


def launch_s(record: Record, roofs: Roofs) -> float | None:
    """Calls of a step x launch latency of the device; None where either is not known.

    How many launches are left of a compiled step's operations isn't known.
    """
    latency = roofs.value("latency", "launch")
    if latency is None or not record.operations or compiled(record):
        return None
    return latency * sum(operation.calls for operation in record.operations)


def side_of_knee(compute: float, memory: float) -> Side:
    """Tell what limits where one of two is larger by `KNEE_MARGIN` or more: the time of the arithmetic and that of the
    traffic, or an intensity and the knee. Else it is the ``knee``.
    """
    if compute >= memory * (1 + KNEE_MARGIN):
        return "compute"
    return "memory" if compute <= memory * (1 - KNEE_MARGIN) else "knee"


def _unusable(record: Record, flags: Sequence[Flag]) -> Bound | None:
    by_name = {flag.name: flag for flag in flags}
    invalid = next((flag for flag in flags if flag.invalid), None)
    if invalid is not None:
        return _undetermined("invalid", f"the row is invalid: {invalid.name}: {invalid.evidence}")
    if record.timing is None or not usable(record.timing.step_time_s):
        return _undetermined("no time", record.missing.get("timing", "no step time in the record"))
    full = by_name.get("memory_oversubscribed") or by_name.get("spilled")
    if full is not None:
        return Bound(kind="capacity", why="memory full", evidence=full.evidence)
    if "throughput_cliff" in by_name:
        return _undetermined("throughput cliff", by_name["throughput_cliff"].evidence)
    if "uneven_steps" in by_name:
        return _undetermined("steps differ", by_name["uneven_steps"].evidence)
    return None


def _input(record: Record) -> Bound | None:
    share = input_share(record)
    if share is None or share < INPUT_SHARE:
        return None
    evidence = f"{percent(share)} of the step is spent waiting for the next batch"
    return Bound(kind="input", why="waits for data", evidence=evidence)


def _communication(record: Record) -> Bound | None:
    share = communication_share(record)
    if share is None or share < COMMUNICATION_SHARE:
        return None
    evidence = f"for {percent(share)} of the step messages between ranks were under way and nothing else ran"
    return Bound(kind="communication", why="waits for messages", evidence=evidence)


def _launch(record: Record, placement: Placement, roofs: Roofs, sol: SpeedOfLight) -> Bound | None:
    share = placement.device_share
    if share is not None and share < HOST_BOUND_DEVICE_SHARE:
        evidence = f"the device is busy for {percent(share)} of the wall time: the host sets the pace"
        return Bound(kind="launch", why="host-bound", evidence=evidence)
    launches = launch_s(record, roofs)
    if launches is None or record.timing is None:
        return None
    if launches < LAUNCH_SHARE * record.timing.step_time_s or launches < (sol.time_s or 0.0):
        return None
    calls = sum(operation.calls for operation in record.operations)
    return Bound(
        kind="launch",
        why="launches",
        evidence=f"{calls} calls x {scaled(roofs.value('latency', 'launch'), 's')} ="
        f" {percent(launches / record.timing.step_time_s)} of the step",
    )


def _unplaced(placement: Placement, roofs: Roofs) -> Bound | None:
    if placement.why_not is not None:
        return _undetermined("not placed", placement.why_not)
    if placement.provenance == "time_only":
        return _undetermined("time only", "no bytes: the intensity is attained / memory roof, which bounds nothing")
    if not roofs.roofs:
        return _undetermined("no roofs", f"no roofs: {roofs.why_none}")
    if placement.compute_flop_per_s is None:
        return _undetermined("no compute roof", "no compute roof for a dtype the step ran in")
    return None


def _partly_counted(record: Record, placement: Placement) -> Bound | None:
    uncovered = record.work.uncovered if record.work is not None else ()
    if not uncovered or record.timing is None or placement.work_source == "counters":
        return None
    known = [one.time_s for one in uncovered if one.time_s is not None]
    share = sum(known) / record.timing.step_time_s if len(known) == len(uncovered) else None
    if share is not None and share < UNCOVERED_SHARE:
        return None
    took = "an unknown part" if share is None else percent(share)
    names = some_of([one.name for one in uncovered])
    return _undetermined("partly counted", f"{names} took {took} of the step, and no formula tells their FLOPs")


def _far_below(record: Record, placement: Placement, roofs: Roofs) -> Bound | None:
    fraction = placement.fraction_high
    if fraction is None or fraction >= FAR_BELOW or record.timing is None:
        return None
    launches = launch_s(record, roofs)
    reached = f"{percent(fraction)} of what the roofs allow: neither compute nor memory is the limit"
    if launches is None:
        return Bound(kind="launch", why="launch or latency", evidence=f"{reached}; launches were not counted")
    share = percent(launches / record.timing.step_time_s)
    return _undetermined("far below its roofs", f"{reached}, and launches explain {share} of the step")


def _side_of_knee(placement: Placement) -> Bound:
    low, high, knee = placement.intensity_low, placement.intensity_high, placement.knee
    if knee is None or low is None or high is None:
        if placement.cache_resident:
            return _undetermined("cache-resident", "the data stays in the last-level cache, whose roof is not known")
        return _undetermined("no memory roof", "no memory roof to compare the intensity with")
    ends = " to ".join(dict.fromkeys(map(significant, (low, high))))
    seen = f"{ends} FLOP/byte, knee {significant(knee)} ({placement.memory_level}; {placement.work_source})"
    if side_of_knee(low, knee) == "compute":
        return Bound(kind="compute", why="above the knee", evidence=seen)
    if side_of_knee(high, knee) == "memory":
        where = "last-level cache" if placement.memory_level == "llc" else "DRAM"
        return Bound(kind="memory", why=f"below the knee ({where})", evidence=seen)
    beyond = low < knee * (1 - KNEE_MARGIN) or high > knee * (1 + KNEE_MARGIN)
    if low <= knee <= high and beyond:
        return _undetermined(STRADDLES, seen)
    return _undetermined(NEAR_KNEE, seen)


def _undetermined(why: str, evidence: str) -> Bound:
    return Bound(kind="undetermined", why=why, evidence=evidence)
