"""The process's control groups on Linux: their CPU quota, how long it held threads back, and room for memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def quota_cpus(root: Path = ROOT, own: Path = OWN) -> float | None:
    """The least CPU bandwidth quota of the process's group and those above it, in CPUs; None without any.

    Version 2 has it in ``cpu.max``, version 1 in ``cpu/cpu.cfs_quota_us``.
    """
    return min((quota for group in _groups(root, own) if (quota := _quota(group)) is not None), default=None)


def held_back_s(root: Path = ROOT, own: Path = OWN) -> dict[Path, float]:
    """Of each of these groups that has a quota, for how long so far its threads had to wait for the next period.

    The kernel adds up the CPUs that waited, and the threads of all processes in the group
    (``throttled_usec`` of ``cpu.stat`` in version 2, ``throttled_time``, in nanoseconds, in version 1).
    """
    found = {}
    for group in _groups(root, own):
        held_s = None if _quota(group) is None else _held_s(group)
        if held_s is not None:
            found[group] = held_s
    return found


def memory_room_byte(root: Path = ROOT, own: Path = OWN) -> int | None:
    """The most memory that the process's groups still let it take, without swap; None without a limit.

    What the kernel can take back, pages of files and its own caches, is room, too. Version 2 has the limit in
    ``memory.max``, version 1 in ``memory/memory.limit_in_bytes``.
    """
    return min((room for group in _groups(root, own, "memory") if (room := _room(group)) is not None), default=None)


def _room(group: Path) -> int | None:
    for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        most, used, counts = (_read(group / name) for name in (limit, usage, "memory.stat"))
        if most.isdecimal() and used.isdecimal() and counts:  # "max": no limit
            taken_back = sum(_count(counts, name) or 0 for name in _TAKEN_BACK)
            return max(0, int(most) - int(used) + taken_back)
    return None


_TAKEN_BACK = ("active_file", "inactive_file", "slab_reclaimable")


def _groups(root: Path, own: Path, controller: str = "cpu") -> Iterator[Path]:
    """The process's own groups and all above them, of both versions. In a container the root is its own."""
    lines = [line.split(":", 2) for line in _read(own).splitlines()]
    paths = {controllers: path for _, controllers, path in (line for line in lines if len(line) == 3)}
    yield from _upwards(root, paths.get("", "/"))
    of_controller = (path for controllers, path in paths.items() if controller in controllers.split(","))
    yield from _upwards(root / controller, next(of_controller, "/"))


def _upwards(root: Path, path: str) -> Iterator[Path]:
    group = root / path.strip("/")
    yield group
    yield from (parent for parent in group.parents if parent == root or root in parent.parents)


def _quota(group: Path) -> float | None:
    version_2, _, period = _read(group / "cpu.max").partition(" ")
    quota = version_2 or _read(group / "cpu.cfs_quota_us")
    period = period or _read(group / "cpu.cfs_period_us")
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:  # "max", or -1: no quota
        return None
    return int(quota) / int(period)


_HELD = {"throttled_usec": 1e6, "throttled_time": 1e9}
"""Lines of ``cpu.stat``, and how many of their units are a second."""


def _held_s(group: Path) -> float | None:
    counts = _read(group / "cpu.stat")
    found = ((_count(counts, name), unit) for name, unit in _HELD.items())
    return next((count / unit for count, unit in found if count is not None), None)


def _count(lines: str, name: str) -> int | None:
    """The number behind a name in a file of counts, one a line."""
    found = re.search(rf"^{name} (\d+)$", lines, re.MULTILINE)
    return None if found is None else int(found[1])


def _read(file: Path) -> str:
    """The text of a file; nothing where it can't be read."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
