"""What the process used between two moments, as ``/usr/bin/time -v`` would tell."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_roofline.device.cgroup import held_back_s
from pytest_roofline.measuring.telemetry import PROC
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

    Its making sets Linux's mark of the process's largest resident size back; see `_LargestResident`.

    :param held_back_s: how long so far each control group's quota has held its threads back.
    :param own: the process's folder in the mounted proc file system.
    """

    def __init__(self, held_back_s: Callable[[], Mapping[Path, float]] = held_back_s, own: Path = OWN) -> None:
        self.missing: dict[str, str] = {}
        """Why values are None, by their path in the record; complete once it is stopped."""
        self._resident = _LargestResident(own)
        self._times = os.times()
        self._switches = _switches()
        self._read_held_s = held_back_s
        self._held_s = held_back_s()

    def stop(self) -> Process:
        """What was used so far."""
        times, switches = os.times(), _switches()
        voluntary, involuntary = (
            (None, None)
            if switches is None or self._switches is None
            else (switches[0] - self._switches[0], switches[1] - self._switches[1])
        )
        if voluntary is None:
            for name in ("voluntary_switches", "involuntary_switches"):
                self.missing[f"process.{name}"] = f"{sys.platform} doesn't count them"
        max_rss_byte, unknown = self._resident.stop()
        if unknown is not None:
            self.missing["process.max_rss_byte"] = unknown
        return Process(
            real_s=times.elapsed - self._times.elapsed,
            user_s=times.user - self._times.user,
            system_s=times.system - self._times.system,
            max_rss_byte=max_rss_byte,
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
            throttled_s=self._throttled_s(),
        )

    def _throttled_s(self) -> float | None:
        """Of the group held back longest: while one above waits, those in it wait, too, and don't count that."""
        now_s = self._read_held_s()
        return max((now_s[group] - held_s for group, held_s in self._held_s.items() if group in now_s), default=None)


class _LargestResident:
    """The largest resident size of this process from its making on.

    Linux marks it, and sets the mark back to the size of now for who writes 5 to ``clear_refs``
    (proc_pid_clear_refs(5), since 4.0). There is one mark: what getrusage(2) says of this process, and so an outer
    ``/usr/bin/time``, is the largest size since then, too. A size of each case is worth that.

    Where the mark can't be set back, it is this time's only if it rose in it.

    :param own: the process's folder in the mounted proc file system.
    """

    def __init__(self, own: Path) -> None:
        self._own = own
        self._unset = _set_back(own)
        self._before_byte = _max_rss_byte()

    def stop(self) -> tuple[int | None, str | None]:
        """The size in bytes; or None, and why it is not known."""
        marked_byte = _marked_byte(self._own) if self._unset is None else None
        if marked_byte is not None:
            return marked_byte, None
        largest_byte = _max_rss_byte()
        if largest_byte is None or self._before_byte is None:
            return None, f"{sys.platform} doesn't tell it"
        if largest_byte > self._before_byte:
            return largest_byte, None
        why = self._unset or "its mark is no longer reported"
        return None, f"the process was larger before ({scaled(largest_byte, 'B')}), and {why}"


def _set_back(own: Path) -> str | None:
    """Set the mark back; why not, where it can't be."""
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


def _switches() -> tuple[int, int] | None:
    """Voluntary and involuntary context switches so far; None where the platform doesn't count them."""
    if resource is None:
        return None
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _max_rss_byte() -> int | None:
    return None if resource is None else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT_BYTE
