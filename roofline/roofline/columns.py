"""Every figure of a benchmark that a table can show: its name, unit, heading and format have their home here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from roofline import readings
from roofline.bounds import input_share
from roofline.counters import counters_of, tensor_share
from roofline.points import Point
from roofline.printable import printable
from roofline.reader import ResultFile
from roofline.record import (
    Counters,
    HostCounters,
    Latency,
    Machine,
    Memory,
    Process,
    Profile,
    Record,
    Rounds,
    Session,
    Timing,
    Work,
)
from roofline.step_time import step_time
from roofline.tables import Column
from roofline.units import percent, scaled, shares, significant

Get = Callable[[Point], Any]


def pick(*names: str) -> list[Column[Point]]:
    """The columns of these names, in this order."""
    return [_BY_NAME[name] for name in names]


def parameters_of(points: Iterable[Point]) -> list[Column[Point]]:
    """A column for each parameter of the tests without a record, of which nothing else tells what they measured."""
    names = dict.fromkeys(name for point in points for name in _parameters(point))
    return [_words(f"param_{name}", printable(name), _parameter(name), drop=8) for name in names]


def _parameter(name: str) -> Get:
    return lambda point: _parameters(point).get(name)


def _parameters(point: Point) -> Mapping[str, Any]:
    """What a column can't show as one value is JSON."""
    if point.benchmark.record is not None:
        return {}
    return {
        name: json.dumps(value) if isinstance(value, dict | list) else value
        for name, value in (point.benchmark.params or {}).items()
    }


def between(low: float | None, high: float | None, show: Callable[[float], str]) -> str | None:
    """A range as text, one number where both ends look the same: ``12-34``."""
    if low is None or high is None:
        return None
    first, last = show(low), show(high)
    return first if first == last else f"{first}-{last}"


def percent_of(fraction: float) -> str:
    """Under a heading that says percent: ``percent_of(0.0712)`` is ``7.1``."""
    return significant(100 * fraction, 2)


def prefixed(value: float) -> str:
    """Under a heading that says the unit: ``prefixed(1.2e12)`` is ``1.20 T``."""
    return scaled(value, "").strip()


def _words(name: str, title: str, get: Get, drop: int = 0) -> Column[Point]:
    return Column(name=name, title=title, get=get, right=False, drop=drop)


def _number(name: str, title: str, get: Get, show: Callable[[Any], str] = str, drop: int = 0) -> Column[Point]:
    return Column(name=name, title=title, get=get, show=show, drop=drop)


def _seconds(name: str, title: str, get: Get, drop: int = 0) -> Column[Point]:
    return _number(name, title, get, lambda value: scaled(value, "s"), drop)


def _bytes(name: str, title: str, get: Get, drop: int = 0) -> Column[Point]:
    return _number(name, title, get, lambda value: scaled(value, "B"), drop)


def _hertz(value: float) -> str:
    return scaled(value, "Hz")


# The parts of a row, each of which may be missing.


def _record(get: Callable[[Record], Any]) -> Get:
    return lambda point: None if point.benchmark.record is None else get(point.benchmark.record)


def _timing(get: Callable[[Timing], Any]) -> Get:
    return _record(lambda record: None if record.timing is None else get(record.timing))


def _latency(get: Callable[[Latency], Any]) -> Get:
    return _timing(lambda timing: None if timing.latency is None else get(timing.latency))


def _work(get: Callable[[Work], Any]) -> Get:
    return _record(lambda record: None if record.work is None else get(record.work))


def _counters(get: Callable[[Counters], Any]) -> Get:
    return _record(lambda record: None if record.counters is None else get(record.counters))


def _counted(get: Callable[[Counters], Any]) -> Get:
    """Of counters that were read."""
    return _record(lambda record: None if (counters := counters_of(record)) is None else get(counters))


def _rounds(get: Callable[[Rounds], Any]) -> Get:
    return _timing(lambda timing: get(timing.rounds))


def _host_counters(get: Callable[[HostCounters], Any]) -> Get:
    return _record(lambda record: None if record.host_counters is None else get(record.host_counters))


def _process(get: Callable[[Process], Any]) -> Get:
    return _record(lambda record: None if record.process is None else get(record.process))


