"""What the process used between two moments, as ``/usr/bin/time -v`` would tell."""

from __future__ import annotations

import os
import sys

from roofline.record import Process

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_RSS_UNIT_BYTE = 1 if sys.platform == "darwin" else 1024
"""``ru_maxrss`` is in bytes on macOS and in KiB elsewhere (getrusage(2))."""


class ProcessUsage:
    """Counts from its making on, for this process and all its threads; worker processes are not in it."""

    def __init__(self) -> None:
        self._times = os.times()
        self._switches = _switches()

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
        )


def _switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches so far; None where the platform doesn't count them."""
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _max_rss_byte() -> int | None:
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTE
