"""What pytest-benchmark's own fields of a result file say: of a row's times, of the commit, of the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roofline.results.result import Host
from roofline.schema.round_statistics import Stats

UNITS = ("unit", "time_unit")
"""Keys under which other tools' files say what their times are in."""

_NO_COMMIT = "unversioned"
"""What pytest-benchmark writes for a commit outside of a repository."""


def stats_of(stats: Mapping[str, Any], units: Iterable[str | None]) -> Stats:
    """:param stats: of a benchmark, as the file has them.
    :param units: what the benchmark says beside them.
    """
    times = stats.get("data")
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
        iterations=_number(stats.get("iterations")),
        round_times_s=tuple(map(_number, times)) if isinstance(times, list) else None,
        unit=next((unit for one in (*map(stats.get, UNITS), *units) if (unit := string(one))), None),
    )


def commit_of(commit_info: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """The commit, and whether there were changes beside it. None: not recorded, or no repository.

    :param commit_info: as the file has it.
    """
    commit, dirty = string(commit_info.get("id")), commit_info.get("dirty")
    return None if commit == _NO_COMMIT else commit, dirty if isinstance(dirty, bool) else None


def host_of(machine_info: Mapping[str, Any]) -> Host:
    """:param machine_info: as the file has it."""
    cpu = mapping(machine_info.get("cpu"))
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


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
