"""What the host tells about a round: CPU time used, switches, time stolen. Read outside the clock readings."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

STEAL_SHARE = 0.01
"""A round in which the hypervisor took more than this share of the time from the machine's CPUs was disturbed."""

CLOCK_DROP = 0.05
"""So was one whose device clock lay this much below the median of all rounds."""

SWITCHES_PER_S = 50.0
"""So was one in which the process was interrupted this often in a second, and five times as often as in most."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters so far; None where the platform has none."""

    process_cpu_s: float
    involuntary_switches: int | None
    steal_s: float | None


class Telemetry(Protocol):
    def read(self) -> Reading: ...


class HostTelemetry:
    """Telemetry of this process and its host. Steal is the sum over all CPUs."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat if sys.platform.startswith("linux") else None

    def read(self) -> Reading:
        switches = None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        return Reading(time.process_time(), switches, self._steal_s())

    def _steal_s(self) -> float | None:
        if self._stat is None:
            return None
        try:
            # cpu user nice system idle iowait irq softirq steal ..., in clock ticks
            fields = self._stat.read_text().split("\n", 1)[0].split()
            return int(fields[8]) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return None


def missing() -> dict[str, str]:
    """Why series are missing on this platform."""
    reasons: dict[str, str] = {}
    if resource is None:
        reasons["timing.rounds.involuntary_switches"] = f"{sys.platform} doesn't count them"
    if not sys.platform.startswith("linux"):
        reasons["timing.rounds.steal_s"] = f"{sys.platform} doesn't tell stolen time"
    return reasons


def disturbances(
    wall_s: Sequence[float],
    switches: Sequence[int] | None,
    steal_s: Sequence[float] | None,
    sm_clock_hz: Sequence[float] | None,
) -> tuple[str | None, ...]:
    """What disturbed each round from outside, or None."""
    usual_rate = (
        statistics.median(count / wall for count, wall in zip(switches, wall_s, strict=True)) if switches else 0.0
    )
    usual_clock = statistics.median(sm_clock_hz) if sm_clock_hz else 0.0
    found: list[str | None] = []
    for index, wall in enumerate(wall_s):
        reasons = []
        if steal_s is not None and steal_s[index] > STEAL_SHARE * wall:
            reasons.append(f"{steal_s[index]:.2g} s stolen")
        if switches is not None:
            rate = switches[index] / wall
            if rate > SWITCHES_PER_S and rate > 5 * usual_rate:
                reasons.append(f"{switches[index]} involuntary switches")
        if sm_clock_hz is not None and sm_clock_hz[index] < (1 - CLOCK_DROP) * usual_clock:
            reasons.append(f"clock at {sm_clock_hz[index] / 1e6:.0f} MHz")
        found.append(", ".join(reasons) or None)
    return tuple(found)
