"""Hold what is known of a result file, whoever wrote it: rows with pytest-benchmark's figures, run and machine."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.schema.session import Machine, Session
from roofline.text.units import minute, some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """pytest-benchmark's own figures of one benchmark, seconds for one iteration. None: missing, or not finite.

    ``round_times_s`` is there where round times were saved, and no record has them; None in it: not finite. ``unit`` is
    what the file itself says the times are in: pytest-benchmark says nothing and means seconds.
    """

    mean_s: float | None
    stddev_s: float | None
    median_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    iqr_s: float | None = None
    q1_s: float | None = None
    q3_s: float | None = None
    total_s: float | None = None
    iterations_per_s: float | None = None
    rounds: float | None = None
    round_times_s: tuple[float | None, ...] | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One row of the file. ``record`` is None where another project wrote it, or where it can't be read.

    ``fault`` says why a record can't be read: the times stay, and the row counts as invalid. ``params`` are the test's
    parameters as the file has them; None where it has none. ``extra_info`` is what it has there beside the record.
    ``index`` is its place in the file, from 0.
    """

    name: str
    fullname: str
    stats: Stats
    record: Record | None
    fault: str | None = None
    params: Mapping[str, Any] | None = None
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What pytest-benchmark itself says of the machine."""

    node: str | None
    cpu: str | None
    system: str | None
    python: str | None
    cpus: int | None = None
    architecture: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """One run. ``machine`` and ``session`` are None where another project wrote the file, or where they can't be read.

    ``left_out`` says of the rows, session and machine that can't be read why. ``nonfinite`` lists the paths of values
    that were NaN or infinite and count as missing.
    """

    path: Path
    host: Host
    machine: Machine | None
    session: Session | None
    benchmarks: tuple[Benchmark, ...]
    written_at: str | None
    commit: str | None
    commit_dirty: bool | None
    pytest_benchmark_version: str | None
    nonfinite: tuple[str, ...]
    name: str
    """Of the file, or as much of its path as tells it from others (see `named_apart`)."""
    left_out: tuple[str, ...] = ()

    @property
    def machine_key(self) -> str:
        """Equal for files of one machine, and for those only: rows of different keys are never pooled."""
        if self.machine is not None:
            return self.machine.fingerprint
        parts = (self.host.node, self.host.cpu, self.host.system)
        return "unproven:" + "|".join(part or "?" for part in parts)

    @property
    def machine_label(self) -> str:
        if self.machine is not None:
            return self.machine.label
        return self.host.node or self.host.cpu or self.path.stem

    @property
    def when(self) -> str:
        """When the run began; of another project's file when it was written. ISO 8601 in UTC, whatever offset the file
        has it in, so that the order of texts is that of times. Empty where no time is recorded.
        """
        return _in_utc(self.started_at or "")

    @property
    def started_at(self) -> str | None:
        """When the run began, as the file has it; without a session, when the file was written."""
        return self.written_at if self.session is None else self.session.started_at

    @property
    def run_name(self) -> str:
        """The run by its time, or where none is recorded by its file."""
        return f"run of {minute(self.when)} UTC" if self.when else self.name

    @property
    def is_profiled(self) -> bool:
        """Tell whether a profiler was around the process that measured it: then its times and roofs are none."""
        records = (benchmark.record for benchmark in self.benchmarks)
        return any(flag.name == "profiled" for record in records if record is not None for flag in record.flags)

    @property
    def faults(self) -> tuple[str, ...]:
        """Say why records of this file can't be read, with the place of each."""
        return tuple(benchmark.fault for benchmark in self.benchmarks if benchmark.fault is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Give what somebody who reads its figures must know: what is not in them, and why."""
        incomplete = None if self.session is None else self.session.why_incomplete
        return (
            *([] if incomplete is None else [f"{self.path}: {incomplete}"]),
            *(f"left out, the rest of the file is used: {reason}" for reason in self.left_out),
            *(f"record not read, only its times are used: {fault}" for fault in self.faults),
            *([f"{self.path}: not finite, taken as missing: {some_of(self.nonfinite, 5)}"] if self.nonfinite else []),
        )


def _in_utc(time: str) -> str:
    """ISO 8601; a time without an offset is taken for UTC. Empty for what is no time."""
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):  # the second: at either end of the calendar
        return ""


def plain_step_time_s(stats: Stats) -> float | None:
    """The same figure of a benchmark without a record, whose rounds carry no marks: the median of its round times, else
    the median that the file has, else its mean.
    """
    times = plain_times_s(stats)
    if times:
        return statistics.median(times)
    return stats.median_s if stats.median_s is not None else stats.mean_s


def plain_times_s(stats: Stats) -> list[float]:
    """The round times saved with a benchmark without a record; empty where they weren't, or one can't be used."""
    times = [time for time in stats.round_times_s or () if time is not None and usable(time)]
    return times if len(times) == len(stats.round_times_s or ()) else []
