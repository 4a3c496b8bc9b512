"""pytest-benchmark's files in: each benchmark a row, of this suite or of any other project.

A benchmark of this suite brings its record: case, device, work, roofs, speed of light. One of another project brings
its times, and of ``params`` and ``extra_info`` what has the name of a column of a plain table (see layouts).
"""

from __future__ import annotations

import re
from math import sqrt
from typing import Any

from roofline.audits.csv_rows import kind_of
from roofline.audits.layouts import PLAIN, plain
from roofline.audits.row import Ceiling, Mode, Number, StatedRow, exact
from roofline.machine.published import DeviceTable
from roofline.model.points import Point, points_of
from roofline.results.result import Benchmark, ResultFile
from roofline.schema.amounts import usable_or_zero
from roofline.schema.record import Case, Record
from roofline.timing.step_time import AGREEMENT, step_time

_DEVICE = re.compile(r"(?<![A-Za-z0-9])(cpu|cuda|gpu|mps|xpu)(:?\d+)?(?![A-Za-z0-9])", re.IGNORECASE)
_MODES: dict[str, Mode] = {"train": "train", "infer": "infer"}


def rows_of(result: ResultFile, devices: DeviceTable) -> tuple[StatedRow, ...]:
    """Make a row of each benchmark; those that measured a roof or a loader are no cases and stay out."""
    points = points_of(result, devices)
    return tuple(_row(point) for point in points if point.mode in (None, "train", "infer"))


def unread(result: ResultFile) -> tuple[str, ...]:
    """Name what ``extra_info`` of a result file says that no rule can look at."""
    names = dict.fromkeys(key for benchmark in result.benchmarks for key in benchmark.extra_info)
    return tuple(key for key in names if not PLAIN.reads(plain(key)))


def _row(point: Point) -> StatedRow:
    stats, index = point.benchmark.stats, point.benchmark.index
    own = f"benchmarks[{index}]."
    quantiles = {0.0: stats.min_s, 0.25: stats.q1_s, 0.5: stats.median_s, 0.75: stats.q3_s, 1.0: stats.max_s}
    figures: dict[str, Any] = {
        "mean_s": _figure(stats.mean_s),
        "percentiles": tuple(
            (share, figure) for share, value in quantiles.items() if (figure := _figure(value)) is not None
        ),
        "steps_per_s": _figure(stats.iterations_per_s),
        "nonfinite": tuple(path.removeprefix(own) for path in point.result.nonfinite if path.startswith(own)),
    }
    record = point.benchmark.record
    if record is None:
        figures |= _foreign(point, point.benchmark)
    else:
        figures |= _own(point, record)
    return StatedRow(file=str(point.result.path), number=index + 1, counted_in="benchmark", **figures)


def _foreign(point: Point, benchmark: Benchmark) -> dict[str, Any]:
    fullname, stats = benchmark.fullname, benchmark.stats
    named = _DEVICE.search(fullname)
    figures: dict[str, Any] = {
        "name": benchmark.name,
        "work": (_DEVICE.sub("DEVICE", fullname),),
        "device": named[0].casefold() if named else point.result.machine_key,
        "step_time_s": _figure(stats.mean_s),
        "step_time_sd_s": _figure(stats.stddev_s),
        "steps": _figure(stats.rounds),
        "total_s": _figure(stats.total_s),
    }
    for source in (benchmark.params or {}, benchmark.extra_info):
        for key, value in source.items():
            column = plain(key)
            if (field := PLAIN.words.get(column)) is not None and isinstance(value, str):
                figures[field] = value
            quantity = PLAIN.numbers.get(column)
            if quantity is not None and quantity.share is None and (figure := _figure(value)) is not None:
                figures[quantity.field] = figure * exact(quantity.factor)
    if "mode" in figures:
        figures["mode"] = _MODES.get(figures["mode"])
    figures["device_kind"] = kind_of(figures["device"])
    return figures


def _own(point: Point, record: Record) -> dict[str, Any]:
    case, timing, memory = record.case, record.timing, record.memory
    figures: dict[str, Any] = {
        "name": case.id,
        "work": (case.id, case.workload_hash),
        "model": case.model,
        "mode": _MODES.get(case.mode),
        "precision": case.precision,
        "variant": f"{case.layout or 'mixed layouts'}, {case.data}",
        "device": f"{record.device.name}, {point.result.machine_label}",
        "device_kind": "cpu" if record.device.kind == "cpu" else "accelerator",
        "device_proven": any(check.name == "device" and check.status == "passed" for check in record.checks),
        "batch": _figure(record.own_samples_per_step),
        "roof": _roof(point),
        "speed_of_light_s": _figure(point.sol.time_s),
        "launch_s": _figure(point.roofs.value("latency", "launch")),
        "memory_byte": _figure(record.device.memory_byte),
    }
    if timing is not None:
        rounds = timing.rounds
        found = step_time(rounds)
        agrees = found is not None and abs(timing.step_time_s / found.time_s - 1) <= AGREEMENT
        figures |= {
            # The rules hold it against the total of all rounds, of which a median says nothing, and their mean all.
            "step_time_s": _figure(found.mean_s if found is not None and agrees else timing.step_time_s),
            "step_time_sd_s": _figure(timing.step_time_sd_s),
            "steps": _figure(timing.measured_steps),
            "total_s": _figure(timing.elapsed_s),
        }
        if rounds.device_s is not None:
            figures |= {"device_time_s": _figure(sum(rounds.device_s)), "wall_time_s": _figure(timing.elapsed_s)}
    if memory is not None:
        figures["reserved_byte"] = _figure(memory.peak_reserved_byte)
        figures["memory_byte"] = _figure(memory.device_total_byte) or figures["memory_byte"]
    if record.work is not None:
        figures["flop_per_step"] = _figure(record.work.flop_per_step)
        figures["parameter_count"] = _figure(record.work.parameter_count)
    return figures | _sample(case)


def _sample(case: Case) -> dict[str, Number | None]:
    """Size of one sample, as `StatedRow` has it: as configured, else of the first input of a batch."""
    match case.config:
        case {"input_shape": shape} | {"input_shapes": [[_, *shape], *_]}:
            pass
        case _:
            return {}
    match shape:
        case [int(tokens)]:
            return {"length_token": _figure(tokens)}
        case [_, int(height), int(width)] if height > 0 and width > 0:
            return {"size_pixel": _figure(sqrt(height * width))}
    return {}


def _roof(point: Point) -> Ceiling | None:
    """The roof over the point: at the intensity that allows most, else the compute roof alone."""
    placement = point.placement
    value = placement.compute_flop_per_s
    if placement.attained_flop_per_s is not None and placement.fraction_low:
        value = placement.attained_flop_per_s / placement.fraction_low
    figure = _figure(value)
    return None if figure is None else Ceiling(flop_per_s=figure, source=f"the {placement.roof_source} roof")


def _figure(value: object) -> Number | None:
    """JSON's numbers are not rounded. What no measurement gives is missing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not usable_or_zero(value):
        return None
    return exact(float(value))