def _memory(get: Callable[[Memory], Any]) -> Get:
    return _record(lambda record: None if record.memory is None else get(record.memory))


def _profile(get: Callable[[Profile], Any]) -> Get:
    return _record(lambda record: None if record.profile is None else get(record.profile))


def _session(get: Callable[[Session], Any]) -> Get:
    return lambda point: None if point.result.session is None else get(point.result.session)


def _machine(get: Callable[[Machine], Any]) -> Get:
    return lambda point: None if point.result.machine is None else get(point.result.machine)


def _version(name: str) -> Column[Point]:
    return _words(f"version_{name}", name, _machine(lambda machine: machine.versions.get(name)))


def _setting(name: str) -> Get:
    """Of the case's config. The loader's options stand under ``loader`` there, where the case is more than a loader."""

    def get(record: Record) -> Any:
        config = record.case.config
        loader = config.get("loader")
        return loader[name] if isinstance(loader, Mapping) and name in loader else config.get(name)

    return _record(get)


# What has to be worked out of several fields.


def _samples_sd(point: Point) -> float | None:
    rate, spread = point.samples_per_s, point.spread
    return None if rate is None or spread is None else rate * spread


def _elapsed_s(timing: Timing) -> float:
    return sum(timing.rounds.wall_s)


def _steps(timing: Timing) -> int:
    return timing.rounds.steps * len(timing.rounds.wall_s)


def _mean_of_all(point: Point) -> float | None:
    """pytest-benchmark's mean: of all rounds, disturbed ones too."""
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    if timing is None:
        return point.benchmark.stats.mean_s
    found = step_time(timing.rounds)
    return None if found is None else found.mean_s


def _rounds_left_out(point: Point) -> int | None:
    """Of the step time, because something disturbed them; None where nobody looked."""
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    found = None if timing is None or timing.rounds.disturbed is None else step_time(timing.rounds)
    return None if found is None else found.left_out


def _uncovered_s(work: Work) -> float | None:
    """Time of a step in operations without a formula; None where one of them wasn't timed."""
    times = [one.time_s for one in work.uncovered]
    return None if None in times else sum(time_s for time_s in times if time_s is not None)


def _peak_over_predicted(memory: Memory) -> float | None:
    """Above 1 by the scratch memory of kernels and what an allocator rounds up."""
    measured, predicted = memory.peak_allocated_byte, memory.peak_predicted_byte
    return None if measured is None or not predicted else measured / predicted


def started_at(result: ResultFile) -> str | None:
    """When a run began; of one without a record, when its file was written."""
    return result.written_at if result.session is None else result.session.started_at


def _place_in_set(session: Session) -> str | None:
    return None if session.set is None else f"{session.set.index}/{session.set.count}"


def _intensity(point: Point) -> str | None:
    text = between(point.placement.intensity_low, point.placement.intensity_high, lambda value: significant(value, 2))
    # An estimate from time alone must not look like a count.
    return f"({text})" if text is not None and point.placement.provenance == "time_only" else text


def _of_roof(point: Point) -> str | None:
    return between(point.placement.fraction_low, point.placement.fraction_high, percent_of)


