"""Every figure of a benchmark that a table can show: its name, unit, heading and format have their home here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any

from roofline.counters.quantities import QUANTITIES, Quantity
from roofline.model.bounds import communication_share, input_share
from roofline.model.counter_values import counters_of, tensor_share
from roofline.model.points import Point
from roofline.schema.record import Memory, Record, Work
from roofline.show.tables import Column, number, words
from roofline.text.printable import printable
from roofline.text.units import percent, percent_of, prefixed, scaled, shares, significant
from roofline.timing import readings
from roofline.timing.step_time import left_out, mean_of_all_s

Get = Callable[[Point], Any]


def pick(*names: str, of: str = "") -> list[Column[Any]]:
    """The columns of these names, in this order.

    :param of: where a row has its point; empty: it is one.
    """
    return _within(of, (_BY_NAME[name] for name in names))


def _within(of: str, columns: Iterable[Column[Point]]) -> list[Column[Any]]:
    return [column.of(attrgetter(of)) if of else column for column in columns]


def parameters_of(points: Iterable[Point], of: str = "") -> list[Column[Any]]:
    """A column for each parameter of the tests without a record, of which nothing else tells what they measured."""
    names = dict.fromkeys(name for point in points for name in _parameters(point))
    texts = (_text(f"param_{name}", printable(name), _parameter(name), drop=8) for name in names)
    return _within(of, (replace(text, dtype="") for text in texts))


def _parameter(name: str) -> Get:
    return lambda point: _parameters(point).get(name)


def _parameters(point: Point) -> Mapping[str, Any]:
    """Get a test's parameters, as JSON where a column can't show one value."""
    if point.benchmark.record is not None:
        return {}
    return {
        name: json.dumps(value) if isinstance(value, dict | list) else value
        for name, value in (point.benchmark.params or {}).items()
    }


def notes_of(points: Iterable[Point], of: str = "") -> list[Column[Any]]:
    """A column for each thing that users noted of the runs."""
    sessions = (point.result.session for point in points)
    names = dict.fromkeys(name for session in sessions if session is not None for name in session.noted)
    noted = (_kind(f"note_{name}", printable(name), "session.noted", by=methodcaller("get", name)) for name in names)
    return _within(of, noted)


def between(low: float | None, high: float | None, show: Callable[[float], str]) -> str | None:
    """A range as text, one number where both ends look the same: ``12-34``."""
    if low is None or high is None:
        return None
    first, last = show(low), show(high)
    return first if first == last else f"{first}-{last}"


_ROOTS: dict[str, Get] = {
    "record": lambda point: point.benchmark.record,
    "counted": lambda point: None if point.benchmark.record is None else counters_of(point.benchmark.record),
    "session": lambda point: point.result.session,
    "machine": lambda point: point.result.machine,
}
"""What a path may begin with beside the attributes of a point; ``counted`` are counters that were read."""

_text = partial(words, roots=_ROOTS)
_kind = partial(words, roots=_ROOTS, dtype="category")
_truth = partial(words, roots=_ROOTS, show=lambda value: "yes" if value else "no", dtype="boolean")
_number = partial(number, roots=_ROOTS)
_count = partial(number, roots=_ROOTS, dtype="Int64")


def _in(unit: str) -> Callable[[float], str]:
    return lambda value: scaled(value, unit)


_seconds = partial(_number, show=_in("s"))
_bytes = partial(_count, show=_in("B"))


def _spaced(word: str) -> str:
    """A word of the record as people write it."""
    return word.replace("_", " ")


def short_bound(kind: str) -> str:
    """A kind of bound where space is short."""
    return "undet." if kind == "undetermined" else kind


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _counter_title(quantity: Quantity) -> str:
    return quantity.title.replace("\n", " ") if quantity.part else f"{quantity.title.split()[0]} counter"


def _setting(name: str) -> Callable[[Record], Any]:
    """Of the case's config. The loader's options stand under ``loader`` there, where the case is more than a loader."""

    def get(record: Record) -> Any:
        config = record.case.config
        loader = config.get("loader")
        return loader[name] if isinstance(loader, Mapping) and name in loader else config.get(name)

    return get


# What has to be worked out of several fields.


def _samples_sd(point: Point) -> float | None:
    rate, spread = point.samples_per_s, point.spread
    return None if rate is None or spread is None else rate * spread


def _mean_of_all(point: Point) -> float | None:
    """pytest-benchmark's mean: of all rounds, disturbed ones too."""
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    if timing is None:
        return point.benchmark.stats.mean_s
    return mean_of_all_s(timing.rounds)


def _real_s(record: Record) -> float | None:
    """Of the same time as the process's other figures; records of before have that of their steps alone."""
    if record.process is not None and record.process.real_s is not None:
        return record.process.real_s
    return None if record.timing is None else record.timing.warmup_s + record.timing.elapsed_s


def _rounds_left_out(point: Point) -> int | None:
    """Of the step time, because something disturbed them; None where nobody looked."""
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    return None if timing is None or timing.rounds.disturbed is None else left_out(timing.rounds)


def _shares(flop: Mapping[str, float] | None) -> str | None:
    return shares(flop or {}) or None


def _uncovered_s(work: Work) -> float | None:
    """Time of a step in operations without a formula; None where one of them wasn't timed."""
    times = [one.time_s for one in work.uncovered]
    return None if None in times else sum(time_s for time_s in times if time_s is not None)


def _peak_over_predicted(memory: Memory) -> float | None:
    """Above 1 by the scratch memory of kernels and what an allocator rounds up."""
    measured, predicted = memory.peak_allocated_byte, memory.peak_predicted_byte
    return None if measured is None or not predicted else measured / predicted


def _intensity(point: Point) -> str | None:
    text = between(point.placement.intensity_low, point.placement.intensity_high, lambda value: significant(value, 2))
    # An estimate from time alone must not look like a count.
    return f"({text})" if text is not None and point.placement.provenance == "time_only" else text


_ALL: tuple[Column[Point], ...] = (
    # What was run, and where
    _kind("case", "case", "id"),
    _kind("machine", "machine", "result.machine_label", drop=9),
    _text("fingerprint", "fingerprint", "result.machine_key"),
    _text("host", "host", "result.host.node"),
    _kind("device_kind", "kind", "record.device.kind"),
    _kind("device", "device", "record.device.name"),
    _kind("model", "model", "record.case.model"),
    _kind("mode", "mode", "record.case.mode"),
    _count("batch", "batch", "record.case.batch"),
    _kind("precision", "precision", "record.case.precision"),
    _kind("layout", "layout", "record.case.layout"),
    _kind("data", "data", "record.case.data", drop=5),
    _count("seed", "seed", "record", by=_setting("seed")),
    _count("threads", "threads", "record", by=_setting("threads")),
    _count("grad_accum_steps", "accumulated", "record", by=_setting("grad_accum_steps")),
    _truth("deterministic", "deterministic", "record", by=_setting("deterministic")),
    _truth("cudnn_benchmark", "cuDNN benchmark", "record", by=_setting("cudnn_benchmark")),
    _count("workers", "workers", "record", by=_setting("workers")),
    _truth("pin_memory", "pinned", "record", by=_setting("pin_memory")),
    _count("prefetch_factor", "prefetch", "record", by=_setting("prefetch_factor")),
    _truth("augment", "augmented", "record", by=_setting("augment")),
    _text("workload_hash", "workload", "record.case.workload_hash"),
    _count("samples_per_step", "samples", "record.case.samples_per_step"),
    _kind("sample_unit", "unit", "record.case.sample_unit"),
    _kind("label", "label", "session.label"),
    _text("started_at", "started", lambda point: point.result.started_at, dtype="datetime64[us, UTC]"),
    _text(
        "session",
        "session",
        "session",
        by=lambda session: None if session.set is None else f"{session.set.index}/{session.set.count}",
    ),
    _text("session_set", "set", "session", by=lambda session: None if session.set is None else session.set.id),
    _text("commit", "commit", "result.commit"),
    _kind("file", "file", "result.name"),
    _text("test", "test", "benchmark.fullname"),
    # How it was timed
    _kind("protocol", "protocol", "record.timing.protocol"),
    _count("warmup_steps", "warm-up\nsteps", "record.timing.warmup_steps", drop=7),
    _seconds("warmup_s", "warm-up", "record.timing.warmup_s"),
    _count("measured_steps", "steps", "record.timing.measured_steps", drop=6),
    _seconds("elapsed_s", "elapsed", "record.timing.elapsed_s", drop=3),
    _seconds("step_time_s", "step", "step_time_s", drop=2),
    _seconds("step_time_sd_s", "sd of step", "record.timing.step_time_sd_s"),
    _number("spread", "sd\n%", "spread", percent_of, drop=6),
    _seconds("step_time_mean_s", "mean of\nall rounds", _mean_of_all),
    _count("rounds", "rounds", "record.timing", by=lambda timing: len(timing.rounds.wall_s)),
    _count("rounds_left_out", "left out", _rounds_left_out),
    _number("margin", "margin", "record.timing.margin", percent),
    _number("confidence", "confidence", "record.timing.confidence"),
    _kind("stop_reason", "stopped by", "record.timing.stop_reason", _spaced),
    _number("samples_per_s", "samples\n/s", "samples_per_s", significant),
    _number("samples_per_s_sd", "sd of\nsamples/s", _samples_sd, lambda value: significant(value, 2), drop=2),
    _seconds("latency_median_s", "latency", "record.timing.latency.median_s", drop=3),
    _seconds("latency_p95_s", "p95", "record.timing.latency.p95_s"),
    _seconds("latency_p99_s", "p99", "record.timing.latency.p99_s"),
    _seconds("input_wait_s", "waiting for input", "record.timing.input_wait_s"),
    _number("input_share", "input\nwait", "record", percent, by=input_share, drop=4),
    _number("device_share", "device\nbusy", "placement.device_share", percent),
    _seconds("input_startup_s", "input\nstart-up", "record.timing.input_startup_s"),
    _seconds("compile_s", "compile", "record.timing.compile_s"),
    _count("compiled_from_cache", "from\ncache", "record.timing.compiled_from_cache"),
    _text(
        "repeat_step_time_s",
        "repeats",
        "record.timing.repeat_step_time_s",
        lambda times: ", ".join(scaled(time, "s") for time in times),
        by=lambda times: list(times) or None,
    ),
    # The process, as /usr/bin/time has it
    _seconds("real_s", "real", "record", by=_real_s),
    _seconds("user_s", "user", "record.process.user_s", drop=5),
    _seconds("system_s", "sys", "record.process.system_s", drop=6),
    _bytes("max_rss_byte", "max RSS", "record.process.max_rss_byte", drop=4),
    _count("voluntary_switches", "voluntary\nswitches", "record.process.voluntary_switches"),
    _count("involuntary_switches", "switches", "record.process.involuntary_switches"),
    _bytes("peak_predicted_byte", "predicted peak", "record.memory.peak_predicted_byte"),
    _bytes("peak_allocated_byte", "peak memory", "record.memory.peak_allocated_byte"),
    _number("peak_over_predicted", "peak /\npredicted", "record.memory", significant, by=_peak_over_predicted),
    _bytes("peak_reserved_byte", "reserved", "record.memory.peak_reserved_byte"),
    _number("energy_j_per_step", "J/step", "record.energy_j_per_step", significant),
    _number("energy_j_per_sample", "J/sample", "record", significant, by=readings.energy_j_per_sample),
    # What the machine reported meanwhile
    _number("sm_clock_hz", "SM clock", "record.timing.rounds.sm_clock_hz", _in("Hz"), by=readings.mean),
    _number("memory_clock_hz", "memory clock", "record.timing.rounds.memory_clock_hz", _in("Hz"), by=readings.mean),
    _number("power_w", "power", "record.timing.rounds.power_w", _in("W"), by=readings.mean),
    _number("temperature_c", "temperature", "record.timing.rounds.temperature_c", _in("°C"), by=readings.most),
    _bytes("device_memory_byte", "in use", "record.timing.rounds.device_memory_byte", by=readings.most),
    _number("throttle_share", "throttled", "record.timing.rounds", percent, by=readings.throttle_share),
    _text(
        "throttle_reasons",
        "clocks held by",
        "record.timing.rounds",
        _listed,
        by=lambda rounds: readings.throttle_reasons(rounds) or None,
    ),
    _seconds("power_held_s", "held by power", "record.timing.rounds.power_held_s", by=readings.total),
    _seconds("heat_held_s", "held by heat", "record.timing.rounds.heat_held_s", by=readings.total),
    _seconds("throttled_s", "CPU throttled", "record.process.throttled_s"),
    _kind("host_counter_status", "perf stat", "record.host_counters.status", _spaced),
    _number("instructions_per_cycle", "IPC", "record.host_counters", significant, by=readings.instructions_per_cycle),
    _number("cache_miss_share", "cache misses", "record.host_counters", percent, by=readings.cache_miss_share),
    _number("branch_miss_share", "branch misses", "record.host_counters", percent, by=readings.branch_miss_share),
    # Several processes that measured it together
    _count("ranks", "ranks", "record.parallel.ranks"),
    _count("nodes", "nodes", "record.parallel.nodes"),
    _kind("strategy", "strategy", "record.parallel.strategy"),
    _kind("backend", "messages by", "record.parallel.backend"),
    _bytes("message_byte_per_step", "messages", "record.parallel.message_byte_per_step"),
    _seconds("communication_s", "communication time", "record.parallel.communication_s"),
    _number("communication_share", "communi-\ncation", "record", percent, by=communication_share),
    # The work
    _number("flop_per_step", "FLOP", "record.work.flop_per_step", prefixed),
    _text("flop_by_dtype", "FLOP by type", "record.work.flop_by_dtype", by=_shares),
    _number("other_flop_per_step", "other FLOP", "record.work.other_flop_per_step", prefixed),
    _text("uncovered", "no formula", "record.work", _listed, by=lambda work: [one.name for one in work.uncovered]),
    _seconds("uncovered_s", "without formula", "record.work", by=_uncovered_s),
    _number("byte_low_per_step", "least byte", "record.work.byte_low_per_step", prefixed),
    _number("byte_high_per_step", "most byte", "record.work.byte_high_per_step", prefixed),
    _count("parameter_count", "parameters", "record.work.parameter_count", prefixed),
    _bytes("parameter_byte", "size of parameters", "record.work.parameter_byte"),
    _bytes("activation_byte", "activations", "record.work.activation_byte"),
    _bytes("saved_for_backward_byte", "saved", "record.work.saved_for_backward_byte"),
    _kind("counter_status", "counters", "record.counters.status", _spaced),
    _text("counter_source", "counters of", "record.counters.source"),
    _text("counter_reason", "why not counted", "record.counters.reason"),
    *(
        _number(f"counter_{one.name}_per_step", _counter_title(one), f"counted.{one.name}", prefixed)
        for one in QUANTITIES
        if one.unit != "s"
    ),
    _number("tensor_share", "tensor cores", "counted.flop_by_pipe", percent, by=tensor_share),
    _text("counter_flop_by_pipe", "FLOP by pipe", "counted", by=lambda counters: _shares(counters.flop_by_pipe)),
    # The pass under the profiler
    _kind("profile_source", "times of", "record.profile.source"),
    _seconds("profiled_step_s", "profiled step", "record.profile.step_s"),
    _seconds("operations_s", "in operations", "record.profile.operations_s"),
    _seconds("device_busy_s", "device busy in profile", "record.profile.device_busy_s"),
    _seconds("longest_gap_s", "longest gap", "record.profile.longest_gap_s"),
    # Where it stands
    _number("attained_flop_per_s", "FLOP/s", "placement.attained_flop_per_s", prefixed, drop=2),
    _text("intensity", "FLOP/\nbyte", _intensity, drop=3),
    _number("intensity_low_flop_per_byte", "least FLOP/byte", "placement.intensity_low", significant),
    _number("intensity_high_flop_per_byte", "most FLOP/byte", "placement.intensity_high", significant),
    _kind("provenance", "bytes from", "placement.provenance", _spaced),
    _kind("flop_source", "FLOP from", "placement.flop_source"),
    _kind("time_basis", "time of", "placement.time_basis"),
    _number("compute_roof_flop_per_s", "compute roof", "placement.compute_flop_per_s", _in("FLOP/s")),
    _number("memory_roof_byte_per_s", "memory roof", "placement.memory_byte_per_s", _in("B/s")),
    _kind("memory_level", "level", "placement.memory_level"),
    _kind("roof_source", "roofs", "placement.roof_source"),
    _number("knee_flop_per_byte", "knee", "placement.knee", significant),
    _text(
        "fraction_of_roof",
        "% of\nroof",
        lambda point: between(point.placement.fraction_low, point.placement.fraction_high, percent_of),
    ),
    _number("fraction_of_roof_low", "least % of roof", "placement.fraction_low", percent_of),
    _number("fraction_of_roof_high", "most % of roof", "placement.fraction_high", percent_of),
    _number("fraction_of_compute_roof", "% of peak", "placement.fraction_of_compute", percent_of),
    _seconds("speed_of_light_s", "speed of light", "sol.time_s"),
    _number("fraction_of_speed_of_light", "% of\nSOL", "fraction_of_sol", percent_of, drop=1),
    _kind("bound", "bound", "bound.kind", narrow=short_bound),
    _text("bound_why", "why", "bound.why"),
    _text("bound_evidence", "evidence", "bound.evidence"),
    replace(_truth("plottable", "placed", lambda point: point.why_not_drawn is None), right=True),
    _text("why_not_plottable", "not placed", "why_not_drawn"),
    replace(_truth("valid", "valid", "valid"), right=True),
    _text(
        "flags",
        "flags",
        lambda point: [flag.name for flag in sorted(point.flags, key=lambda flag: not flag.invalid)],
        ", ".join,
        # Where space is short the first is named alone: one that makes the row invalid.
        narrow=lambda names: " ".join([*names[:1], *([f"+{len(names) - 1}"] if len(names) > 1 else [])]),
    ),
    *(
        _text(f"version_{name}", name, f"machine.versions.{name}")
        for name in ("python", "torch", "torchvision", "cuda", "cudnn", "driver")
    ),
)

