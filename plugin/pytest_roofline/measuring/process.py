"""What the process used, as ``/usr/bin/time -v`` would tell."""

from __future__ import annotations

import os
import sys

from roofline.record import Process

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_RSS_UNIT_BYTE = 1 if sys.platform == "darwin" else 1024
"""``ru_maxrss`` is in bytes on macOS and in KiB elsewhere."""


class ProcessUsage:
    """Counts from its making to `stop`. The largest resident size is the process's so far: it can't be reset."""

    def __init__(self) -> None:
        self._times = os.times()
        self._switches = _switches()

    def stop(self) -> Process:
        times, switches = os.times(), _switches()
        return Process(
            user_s=times.user - self._times.user,
            system_s=times.system - self._times.system,
            max_rss_byte=_max_rss_byte(),
            voluntary_switches=None if switches is None or self._switches is None else switches[0] - self._switches[0],
            involuntary_switches=None
            if switches is None or self._switches is None
            else switches[1] - self._switches[1],
        )


def _switches() -> tuple[int, int] | None:
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _max_rss_byte() -> int | None:
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTE
