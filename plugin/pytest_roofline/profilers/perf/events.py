"""What ``perf stat -x,`` writes, a line for each event, as the events of a step."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from roofline.schema.record import HostCounters
from roofline.text.units import percent

EVENTS: Mapping[str, str] = {
    "cycles": "cycles",
    "instructions": "instructions",
    "cache-references": "cache_references",
    "cache-misses": "cache_misses",
    "branches": "branches",
    "branch-misses": "branch_misses",
}
"""perf's name -> field of `roofline.schema.record.HostCounters`."""

_NAME = re.compile(r"(?:[\w-]+/)?(?P<event>[\w-]+)(?::(?P<of>[a-zA-Z]+))?/?(?P<also>[a-zA-Z]*)")
"""``cycles``, ``cycles:u``, and on processors with two kinds of cores ``cpu_core/cycles/`` or ``cpu_core/cycles/u``."""

_COUNT = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


class NoEvents(ValueError):
    """No line tells of an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What was counted, by perf's names; None for an event that the machine doesn't count.

    :param share: for which of the time the event was counted that was so for the least; perf scales such a count up.
    :param user_only: what the kernel did for the process isn't in it: whoever asked may not see that.
    """

    counts: Mapping[str, float | None]
    share: float = 1.0
    user_only: bool = False


def parse(text: str) -> Events:
    """Read the lines: count, unit, event, run time of the counter in ns, percentage of the time that it ran, and more
    (perf-stat(1), CSV FORMAT). The two kinds of cores of a hybrid processor are added up.

    :raises NoEvents: none of `EVENTS` is in them.
    """
    counts: dict[str, float | None] = {}
    shares = [1.0]
    user_only = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        named = _NAME.fullmatch(cells[2]) if len(cells) > 2 else None
        if line.startswith("#") or named is None or named["event"] not in EVENTS:
            continue
        event = named["event"]
        counts.setdefault(event, None)
        # "<not supported>", "<not counted>", or a counter that never ran and stands at 0.
        if not _COUNT.fullmatch(cells[0]) or cells[3:4] == ["0"]:
            continue
        counts[event] = (counts[event] or 0.0) + float(cells[0])
        user_only = user_only or "u" in ((named["of"] or "") + named["also"])
        shares += [float(cell) / 100 for cell in cells[4:5] if _COUNT.fullmatch(cell)]
    if not counts:
        raise NoEvents("no line tells of an event")
    return Events(counts={name: counts.get(name) for name in EVENTS}, share=min(shares), user_only=user_only)


def of_a_step(events: Events, steps: int, program: str) -> HostCounters:
    """The events of one step of ``steps``.

    :param program: what counted them, with its version.
    """
    lacking = [name for name, count in events.counts.items() if count is None]
    remarks = ["user mode only"] if events.user_only else []
    if not math.isclose(events.share, 1.0, abs_tol=0.005):
        remarks.append(f"scaled from {percent(events.share)} of the time")
    source = f"{program} ({'; '.join(remarks)})" if remarks else program
    if len(lacking) == len(events.counts):
        return HostCounters(
            status="missing_metric",
            source=source,
            reason=f"the machine counts none of {', '.join(lacking)}: most virtual machines don't",
        )
    return HostCounters(
        status="missing_metric" if lacking else "ok",
        source=source,
        reason=f"the machine doesn't count {', '.join(lacking)}" if lacking else None,
        steps=steps,
        **{field: None if (count := events.counts[name]) is None else count / steps for name, field in EVENTS.items()},
    )
