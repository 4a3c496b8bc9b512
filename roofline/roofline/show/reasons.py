"""Say why a value of a table isn't there: what the record says of it, else what follows from the other values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from roofline.model.points import Point
from roofline.schema.record import Counters, HostCounters, Record
from roofline.schema.session import Roof
from roofline.show.step.kernel_tables import KernelLine
from roofline.show.step.operation_tables import Line
from roofline.show.tables import Column

_NO_RECORD = "the benchmark has no record of pytest-roofline"
_UNEXPLAINED = "the record has neither the value nor a reason"
_NO_LOADER = "the case has no data loader"
_NO_READING = "no such reading was taken"
_NOT_HELD = "nothing held the device's clocks down"
_EAGER = "steps run eagerly: nothing is compiled"
_NOT_ASKED = "hardware counters were not asked for"
_OF_STEP_TIME = ("step_time_s", "spread", "samples_per_s")
_OF_PLACE = ("placement", "sol", "fraction_of_sol")

_STANDS_AT: Mapping[str, str] = {
    "confidence": "timing.margin",
    "device_share": "timing.rounds.device_s",
    "energy_j_per_sample": "energy_j_per_step",
    "communication_share": "parallel.communication_s",
    "input_share": "timing.input_wait_s",
    "peak_over_predicted": "memory.peak_allocated_byte",
    "real_s": "timing",
    "rounds_left_out": "timing.rounds.disturbed",
    "samples_per_s_sd": "timing.step_time_sd_s",
    "throttle_reasons": "timing.rounds.throttle",
    "throttle_share": "timing.rounds.throttle",
    "uncovered_s": "work.uncovered.time_s",
}
"""The place in the record from which a column without a place of its own, or of several, is worked out."""

_OF_FILE: Mapping[str, str] = {"commit": "the file names no commit", "host": "the file names no host"}
"""Of columns that need no record."""


def _of_counters(
    counters: Counters | HostCounters | None,
    not_asked: str,
    read: str = "the counters that were read don't have it",
) -> str:
    if counters is None or counters.status == "not_requested":
        return not_asked
    if counters.status == "ok":
        return read
    return counters.reason or f"counters: {counters.status}"


def _no_reasons_to_throttle(record: Record) -> str:
    rounds = None if record.timing is None else record.timing.rounds
    return _NO_READING if rounds is None or rounds.throttle is None else _NOT_HELD


def _not_from_cache(record: Record) -> str:
    compiled = record.timing is not None and record.timing.compile_s is not None
    return "not looked at when this was measured" if compiled else _EAGER


_OTHERWISE: Mapping[str, str | Callable[[Record], str]] = {
    **dict.fromkeys(("session", "session_set"), "the run is not one of a set of sessions"),
    "label": "nobody gave the machine a label",
    **dict.fromkeys(
        ("seed", "threads", "grad_accum_steps", "deterministic", "cudnn_benchmark"), "not among the case's settings"
    ),
    **dict.fromkeys(("workers", "pin_memory", "prefetch_factor", "augment"), _NO_LOADER),
    **dict.fromkeys(
        ("instructions_per_cycle", "cache_miss_share", "branch_miss_share", "host_counters"),
        lambda record: _of_counters(record.host_counters, "perf stat was not asked for"),
    ),
    **dict.fromkeys(
        ("counter_status", "counter_source", "counter_reason"),
        lambda record: _of_counters(record.counters, _NOT_ASKED, "nothing to explain: the counters were read"),
    ),
    "throttle_reasons": _no_reasons_to_throttle,
    "why_not_plottable": "nothing to explain: the case is placed",
    "machine.versions": "not installed, or not in use on this machine",
    "timing.repeat_step_time_s": "the case was timed once: nothing was repeated",
    "timing.latency": "single steps were not timed",
    "timing.input_wait_s": _NO_LOADER,
    "timing.input_startup_s": _NO_LOADER,
    "timing.compile_s": _EAGER,
    "timing.compiled_from_cache": _not_from_cache,
    "timing.rounds.disturbed": "nothing that would show it was read",
    "timing.rounds": _NO_READING,
    "timing": "not timed by pytest-roofline",
    "process.throttled_s": "no CPU quota is set, or nothing tells how long it held threads back",
    "process": "not read of the process",
    "profile.device_busy_s": "the profile has no kernels of a device",
    "profile.longest_gap_s": "the profile has no kernels of a device",
    "profile": "no pass ran under the profiler",
    "counters": _NOT_ASKED,
    "memory": "the allocator's peak was not read",
    "energy_j_per_step": "no energy was read",
    "parallel.strategy": "each rank has a model of its own",
    "parallel": "one process measured by itself",
    "work": "not counted",
}
"""Why there is none where no record says it, by the name of a column or by a place in the record and all below it."""


def why_missing(point: Point, column: Column[Point]) -> str:
    """Say why a point has no value in a column."""
    if column.name in _OF_FILE:
        return _OF_FILE[column.name]
    record = point.benchmark.record
    first, _, rest = column.path.partition(".")
    no_time = point.why_no_step_time if first in _OF_STEP_TIME else None
    if record is None:
        once = "one round has no spread" if column.name == "spread" and point.benchmark.stats.rounds == 1 else None
        return point.benchmark.fault or no_time or once or _NO_RECORD
    if first == "counted" and record.counters is not None:
        return _of_counters(record.counters, _NOT_ASKED)
    place = _STANDS_AT.get(column.name)
    if first in _OF_PLACE and place is None:
        return point.placement.why_not or point.sol.why_none or _UNEXPLAINED
    if place is None:
        own = {"record": rest, "counted": "counters", "machine": column.path}
        place = own.get(first, f"timing.{first}")
    return _recorded(record.missing, place) or no_time or _otherwise(record, column.name, place)


def why_not_recorded(record: Record, place: str) -> str:
    """Say why a record has no value at a place in it."""
    return _recorded(record.missing, place) or _otherwise(record, place, place)


def why_no_series(point: Point, name: str) -> str:
    """Say why rounds of a point have no value of a series."""
    record = point.benchmark.record
    if record is None:
        return point.benchmark.fault or _NO_RECORD
    if record.timing is not None and getattr(record.timing.rounds, name, None) is not None:
        quiet = {"disturbed": "nothing disturbed the round", "throttle": _NOT_HELD}
        return quiet.get(name, "the series is shorter than the rounds")
    place = f"timing.rounds.{name}"
    return _recorded(record.missing, place) or _otherwise(record, name, place)


def why_not_of_operation(line: Line, name: str) -> str:
    """Say why an operation has no value in a column."""
    if name == "intensity_flop_per_byte":
        return "it moves no byte"
    return line.point.sol.why_none or "no such figure of this operation"


def why_not_of_kernel(line: KernelLine, name: str) -> str:
    """Say why a kernel has no value in a column."""
    if name == "share":
        return "the kernels take longer than the step, or a time is not known"
    if line.source == "profiler":
        return "the profiler gives times alone"
    return "the counters that were read don't have it"


def why_not_of_roof(roof: Roof, name: str) -> str:
    """Say why a roof has no value in a column."""
    if roof.source != "measured":
        return "a published figure: nobody measured it here"
    return {
        "from_file": "measured in the run of this file",
        "disturbed": "nothing was seen to disturb the measurement",
    }.get(name, _UNEXPLAINED)


def why_not_of_machine(point: Point, name: str) -> str:
    """Say why a machine has no value in a column."""
    machine, record = point.result.machine, point.benchmark.record
    if machine is None:
        return "the file has no record of the machine"
    group, _, own = name.partition("_")
    places = {"version": f"versions.{own}", "threads": f"threads.{own}", "limit": f"limits.{own}"}
    of_device = {"device_memory_byte": "memory_byte"}.get(name, name)
    return (
        _recorded(machine.missing, places.get(group, name))
        or ("" if record is None else _recorded(record.missing, f"device.{of_device}"))
        or ("not installed, or not in use on this machine" if group == "version" else "the system doesn't tell it")
    )


def _recorded(missing: Mapping[str, str], place: str) -> str:
    """The reason of a place or of what it is a part of; empty where there is none."""
    return next((reason for one in _and_above(place) if (reason := missing.get(one))), "")


def _otherwise(record: Record, name: str, place: str) -> str:
    found = next((_OTHERWISE[one] for one in (name, *_and_above(place)) if one in _OTHERWISE), _UNEXPLAINED)
    return found if isinstance(found, str) else found(record)


@cache
def _and_above(place: str) -> tuple[str, ...]:
    """``a.b.c``, ``a.b`` and ``a``."""
    parts = place.split(".")
    return tuple(".".join(parts[:end]) for end in range(len(parts), 0, -1))
