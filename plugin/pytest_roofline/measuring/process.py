"""What the process used between two moments, as ``/usr/bin/time -v`` would tell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_roofline.cgroup import held_back_s
from roofline.record import Process

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_RSS_UNIT_BYTE = 1 if sys.platform == "darwin" else 1024
"""``ru_maxrss`` is in bytes on macOS and in KiB elsewhere (getrusage(2))."""


class ProcessUsage:
    """Counts from its making on, for this process and all its threads; worker processes are not in it.

    :param held_back_s: how long so far each control group's quota has held its threads back.
    """

    def __init__(self, held_back_s: Callable[[], Mapping[Path, float]] = held_back_s) -> None:
        self._times = os.times()
        self._switches = _switches()
        self._read_held_s = held_back_s
        self._held_s = held_back_s()

    def stop(self) -> Process:
        """What was used so far. The largest resident size is that since the process began: it can't be reset."""
        times, switches = os.times(), _switches()
        voluntary, involuntary = (
            (None, None)
            if switches is None or self._switches is None
            else (switches[0] - self._switches[0], switches[1] - self._switches[1])
        )
        return Process(
            real_s=times.elapsed - self._times.elapsed,
            user_s=times.user - self._times.user,
            system_s=times.system - self._times.system,
            max_rss_byte=_max_rss_byte(),
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
            throttled_s=self._throttled_s(),
        )

    def _throttled_s(self) -> float | None:
        """Of the group held back longest: while one above waits, those in it wait, too, and don't count that."""
        now_s = self._read_held_s()
        return max((now_s[group] - held_s for group, held_s in self._held_s.items() if group in now_s), default=None)


def _switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches so far; None where the platform doesn't count them."""
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _max_rss_byte() -> int | None:
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTE
