"""Many result files in, for what needs no more than their times: no operations, and no JSON values in between.

A gate reads a thousand files, and most of their bytes are the operations of each case. msgspec skips what is not asked
for, and makes the record's classes as it reads: 413 MB/s where json and cattrs come to 9 (one file of 20 cases, a
two-core AMD EPYC). It is stricter than `roofline.reader`, which takes what it refuses: a file with NaN in it, or with
a record whose fault has to be told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from roofline.journal import is_journal
from roofline.reader import Benchmark, ReadError, ResultFile, Stats, commit_of, host_of, read_file
from roofline.record import (
    SCHEMA,
    Case,
    Check,
    Counters,
    Device,
    Flag,
    Machine,
    Memory,
    Profile,
    Record,
    Session,
    Timing,
    Work,
)
from roofline.record_json import LARGEST_WHOLE
from roofline.step_time import by_median

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_times(path: Path) -> ResultFile:
    """Read one file as `roofline.reader.read_file` does, but for the operations and the process of its records, and for
    what ran of their profiles and counters.

    :raises ReadError: as that does.
    """
    if not path.is_file() or is_journal(path):
        return read_file(path)  # it says what is wrong; what isn't a regular file might never end
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error
    try:
        file = _DECODER.decode(content.removeprefix(_BYTE_ORDER_MARK))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the last: nested too deep
        return read_file(path)
    if not file.understood:
        return read_file(path)
    commit, dirty = commit_of(file.commit_info)
    return ResultFile(
        path=path,
        host=host_of(file.machine_info.as_written),
        machine=file.machine_info.roofline,
        session=file.roofline,
        benchmarks=tuple(row.benchmark() for row in file.benchmarks),
        written_at=file.datetime or None,
        commit=commit,
        commit_dirty=dirty,
        pytest_benchmark_version=file.version or None,
        nonfinite=(),
    )


class _Profile(msgspec.Struct, kw_only=True):
    """Without what ran: of that a gate needs how long it took."""

    source: Literal["operators", "kernels"]
    steps: int
    step_s: float
    operations_s: float
    device_busy_s: float | None = None

    def profile(self) -> Profile:
        return Profile(**{name: getattr(self, name) for name in self.__struct_fields__})


class _Counters(msgspec.Struct, kw_only=True):
    """Without the kernels."""

    status: str
    flop: float | None = None
    dram_byte: float | None = None

    def counters(self) -> Counters:
        return Counters(**{name: getattr(self, name) for name in self.__struct_fields__})


class _Record(msgspec.Struct, kw_only=True):
    """The fields of `Record` that a gate needs."""

    schema: int
    case: Case
    device: Device
    checks: tuple[Check, ...] = ()
    timing: Timing | None = None
    work: Work | None = None
    profile: _Profile | None = None
    counters: _Counters | None = None
    memory: Memory | None = None
    flags: tuple[Flag, ...] = ()
    missing: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def of_sizes(self) -> bool:
        """Whether the whole numbers that are calculated with are as large as the reader takes them."""
        sizes = [] if self.timing is None else [self.timing.rounds.steps]
        if self.memory is not None:
            sizes += [self.memory.peak_reserved_byte or 0, self.memory.device_total_byte or 0]
        sizes += [self.device.memory_byte or 0, self.device.last_level_cache_byte or 0]
        return max(map(abs, sizes)) <= LARGEST_WHOLE

    def record(self) -> Record:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        record = Record(
            **{
                **values,
                "profile": None if self.profile is None else self.profile.profile(),
                "counters": None if self.counters is None else self.counters.counters(),
            }
        )
        return by_median(record, with_margin=False)


class _ExtraInfo(msgspec.Struct, kw_only=True):
    roofline: _Record | msgspec.UnsetType = msgspec.UNSET


class _Stats(msgspec.Struct, kw_only=True):
    mean: float | None = None
    stddev: float | None = None
    median: float | None = None
    min: float | None = None
    max: float | None = None
    iqr: float | None = None
    ops: float | None = None
    rounds: float | None = None
    iterations: float | None = None
    data: tuple[float | None, ...] | None = None
    unit: str | None = None
    time_unit: str | None = None


class _Row(msgspec.Struct, kw_only=True):
    name: str
    fullname: str = ""
    group: str | None = None
    extra_info: _ExtraInfo = msgspec.field(default_factory=_ExtraInfo)
    stats: _Stats = msgspec.field(default_factory=_Stats)
    unit: str | None = None
    time_unit: str | None = None
    params: dict[str, Any] | None = None

    def benchmark(self) -> Benchmark:
        own, stats = self.extra_info.roofline, self.stats
        return Benchmark(
            name=self.name,
            fullname=self.fullname or self.name,
            group=self.group or None,
            stats=Stats(
                mean_s=stats.mean,
                stddev_s=stats.stddev,
                median_s=stats.median,
                min_s=stats.min,
                max_s=stats.max,
                iqr_s=stats.iqr,
                iterations_per_s=stats.ops,
                rounds=stats.rounds,
                iterations=stats.iterations,
                round_times_s=stats.data,
                unit=stats.unit or stats.time_unit or self.unit or self.time_unit or None,
            ),
            record=None if own is msgspec.UNSET else own.record(),
            params=self.params,
        )


class _MachineInfo(msgspec.Struct, kw_only=True):
    """What `host_of` reads, and our own part."""

    node: str | None = None
    machine: str | None = None
    processor: str | None = None
    system: str | None = None
    release: str | None = None
    python_version: str | None = None
    cpu: dict[str, Any] = msgspec.field(default_factory=dict)
    roofline: Machine | None = None

    @property
    def as_written(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "roofline"}


class _File(msgspec.Struct, kw_only=True):
    benchmarks: list[_Row]
    machine_info: _MachineInfo = msgspec.field(default_factory=_MachineInfo)
    commit_info: dict[str, Any] = msgspec.field(default_factory=dict)
    roofline: Session | None = None
    datetime: str | None = None
    version: str | None = None

    @property
    def understood(self) -> bool:
        """Whether all of it is of a format that this version knows, and there is something in it."""
        parts: list[_Record | Machine | Session] = [
            own for row in self.benchmarks if (own := row.extra_info.roofline) is not msgspec.UNSET
        ]
        parts += [part for part in (self.machine_info.roofline, self.roofline) if part is not None]
        usable = all(part.of_sizes for part in parts if isinstance(part, _Record))
        named = all(row.name for row in self.benchmarks)
        return bool(self.benchmarks) and named and usable and all(1 <= part.schema <= SCHEMA for part in parts)


_DECODER = msgspec.json.Decoder(_File)
