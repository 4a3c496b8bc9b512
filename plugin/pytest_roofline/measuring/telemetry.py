"""What the host tells of the process so far: CPU time, involuntary switches, stolen time. Read outside all timing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_STEAL = 8
"""Field of a ``cpu`` line of /proc/stat: name, user, nice, system, idle, iowait, irq, softirq, steal (proc(5))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters so far; None where the platform has none.

    :param process_cpu_s: user and system time of all threads of the process.
    :param involuntary_switches: how often any of them lost its CPU while it had work.
    :param steal_s: time the hypervisor gave the process's CPUs to others, summed over those CPUs.
    """

    process_cpu_s: float | None
    involuntary_switches: int | None
    steal_s: float | None


class Telemetry(Protocol):
    """Counters of the host, and why some are missing."""

    @property
    def missing(self) -> Mapping[str, str]:
        """Field of `Reading` -> why it is None."""
        ...

    def read(self) -> Reading:
        """All counters now."""
        ...


class HostTelemetry:
    """This process on this host: CPU time everywhere, switches on Unix, steal on Linux.

    Steal comes in clock ticks, of 10 ms as a rule.

    :param stat: the kernel's table.
    :param cpus: CPUs the process may run on; None asks the system.
    """

    def __init__(self, stat: Path = Path("/proc/stat"), cpus: frozenset[int] | None = None) -> None:
        self.missing: dict[str, str] = {}
        self._stat = stat
        self._lines: frozenset[str] = frozenset()
        if resource is None:
            self.missing["involuntary_switches"] = f"{sys.platform} doesn't count them"
        if not sys.platform.startswith("linux"):
            self.missing["steal_s"] = f"{sys.platform} doesn't tell stolen time"
            return
        self._lines = frozenset(f"cpu{number}" for number in cpus or os.sched_getaffinity(0))
        if self._steal_s() is None:
            self.missing["steal_s"] = f"{stat} tells no stolen time of this process's CPUs"

    def read(self) -> Reading:
        return Reading(
            process_cpu_s=time.process_time(),
            involuntary_switches=None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
            steal_s=None if "steal_s" in self.missing else self._steal_s(),
        )

    def _steal_s(self) -> float | None:
        try:
            lines = [line.split() for line in self._stat.read_text().splitlines() if line.startswith("cpu")]
        except OSError:
            return None
        ticks = [int(line[_STEAL]) for line in lines if line[0] in self._lines and len(line) > _STEAL]
        return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None