MEANINGS: Mapping[str, str] = {
    "fingerprint": "equal for results of one machine",
    "host": "pytest-benchmark's node name, where its file has one",
    "seed": "of weights and data",
    "threads": "of torch on the host",
    "grad_accum_steps": "batches whose gradients one step adds up",
    "label": "name of the machine that the user gave",
    "session": "place of the run in its set of sessions",
    "session_set": "name that the sessions of one set share",
    "test": "pytest's name of the test",
    "step_time_s": "median of the undisturbed rounds",
    "spread": "standard deviation of the same rounds over the step time",
    "samples_per_s": "samples of a step over the step time",
    "samples_per_s_sd": "spread x samples_per_s",
    "input_share": "share of the step time spent waiting for the next batch",
    "communication_s": "of a step, under the profiler: messages between ranks were under way and nothing else ran",
    "communication_share": "communication_s of the step under the profiler",
    "device_share": "share of the timed step in which the device ran something",
    "activation_byte": "all results of the forward pass",
    "saved_for_backward_byte": "kept for the backward pass: of the forward results, and of the batch",
    "tensor_share": "share of the counted FLOPs that ran on tensor cores",
    "counter_flop_by_pipe": "shares of CUDA cores and tensor cores, by type",
    "intensity_low_flop_per_byte": "FLOP over the most bytes",
    "intensity_high_flop_per_byte": "FLOP over the least bytes",
    "provenance": "where the bytes are from: counters, counted operations, or time alone",
    "flop_source": "where the FLOPs are from: counters or counted operations",
    "time_basis": "whose time places the point: of the whole step or of the device",
    "compute_roof_flop_per_s": "the most that the device does of the step's mixture of types",
    "memory_roof_byte_per_s": "the most that the level of memory delivers",
    "memory_level": "the level whose roof is over the point: dram or llc",
    "roof_source": "measured on this machine, or a published document",
    "knee_flop_per_byte": "compute roof over memory roof",
    "fraction_of_roof_low": "attained over attainable, at the high end of the intensity",
    "fraction_of_roof_high": "attained over attainable, at the low end of the intensity",
    "fraction_of_compute_roof": "attained over the compute roof",
    "speed_of_light_s": "least time that the roofs allow for the step's operations",
    "fraction_of_speed_of_light": "speed_of_light_s over step_time_s",
    "bound_why": "reason of the bound in words",
    "bound_evidence": "figures that it was concluded from",
    "plottable": "the roofline has a point of it",
    "why_not_plottable": "why it has none",
    "valid": "no flag or check makes the row invalid",
    "flags": "what a reader has to know of the figures",
}
"""What a column says beyond its name, title and unit; `docs/reference.md` shows it."""

_BY_NAME = {column.name: replace(column, meaning=MEANINGS.get(column.name, "")) for column in _ALL}

CASE_COLUMNS = tuple(column for name, column in _BY_NAME.items() if name not in ("intensity", "fraction_of_roof"))
"""Those with a value: the two ranges, which are texts, have a column for either end."""
