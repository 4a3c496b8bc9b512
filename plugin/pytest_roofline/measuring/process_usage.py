"""Read what the process used between two moments, as ``/usr/bin/time -v`` would tell."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_roofline.device.cgroup import held_back_s
from pytest_roofline.measuring.host_telemetry import PROC
from roofline.schema.record import Process
from roofline.text.units import scaled

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_RSS_UNIT_BYTE = 1 if sys.platform == "darwin" else 1024
"""``ru_maxrss`` is in bytes on macOS and in KiB elsewhere (getrusage(2))."""

OWN = PROC / "self"


class ProcessUsage:
    """Counts from its making on, for this process and all its threads; worker processes are not in it.

    Its making sets Linux's mark of the process's largest resident size back to the size of now, which the kernel does
    for who writes 5 to ``clear_refs`` (proc_pid_clear_refs(5), since 4.0). There is one mark: what getrusage(2) says of
    this process, and so an outer ``/usr/bin/time``, is the largest size since then, too. A size of each case is worth
    that. Where the mark can't be set back, it is this time's only if it rose in it.

    :param held_back_s: how long so far each control group's quota has held its threads back.
    :param own: the process's folder in the mounted proc file system.
    """

    def __init__(self, held_back_s: Callable[[], Mapping[Path, float]] = held_back_s, own: Path = OWN) -> None:
        self.missing: dict[str, str] = {}
        """Why values are None, by their path in the record; complete once it is stopped."""
        self._own = own
        self._unset = _set_back(own)
        self._times, self._usage = os.times(), _usage()
        self._read_held_s = held_back_s
        self._held_s = held_back_s()

    def stop(self) -> Process:
        """Tell what was used so far."""
        times, usage, before = os.times(), _usage(), self._usage
        if usage is None:
            for name in ("voluntary_switches", "involuntary_switches"):
                self.missing[f"process.{name}"] = f"{sys.platform} doesn't count them"
        return Process(
            real_s=times.elapsed - self._times.elapsed,
            user_s=times.user - self._times.user,
            system_s=times.system - self._times.system,
            max_rss_byte=self._max_rss_byte(usage),
            voluntary_switches=None if usage is None else usage.ru_nvcsw - before.ru_nvcsw,
            involuntary_switches=None if usage is None else usage.ru_nivcsw - before.ru_nivcsw,
            throttled_s=self._throttled_s(),
        )

    def _max_rss_byte(self, usage: Any) -> int | None:
        marked_byte = _marked_byte(self._own) if self._unset is None else None
        if marked_byte is not None:
            return marked_byte
        why = f"{sys.platform} doesn't tell it"
        if usage is not None:
            largest_byte: int = usage.ru_maxrss * _RSS_UNIT_BYTE
            if usage.ru_maxrss > self._usage.ru_maxrss:
                return largest_byte
            unset = self._unset or "its mark is no longer reported"
            why = f"the process was larger before ({scaled(largest_byte, 'B')}), and {unset}"
        self.missing["process.max_rss_byte"] = why
        return None

    def _throttled_s(self) -> float | None:
        """Of the group held back longest: while one above waits, those in it wait, too, and don't count that."""
        now_s = self._read_held_s()
        return max((now_s[group] - held_s for group, held_s in self._held_s.items() if group in now_s), default=None)


def _usage() -> Any:
    """Read getrusage(2); None where the platform has none."""
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF)


def _set_back(own: Path) -> str | None:
    """Set the mark back, or tell why it can't be."""
    if _marked_byte(own) is None:
        return f"{sys.platform} has no mark of it that could be set back"
    try:
        file = os.open(own / "clear_refs", os.O_WRONLY)
        try:
            os.write(file, b"5")
        finally:
            os.close(file)
    except OSError as error:
        return f"its mark can't be set back (clear_refs: {error.strerror})"
    return None


def _marked_byte(own: Path) -> int | None:
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", (own / "status").read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else 1024 * int(found[1])
