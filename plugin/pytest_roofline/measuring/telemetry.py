"""What the host tells so far: CPU time, involuntary switches, stolen time, other programs. Read outside all timing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_roofline.device import cpus as usable
from pytest_roofline.measuring import proc

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


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


class Telemetry(Protocol):
    """Counters of the host, and why some are missing."""

    @property
    def missing(self) -> Mapping[str, str]:
        """Field of `roofline.schema.record.Rounds` -> why it can't be had."""
        ...

    def read(self) -> Reading:
        """All counters now."""
        ...


class HostTelemetry:
    """This process on this host: CPU time everywhere, switches on Unix, steal and other programs on Linux.

    :param folder: the mounted proc file system.
    :param platform: as ``sys.platform`` names it.
    """

    def __init__(self, folder: Path = proc.PROC, platform: str = sys.platform) -> None:
        self.missing: dict[str, str] = {}
        self._folder = folder
        self._cpus: frozenset[int] = frozenset()
        if resource is None:
            self.missing["involuntary_switches"] = f"{platform} doesn't count them"
        if not platform.startswith("linux"):
            self.missing["steal_s"] = f"{platform} doesn't tell stolen time"
            return
        self._cpus = usable.affinity()
        if proc.cpu_times(self._cpus, folder) is None:
            self.missing["steal_s"] = f"{folder / 'stat'} doesn't tell stolen time of this process's CPUs"
            self._cpus = frozenset()

    def read(self) -> Reading:
        process_cpu_s = time.process_time()
        switches = None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        cpus = proc.cpu_times(self._cpus, self._folder) if self._cpus else None
        family_s = proc.family_cpu_s(os.getpid(), self._folder) if cpus else None
        return Reading(
            process_cpu_s=process_cpu_s,
            involuntary_switches=switches,
            steal_s=cpus.stolen_s if cpus else None,
            others_cpu_s=cpus.busy_s - family_s if cpus and family_s is not None else None,
        )
