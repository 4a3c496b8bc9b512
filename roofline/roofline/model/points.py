"""A result file's benchmarks, each placed, flagged and judged: what every table and figure is made of."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from roofline.machine.published import DeviceTable
from roofline.machine.roof_choice import Roofs, roofs_of
from roofline.model.bounds import Bound, bound_of
from roofline.model.operations import Breakdown, break_down
from roofline.model.placement import Placement, place
from roofline.model.point_flags import cliffs, derived
from roofline.model.speed_of_light import SpeedOfLight, speed_of_light
from roofline.results.result import Benchmark, ResultFile, plain_step_time_s, plain_times_s
from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.record import Device, Flag, Mode, Record
from roofline.timing.round_flags import series_flags
from roofline.timing.step_time import throughput


class MachineKey(NamedTuple):
    """A device of a machine, as rows are distinguished.

    A user gives one machine two labels to compare two ways of running it, such as with one thread and with two.
    """

    key: str
    kind: str
    device: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """One benchmark of one run with everything concluded from it.

    ``device`` is that of its record; of a benchmark without one, that of its run.
    """

    result: ResultFile
    benchmark: Benchmark
    device: Device | None
    roofs: Roofs
    placement: Placement
    sol: SpeedOfLight
    flags: tuple[Flag, ...]
    bound: Bound

    @property
    def id(self) -> str:
        """The case's id; the test's name where there is no record."""
        return self.benchmark.name if self.benchmark.record is None else self.benchmark.record.case.id

    @property
    def machine(self) -> MachineKey:
        """Equal for points of the same device of the same machine under the same label, and for those only."""
        kind, device = ("", "") if self.device is None else (self.device.kind, self.device.name)
        return MachineKey(self.result.machine_key, kind, device, self.result.machine_label)

    @property
    def mode(self) -> Mode | None:
        return None if self.benchmark.record is None else self.benchmark.record.case.mode

    @property
    def valid(self) -> bool:
        return self.why_invalid is None

    @property
    def why_invalid(self) -> str | None:
        """The first flag that makes the row invalid, in words; None where none does."""
        return next((f"invalid: {flag.name}" for flag in self.flags if flag.invalid), None)

    @property
    def why_not_drawn(self) -> str | None:
        """The reason why the roofline leaves the point out; None where it has it."""
        if not self.valid:
            return self.why_invalid
        if self.bound.kind == "capacity":
            return "device memory full: its time is not the device's"
        return self.placement.why_not

    @property
    def step_time_s(self) -> float | None:
        """By the wall, the median of the undisturbed rounds (see `roofline.timing.step_time`); None for no time."""
        time_s = _recorded_s(self.benchmark)
        return time_s if time_s is not None and usable(time_s) else None

    @property
    def why_no_step_time(self) -> str | None:
        return next((flag.evidence for flag in self.flags if flag.name == _NO_STEP_TIME), None)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the rounds that the step time is of, over the step time."""
        record = self.benchmark.record
        if record is None:
            # pytest-benchmark writes 0 for one round, which has none.
            deviation = None if self.benchmark.stats.rounds == 1 else self.benchmark.stats.stddev_s
        else:
            deviation = None if record.timing is None else record.timing.step_time_sd_s
        if deviation is None or self.step_time_s is None:
            return None
        return deviation / self.step_time_s if usable_or_zero(deviation) else None

    @property
    def margin(self) -> float | None:
        """Of the step time, relative; None where none can be claimed, and without a record."""
        record = self.benchmark.record
        return None if record is None or record.timing is None else record.timing.margin

    @cached_property
    def step(self) -> Breakdown | None:
        """The step taken apart by operation; None without a record, or where `operations.why_untimed` says why."""
        record = self.benchmark.record
        return None if record is None else break_down(record, self.roofs, self.sol)

    @property
    def samples_per_s(self) -> float | None:
        return None if self.benchmark.record is None else throughput(self.benchmark.record)

    @property
    def fraction_of_sol(self) -> float | None:
        """Speed of light over step time."""
        if self.sol.time_s is None or self.step_time_s is None:
            return None
        return self.sol.time_s / self.step_time_s

    @property
    def workload(self) -> tuple[str, str]:
        """Equal for two benchmarks of the same work. Without a record the test's name and parameters tell it."""
        record = self.benchmark.record
        if record is None:
            return (self.benchmark.fullname, json.dumps(self.benchmark.params, sort_keys=True))
        return (record.case.id, record.case.workload_hash)


