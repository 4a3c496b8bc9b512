"""Read what pytest-benchmark writes into a file, and what its own fields say of a row's times, commit and host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from roofline.results.result import Host, Stats

_NO_COMMIT = "unversioned"
"""What pytest-benchmark writes for a commit outside of a repository."""


class Row(msgspec.Struct):
    """A benchmark. ``extra_info`` is JSON text by key, for what is wrong in a record costs that alone.

    ``unit`` and ``time_unit`` are other tools' words for what the times are in.
    """

    name: str
    fullname: str | None = None
    stats: dict[str, Any] = {}
    extra_info: dict[str, msgspec.Raw] | None = None
    params: dict[str, Any] | None = None
    unit: Any = None
    time_unit: Any = None


class Document(msgspec.Struct):
    """A file. The parts that may hold this project's, ``machine_info`` and ``roofline``, are JSON text."""

    benchmarks: list[Row]
    machine_info: dict[str, msgspec.Raw] = {}
    commit_info: dict[str, Any] = {}
    roofline: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    datetime: Any = None
    version: Any = None


def stats_of(row: Row, *, with_times: bool) -> Stats:
    """:param with_times: of every round, where the file has them."""
    stats = row.stats
    times = stats.get("data")
    units = (stats.get("unit"), stats.get("time_unit"), row.unit, row.time_unit)
    return Stats(
        mean_s=_number(stats.get("mean")),
        stddev_s=_number(stats.get("stddev")),
        median_s=_number(stats.get("median")),
        min_s=_number(stats.get("min")),
        max_s=_number(stats.get("max")),
        iqr_s=_number(stats.get("iqr")),
        q1_s=_number(stats.get("q1")),
        q3_s=_number(stats.get("q3")),
        total_s=_number(stats.get("total")),
        iterations_per_s=_number(stats.get("ops")),
        rounds=_number(stats.get("rounds")),
        round_times_s=tuple(map(_number, times)) if with_times and isinstance(times, list) else None,
        unit=next((unit for one in units if (unit := string(one))), None),
    )


def commit_of(commit_info: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """The commit, and whether there were changes beside it. None: not recorded, or no repository.

    :param commit_info: as the file has it.
    """
    commit, dirty = string(commit_info.get("id")), commit_info.get("dirty")
    return None if commit == _NO_COMMIT else commit, dirty if isinstance(dirty, bool) else None


def host_of(machine_info: Mapping[str, Any]) -> Host:
    """:param machine_info: as the file has it."""
    cpu = machine_info.get("cpu")
    cpu = cpu if isinstance(cpu, Mapping) else {}
    system = " ".join(part for key in ("system", "release") if (part := string(machine_info.get(key))))
    count = cpu.get("count")
    return Host(
        node=string(machine_info.get("node")),
        # "brand" until py-cpuinfo 5, "brand_raw" since.
        cpu=string(cpu.get("brand_raw")) or string(cpu.get("brand")) or string(machine_info.get("processor")),
        system=system or None,
        python=string(machine_info.get("python_version")),
        cpus=count if isinstance(count, int) and not isinstance(count, bool) else None,
        architecture=string(machine_info.get("machine")),
    )


def string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    if type(value) is float:  # nearly all are
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return None