_ALL: tuple[Column[Point], ...] = (
    # What was run, and where
    _words("case", "case", lambda point: point.id),
    _words("machine", "machine", lambda point: point.result.machine_label, drop=9),
    _words("fingerprint", "fingerprint", lambda point: point.result.machine_key),
    _words("host", "host", lambda point: point.result.host.node),
    _words("device_kind", "kind", _record(lambda record: record.device.kind)),
    _words("device", "device", _record(lambda record: record.device.name)),
    _words("model", "model", _record(lambda record: record.case.model)),
    _words("mode", "mode", _record(lambda record: record.case.mode)),
    _number("batch", "batch", _record(lambda record: record.case.batch)),
    _words("precision", "precision", _record(lambda record: record.case.precision)),
    _words("layout", "layout", _record(lambda record: record.case.layout)),
    _words("data", "data", _record(lambda record: record.case.data), drop=5),
    _number("seed", "seed", _setting("seed")),
    _number("threads", "threads", _setting("threads")),
    _number("grad_accum_steps", "accumulated", _setting("grad_accum_steps")),
    _words("deterministic", "deterministic", _setting("deterministic")),
    _words("cudnn_benchmark", "cuDNN benchmark", _setting("cudnn_benchmark")),
    _number("workers", "workers", _setting("workers")),
    _words("pin_memory", "pinned", _setting("pin_memory")),
    _number("prefetch_factor", "prefetch", _setting("prefetch_factor")),
    _words("augment", "augmented", _setting("augment")),
    _words("workload_hash", "workload", _record(lambda record: record.case.workload_hash)),
    _number("samples_per_step", "samples", _record(lambda record: record.case.samples_per_step)),
    _words("sample_unit", "unit", _record(lambda record: record.case.sample_unit)),
    _words("label", "label", _session(lambda session: session.label)),
    _words("started_at", "started", lambda point: started_at(point.result)),
    _words("session", "session", _session(_place_in_set)),
    _words("session_set", "set", _session(lambda session: None if session.set is None else session.set.id)),
    _words("commit", "commit", lambda point: point.result.commit),
    _words("file", "file", lambda point: point.result.path.name),
    _words("test", "test", lambda point: point.benchmark.fullname),
    # How it was timed
    _words("protocol", "protocol", _timing(lambda timing: timing.protocol)),
    _number("warmup_steps", "warm-up\nsteps", _timing(lambda timing: timing.warmup_steps), drop=7),
    _seconds("warmup_s", "warm-up", _timing(lambda timing: timing.warmup_s)),
    _number("measured_steps", "steps", _timing(_steps), drop=6),
    _seconds("elapsed_s", "elapsed", _timing(_elapsed_s), drop=3),
    _seconds("step_time_s", "step", lambda point: point.step_time_s, drop=2),
    _seconds("step_time_sd_s", "± sd", _timing(lambda timing: timing.step_time_sd_s)),
    _number("spread", "sd\n%", lambda point: point.spread, percent_of, drop=6),
    _seconds("step_time_mean_s", "mean of\nall rounds", _mean_of_all),
    _number("rounds", "rounds", _timing(lambda timing: len(timing.rounds.wall_s))),
    _number("rounds_left_out", "left out", _rounds_left_out),
    _number("margin", "margin", _timing(lambda timing: timing.margin), percent),
    _number("confidence", "confidence", _timing(lambda timing: timing.confidence)),
    _words("stop_reason", "stopped by", _timing(lambda timing: timing.stop_reason)),
    _number("samples_per_s", "samples\n/s", lambda point: point.samples_per_s, significant),
    _number("samples_per_s_sd", "± sd", _samples_sd, lambda value: significant(value, 2), drop=2),
    _seconds("latency_median_s", "latency", _latency(lambda latency: latency.median_s), drop=3),
    _seconds("latency_p95_s", "p95", _latency(lambda latency: latency.p95_s)),
    _seconds("latency_p99_s", "p99", _latency(lambda latency: latency.p99_s)),
    _seconds("input_wait_s", "input wait", _timing(lambda timing: timing.input_wait_s)),
    _number("input_share", "input\nwait", _record(input_share), percent, drop=4),
    _number("device_share", "device\nbusy", lambda point: point.placement.device_share, percent),
    _seconds("input_startup_s", "input\nstart-up", _timing(lambda timing: timing.input_startup_s)),
    _seconds("compile_s", "compile", _timing(lambda timing: timing.compile_s)),
    _number(
        "repeat_step_time_s",
        "repeats",
        _timing(lambda timing: list(timing.repeat_step_time_s) or None),
        lambda times: ", ".join(scaled(time, "s") for time in times),
    ),
    # The process, as /usr/bin/time has it
    _seconds("real_s", "real", _timing(lambda timing: timing.warmup_s + _elapsed_s(timing))),
    _seconds("user_s", "user", _process(lambda process: process.user_s), drop=5),
    _seconds("system_s", "sys", _process(lambda process: process.system_s), drop=6),
    _bytes("max_rss_byte", "max RSS", _process(lambda process: process.max_rss_byte), drop=4),
    _number("voluntary_switches", "voluntary\nswitches", _process(lambda process: process.voluntary_switches)),
    _number("involuntary_switches", "switches", _process(lambda process: process.involuntary_switches)),
    _bytes("peak_predicted_byte", "predicted peak", _memory(lambda memory: memory.peak_predicted_byte)),
    _bytes("peak_allocated_byte", "peak memory", _memory(lambda memory: memory.peak_allocated_byte)),
    _number("peak_over_predicted", "peak /\npredicted", _memory(_peak_over_predicted), significant),
    _bytes("peak_reserved_byte", "reserved", _memory(lambda memory: memory.peak_reserved_byte)),
    _number("energy_j_per_step", "J/step", _record(lambda record: record.energy_j_per_step), significant),
    _number("energy_j_per_sample", "J/sample", _record(readings.energy_j_per_sample), significant),
    # What the machine told meanwhile
    _number("sm_clock_hz", "SM clock", _rounds(lambda rounds: readings.mean(rounds.sm_clock_hz)), _hertz),
    _number("memory_clock_hz", "memory clock", _rounds(lambda rounds: readings.mean(rounds.memory_clock_hz)), _hertz),
    _number("power_w", "power", _rounds(lambda rounds: readings.mean(rounds.power_w)), lambda watt: scaled(watt, "W")),
    _number("temperature_c", "°C", _rounds(lambda rounds: readings.most(rounds.temperature_c)), significant),
    _bytes("device_memory_byte", "in use", _rounds(lambda rounds: readings.most(rounds.device_memory_byte))),
    _number("throttle_share", "throttled", _rounds(readings.throttle_share), percent),
    _words("throttle_reasons", "clocks held by", _rounds(lambda rounds: readings.throttle_reasons(rounds) or None)),
    _seconds("power_held_s", "held by power", _rounds(lambda rounds: readings.total(rounds.power_held_s))),
    _seconds("heat_held_s", "held by heat", _rounds(lambda rounds: readings.total(rounds.heat_held_s))),
    _seconds("throttled_s", "CPU throttled", _process(lambda process: process.throttled_s)),
    _words("host_counter_status", "perf stat", _host_counters(lambda counters: counters.status)),
    _number("instructions_per_cycle", "IPC", _host_counters(readings.instructions_per_cycle), significant),
    _number("cache_miss_share", "cache misses", _host_counters(readings.cache_miss_share), percent),
    _number("branch_miss_share", "branch misses", _host_counters(readings.branch_miss_share), percent),
    # The work
    _number("flop_per_step", "FLOP", _work(lambda work: work.flop_per_step), prefixed),
    _words("flop_by_dtype", "FLOP of", _work(lambda work: shares(work.flop_by_dtype) or None)),
    _number("other_flop_per_step", "other FLOP", _work(lambda work: work.other_flop_per_step), prefixed),
    _words("uncovered", "no formula", _work(lambda work: [operation.name for operation in work.uncovered])),
    _seconds("uncovered_s", "without formula", _work(_uncovered_s)),
    _number("byte_low_per_step", "least byte", _work(lambda work: work.byte_low_per_step), prefixed),
    _number("byte_high_per_step", "most byte", _work(lambda work: work.byte_high_per_step), prefixed),
    _number("parameter_count", "parameters", _work(lambda work: work.parameter_count), prefixed),
    _bytes("parameter_byte", "parameters", _work(lambda work: work.parameter_byte)),
    _bytes("activation_byte", "activations", _work(lambda work: work.activation_byte)),
    _bytes("saved_for_backward_byte", "saved", _work(lambda work: work.saved_for_backward_byte)),
    _words("counter_status", "counters", _counters(lambda counters: counters.status)),
    _words("counter_source", "counters of", _counters(lambda counters: counters.source)),
    _words("counter_reason", "why not counted", _counters(lambda counters: counters.reason)),
    _number("counter_flop_per_step", "FLOP counter", _counted(lambda counters: counters.flop), prefixed),
    _number("counter_dram_byte_per_step", "DRAM counter", _counted(lambda counters: counters.dram_byte), prefixed),
    _number(
        "counter_dram_read_byte_per_step", "DRAM read", _counted(lambda counters: counters.dram_read_byte), prefixed
    ),
    _number(
        "counter_dram_write_byte_per_step",
        "DRAM written",
        _counted(lambda counters: counters.dram_write_byte),
        prefixed,
    ),
    _number("counter_l2_byte_per_step", "L2 counter", _counted(lambda counters: counters.l2_byte), prefixed),
    _number("counter_l1_byte_per_step", "L1 counter", _counted(lambda counters: counters.l1_byte), prefixed),
    _number("tensor_share", "tensor cores", _counted(lambda counters: tensor_share(counters.flop_by_pipe)), percent),
    _words("counter_flop_by_pipe", "FLOP of", _counted(lambda counters: shares(counters.flop_by_pipe or {}) or None)),
    # The pass under the profiler
    _words("profile_source", "times of", _profile(lambda profile: profile.source)),
    _seconds("profiled_step_s", "profiled step", _profile(lambda profile: profile.step_s)),
    _seconds("operations_s", "in operations", _profile(lambda profile: profile.operations_s)),
    _seconds("device_busy_s", "device busy", _profile(lambda profile: profile.device_busy_s)),
    _seconds("longest_gap_s", "longest gap", _profile(lambda profile: profile.longest_gap_s)),
    # Where it stands
    _number("attained_flop_per_s", "FLOP/s", lambda point: point.placement.attained_flop_per_s, prefixed, drop=2),
    _words("intensity", "FLOP/\nbyte", _intensity, drop=3),
    _number("intensity_low_flop_per_byte", "least", lambda point: point.placement.intensity_low, significant),
    _number("intensity_high_flop_per_byte", "most", lambda point: point.placement.intensity_high, significant),
    _words("provenance", "bytes from", lambda point: point.placement.provenance),
    _words("flop_source", "FLOP from", lambda point: point.placement.flop_source),
    _words("time_basis", "time of", lambda point: point.placement.time_basis),
    _number("compute_roof_flop_per_s", "compute roof", lambda point: point.placement.compute_flop_per_s, prefixed),
    _number("memory_roof_byte_per_s", "memory roof", lambda point: point.placement.memory_byte_per_s, prefixed),
    _words("memory_level", "level", lambda point: point.placement.memory_level),
    _words("roof_source", "roofs", lambda point: point.placement.roof_source),
    _number("knee_flop_per_byte", "knee", lambda point: point.placement.knee, significant),
    _words("fraction_of_roof", "% of\nroof", _of_roof),
    _number("fraction_of_roof_low", "% of roof", lambda point: point.placement.fraction_low, percent_of),
    _number("fraction_of_roof_high", "% of roof", lambda point: point.placement.fraction_high, percent_of),
    _number("fraction_of_compute_roof", "% of peak", lambda point: point.placement.fraction_of_compute, percent_of),
    _seconds("speed_of_light_s", "speed of light", lambda point: point.sol.time_s),
    _number("fraction_of_speed_of_light", "% of\nSOL", lambda point: point.fraction_of_sol, percent_of, drop=1),
    Column(
        name="bound",
        title="bound",
        get=lambda point: point.bound.kind,
        narrow=lambda kind: "undet." if kind == "undetermined" else kind,
        right=False,
    ),
    _words("bound_why", "why", lambda point: point.bound.why),
    _words("bound_evidence", "evidence", lambda point: point.bound.evidence),
    Column(name="plottable", title="placed", get=lambda point: point.why_not_drawn is None),
    _words("why_not_plottable", "not placed", lambda point: point.why_not_drawn),
    Column(name="valid", title="valid", get=lambda point: point.valid),
    Column(
        name="flags",
        title="flags",
        # Where space is short the first is named alone: one that makes the row invalid.
        get=lambda point: [flag.name for flag in sorted(point.flags, key=lambda flag: not flag.invalid)],
        show=", ".join,
        narrow=lambda names: " ".join([*names[:1], *([f"+{len(names) - 1}"] if len(names) > 1 else [])]),
        right=False,
    ),
    *(_version(name) for name in ("python", "torch", "torchvision", "cuda", "cudnn", "driver")),
)

_BY_NAME = {column.name: column for column in _ALL}
