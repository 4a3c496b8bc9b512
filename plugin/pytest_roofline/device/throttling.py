"""Flag what held the hardware back while steps were timed: heat, the power limit, a CPU quota, memory that spilled.

None of it makes a row invalid: it was measured so. It is the time of a machine in this state.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection, Sequence

from pytest_roofline.device.nvml import POWER_CAP, SLOWDOWNS
from pytest_roofline.device.system import System
from roofline.schema.record import Flag, Memory, Process, Rounds
from roofline.text.units import percent, scaled

HELD_SHARE = 0.1
"""Of the rounds, or of their time: clocks that were held down in less have hardly moved the mean."""

THROTTLED_SHARE = 0.02
"""Of the wall time, as for time stolen by the hypervisor."""

FULL_SHARE = 0.95
"""Of the device's memory."""


def device_flags(rounds: Rounds, memory: Memory, process: Process, system: System) -> tuple[Flag, ...]:
    """The flags ``throttled``, ``power_capped`` and ``spilled``, where they apply."""
    # Windows' driver gives out the host's memory when that of the device is full, in WSL2, too, whose guests have no
    # setting against it. Elsewhere an allocation fails.
    spills = system.platform == "win32" or system.wsl
    found = (_throttled(rounds, process), _power_capped(rounds), _spilled(rounds, memory) if spills else None)
    return tuple(flag for flag in found if flag is not None)


def _throttled(rounds: Rounds, process: Process) -> Flag | None:
    seen = [_held(rounds, SLOWDOWNS, rounds.heat_held_s, "heat"), _quota(process)]
    evidence = "; ".join(what for what in seen if what is not None)
    return Flag(name="throttled", evidence=evidence) if evidence else None


def _power_capped(rounds: Rounds) -> Flag | None:
    evidence = _held(rounds, (POWER_CAP,), rounds.power_held_s, "the power limit")
    if evidence is None:
        return None
    if rounds.power_w:
        evidence += f", power {statistics.fmean(rounds.power_w):.0f} W"
    return Flag(name="power_capped", evidence=evidence)


def _held(rounds: Rounds, reasons: Collection[str], held_s: Sequence[float] | None, by: str) -> str | None:
    """Say what shows that the clocks were held down, and how far; None where nothing shows enough of it.

    The reasons stand right after a round, when the device may be idle again and no longer held; the counter ran with
    it, and not every device has one. So either is enough.
    """
    seen = [what for what in (_in_rounds(rounds, reasons), _counted(rounds, held_s, by)) if what is not None]
    if not seen:
        return None
    text = f"clocks held down {', '.join(seen)}"
    if rounds.sm_clock_hz:
        low, high = min(rounds.sm_clock_hz) / 1e6, max(rounds.sm_clock_hz) / 1e6
        text += f", SM clock {low:.0f} MHz" if low == high else f", SM clock {low:.0f} to {high:.0f} MHz"
    if rounds.temperature_c:
        text += f", up to {max(rounds.temperature_c):.0f} °C"
    return text


def _in_rounds(rounds: Rounds, reasons: Collection[str]) -> str | None:
    """After how many rounds any of the reasons stood, and which; None where after too few."""
    told = [held.split("; ") if held else [] for held in rounds.throttle or ()]
    ours = [[reason for reason in held if reason in reasons] for held in told]
    count = sum(1 for held in ours if held)
    if count == 0 or count < HELD_SHARE * len(told):
        return None
    names = ", ".join(name for name, _ in Counter(reason for held in ours for reason in held).most_common())
    return f"in {count} of {len(told)} rounds ({names})"


def _counted(rounds: Rounds, held_s: Sequence[float] | None, by: str) -> str | None:
    """For how long of the rounds, by the device's counter; None where for too short, and where there is no counter."""
    sum_s, wall_s = sum(held_s or ()), sum(rounds.wall_s)
    if sum_s <= 0 or sum_s < HELD_SHARE * wall_s:
        return None
    return f"for {scaled(sum_s, 's')} of {scaled(wall_s, 's')} (NVML's counter of {by})"


def _quota(process: Process) -> str | None:
    held_s, real_s = process.throttled_s, process.real_s
    if held_s is None or real_s is None or held_s <= THROTTLED_SHARE * real_s:
        return None
    return f"the CPU quota held threads back for {scaled(held_s, 's')} (of all CPUs) in {scaled(real_s, 's')}"


def _spilled(rounds: Rounds, memory: Memory) -> Flag | None:
    total = memory.device_total_byte
    if not total:
        return None
    by_whom = {
        "reserved": memory.peak_reserved_byte or 0,
        "in use by all programs": max(rounds.device_memory_byte or (0,)),
    }
    what, most = max(by_whom.items(), key=lambda item: item[1])
    if most <= FULL_SHARE * total:
        return None
    return Flag(
        name="spilled",
        evidence=f"{scaled(most, 'B')} {what} of {scaled(total, 'B')} ({percent(most / total, 3)}): the driver"
        " of this system goes on in the host's memory without an error",
    )