def points_of(result: ResultFile, table: DeviceTable) -> tuple[Point, ...]:
    """All benchmarks of one file, in its order, roofs and loader-only benchmarks included."""
    roofs: dict[Device, Roofs] = {}
    points: list[Point] = []
    of_run = _device_of(result)
    for benchmark in result.benchmarks:
        device = None if benchmark.record is None else benchmark.record.device
        if device is not None and device not in roofs:
            roofs[device] = roofs_of(result, device, table)
        points.append(_point(result, benchmark, device or of_run, _NO_ROOFS if device is None else roofs[device]))
    found = cliffs([_checked(point) for point in points])
    return tuple(point if flag is None else _with(point, flag) for point, flag in zip(points, found, strict=True))


def place_all(results: Iterable[ResultFile], table: DeviceTable) -> tuple[Point, ...]:
    return tuple(point for result in results for point in points_of(result, table))


_NO_STEP_TIME = "no_step_time"
_NO_ROOFS = Roofs(roofs=(), why_none="plain benchmarks alone, without the fixture roofline")


def _device_of(result: ResultFile) -> Device | None:
    """That of the first benchmark that has a record; else that of the machine, where it is known."""
    recorded = (benchmark.record.device for benchmark in result.benchmarks if benchmark.record is not None)
    return next(recorded, None if result.machine is None else result.machine.device)


def _point(result: ResultFile, benchmark: Benchmark, device: Device | None, roofs: Roofs) -> Point:
    record = benchmark.record
    if record is None:
        sol = SpeedOfLight(time_s=None, why_none="no record")
        placement = place(None, roofs)
        flags = series_flags(plain_times_s(benchmark.stats))
    else:
        placement = place(record, roofs)
        sol = speed_of_light(record, roofs, resident=placement.cache_resident)
        threads = None if result.machine is None else result.machine.threads.get("intra_op")
        flags = (*record.flags, *derived(record, placement, roofs, sol, threads))
    time_s = _recorded_s(benchmark)
    if benchmark.fault is not None:
        flags = (Flag(name="unreadable_record", evidence=benchmark.fault, invalid=True),)
    elif time_s is None or not usable(time_s):
        finite = time_s is not None and math.isfinite(time_s)
        why = f"{time_s:g} s, which is not a time" if finite else "missing or not finite"
        flags = (*flags, Flag(name=_NO_STEP_TIME, evidence=f"its step time is {why}", invalid=True))
    return Point(
        result=result,
        benchmark=benchmark,
        device=device,
        roofs=roofs,
        placement=placement,
        sol=sol,
        flags=flags,
        bound=bound_of(record, placement, roofs, sol, flags),
    )


def _recorded_s(benchmark: Benchmark) -> float | None:
    """The step time as the file has it, whatever number that is."""
    if benchmark.record is None:
        return plain_step_time_s(benchmark.stats)
    timing = benchmark.record.timing
    return None if timing is None else timing.step_time_s


def _with(point: Point, flag: Flag) -> Point:
    flags = (*point.flags, flag)
    bound = bound_of(point.benchmark.record, point.placement, point.roofs, point.sol, flags)
    return replace(point, flags=flags, bound=bound)


def _checked(point: Point) -> Record | None:
    """The record with the flags found by now, so that an invalid row is no measure for its neighbours."""
    record = point.benchmark.record
    return None if record is None else replace(record, flags=point.flags)
