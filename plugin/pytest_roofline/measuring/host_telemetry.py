"""Counters of the host, read between rounds: CPU time, involuntary switches, stolen time, other programs.

The GPU's clocks, power and temperature are read by `pytest_roofline.device.nvml`.

Linux tells of CPUs and of a family of processes in /proc, counted in ticks, of 10 ms as a rule.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device import cpus as usable

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


PROC = Path("/proc")

_BUSY = (1, 2, 3, 6, 7)
"""Fields of a ``cpu`` line of /proc/stat that are work: user, nice, system, irq, softirq (proc(5))."""

_STEAL = 8

_USER, _SYSTEM = 11, 12
"""Fields of /proc/PID/stat behind the program's name: utime and stime, number 14 and 15 of all (proc(5))."""


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds so far, summed over CPUs: at work, and taken away by the hypervisor."""

    busy_s: float
    stolen_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters so far; None where the platform has none.

    :param process_cpu_s: user and system time of all threads of the process.
    :param involuntary_switches: how often any of them lost its CPU while it had work.
    :param steal_s: time the hypervisor gave the process's CPUs to others, summed over those CPUs.
    :param others_cpu_s: CPU time that other programs used on those CPUs; workers of this process are none.
    """

    process_cpu_s: float | None
    involuntary_switches: int | None
    steal_s: float | None
    others_cpu_s: float | None = None


class HostTelemetry:
    """This process on this host: CPU time everywhere, switches on Unix, steal and other programs on Linux.

    :param folder: the mounted proc file system.
    :param platform: as ``sys.platform`` names it.
    :ivar missing: field of `roofline.schema.record.Rounds` -> why it can't be had.
    """

    def __init__(self, folder: Path = PROC, platform: str = sys.platform) -> None:
        self.missing: dict[str, str] = {}
        self._folder = folder
        self._cpus: frozenset[int] = frozenset()
        if resource is None:
            self.missing["involuntary_switches"] = f"{platform} doesn't count them"
        if not platform.startswith("linux"):
            self.missing["steal_s"] = f"{platform} doesn't tell stolen time"
            return
        self._cpus = usable.affinity()
        if cpu_times(self._cpus, folder) is None:
            self.missing["steal_s"] = f"{folder / 'stat'} doesn't tell stolen time of this process's CPUs"
            self._cpus = frozenset()

    def read(self) -> Reading:
        process_cpu_s = time.process_time()
        switches = None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        cpus = cpu_times(self._cpus, self._folder) if self._cpus else None
        family_s = family_cpu_s(os.getpid(), self._folder) if cpus else None
        return Reading(
            process_cpu_s=process_cpu_s,
            involuntary_switches=switches,
            steal_s=cpus.stolen_s if cpus else None,
            others_cpu_s=cpus.busy_s - family_s if cpus and family_s is not None else None,
        )


def cpu_times(cpus: frozenset[int], proc: Path = PROC) -> CpuTimes | None:
    """The kernel's count for some CPUs; None where there is none."""
    names = {f"cpu{number}" for number in cpus}
    try:
        lines = [line.split() for line in (proc / "stat").read_text().splitlines() if line.startswith("cpu")]
    except OSError:
        return None
    ours = [line for line in lines if line[0] in names and len(line) > _STEAL]
    if not ours:
        return None
    busy = sum(int(line[field]) for line in ours for field in _BUSY)
    return CpuTimes(busy * _tick_s(), sum(int(line[_STEAL]) for line in ours) * _tick_s())


def family_cpu_s(pid: int, proc: Path = PROC) -> float | None:
    """CPU seconds so far of this process ``pid`` and its descendants; None where the kernel doesn't list those.

    Data loader workers are descendants: what they use belongs to the workload. Children of threads other than the main
    one are not found.
    """
    times = os.times()
    ended_s = times.children_user + times.children_system
    try:
        return time.process_time() + ended_s + sum(_used_s(child, proc) for child in _descendants(pid, proc))
    except OSError:
        return None


def _descendants(pid: int, proc: Path) -> Iterator[int]:
    for child in (proc / str(pid) / "task" / str(pid) / "children").read_text().split():
        yield int(child)
        try:
            yield from _descendants(int(child), proc)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile; once it is waited for, it is in os.times()


def _used_s(pid: int, proc: Path) -> float:
    try:
        text = (proc / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    fields = text.rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) * _tick_s()


def _tick_s() -> float:
    return 1.0 / os.sysconf("SC_CLK_TCK")
