"""What held the hardware back is flagged with what was seen, and no less than a share of the rounds is enough."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.system import System
from pytest_roofline.device.throttling import device_flags
from roofline.schema.record import Flag, Memory, Process, Rounds

LINUX = System(
    environment={}, platform="linux", kernel_release="6.8.0", uid=1000, python=Path(sys.executable), root=Path("/none")
)
WSL = System(
    environment={}, platform="linux", kernel_release="6.6.87.2-microsoft-standard-WSL2", uid=1000, python=LINUX.python
)
WINDOWS = System(environment={}, platform="win32", kernel_release="11", uid=None, python=LINUX.python)

GB = 10**9


def _process(throttled_s: float | None = None) -> Process:
    return Process(
        real_s=10.0,
        user_s=1.0,
        system_s=1.0,
        max_rss_byte=None,
        voluntary_switches=None,
        involuntary_switches=None,
        throttled_s=throttled_s,
    )


def _flags(
    *,
    held: tuple[str | None, ...] = (),
    process: Process | None = None,
    memory: Memory | None = None,
    system: System = LINUX,
    **series: Any,
) -> dict[str, str]:
    """Evidence by name; none of them is invalid."""
    count = len(held) or 1
    values: dict[str, Any] = {"wall_s": (0.1,) * count, "throttle": held or None, **series}
    rounds = Rounds(steps=1, **values)
    flags: tuple[Flag, ...] = device_flags(rounds, memory or Memory(), process or _process(), system)
    assert not any(flag.invalid for flag in flags)
    return {flag.name: flag.evidence for flag in flags}


HEAT = {
    "held": ("SW Thermal Slowdown", "HW Slowdown; SW Thermal Slowdown", None, "Applications Clocks Setting"),
    "sm_clock_hz": (1.2e9, 0.6e9, 1.98e9, 1.9e9),
    "temperature_c": (86.0, 90.0, 88.0, 80.0),
}
LIMIT = {"held": ("SW Power Cap", "SW Power Cap"), "sm_clock_hz": (1.5e9, 1.5e9), "power_w": (690.0, 710.0)}
BOTH = {"held": ("HW Slowdown", None), "wall_s": (1.0, 1.0), "heat_held_s": (0.5, 0.25), "sm_clock_hz": (0.6e9, 1.9e9)}
AFTERWARDS = {"held": (None,) * 4, "wall_s": (1.0,) * 4}


@pytest.mark.parametrize(
    ("seen", "flags"),
    [
        ({"held": (None, None)}, {}),
        ({}, {}),
        (
            HEAT,
            {
                "throttled": "clocks held down in 2 of 4 rounds (SW Thermal Slowdown, HW Slowdown), SM clock 600 to "
                "1980 MHz, up to 90 °C"
            },
        ),
        (
            LIMIT,
            {"power_capped": "clocks held down in 2 of 2 rounds (SW Power Cap), SM clock 1500 MHz, power 700 W"},
        ),
        (
            {**AFTERWARDS, "power_held_s": (0.25, 0.25, 0.0, 0.0)},
            {"power_capped": "clocks held down for 500 ms of 4.00 s (NVML's counter of the power limit)"},
        ),
        (
            {**AFTERWARDS, "heat_held_s": (0.25, 0.25, 0.0, 0.0)},
            {"throttled": "clocks held down for 500 ms of 4.00 s (NVML's counter of heat)"},
        ),
        (
            BOTH,
            {
                "throttled": "clocks held down in 1 of 2 rounds (HW Slowdown), for 750 ms of 2.00 s (NVML's counter of "
                "heat), SM clock 600 to 1900 MHz"
            },
        ),
        (
            {"held": ("HW Slowdown", None), "heat_held_s": (0.0, 0.0)},
            {"throttled": "clocks held down in 1 of 2 rounds (HW Slowdown)"},
        ),
        ({"held": ("Applications Clocks Setting", "Sync Boost; Display Clocks Setting")}, {}),
        (
            {"process": _process(0.25)},
            {"throttled": "the CPU quota held threads back for 250 ms (of all CPUs) in 10.0 s"},
        ),
        (
            {"held": ("HW Slowdown",), "process": _process(5.0)},
            {
                "throttled": "clocks held down in 1 of 1 rounds (HW Slowdown); the CPU quota held threads back for "
                "5.00 s (of all CPUs) in 10.0 s"
            },
        ),
    ],
    ids=[
        *("quiet", "nothing is told", "heat", "power limit, which is normal under full load"),
        *("power, seen by a counter alone", "heat, seen by a counter alone", "a reason and a counter"),
        *("a counter of no growth", "clocks that the user set", "quota", "heat and a quota"),
    ],
)
def test_what_held_the_device_back(seen: dict[str, Any], flags: dict[str, str]) -> None:
    """In how many rounds, by what, to which clocks, and how hot it was."""
    assert _flags(**seen) == flags


@pytest.mark.parametrize(
    ("seen", "flagged"),
    [
        ({"held": ("HW Slowdown", *[None] * 9)}, True),
        ({"held": ("HW Slowdown", *[None] * 10)}, False),
        ({"wall_s": (8.0,), "power_held_s": (0.8,)}, True),
        ({"wall_s": (8.0,), "power_held_s": (0.75,)}, False),
        ({"wall_s": (8.0,), "power_held_s": (0.0,)}, False),
        ({"process": _process(0.2)}, False),
    ],
)
def test_a_tenth_of_the_rounds_or_of_their_time_is_enough(seen: dict[str, Any], flagged: bool) -> None:
    """Less has hardly moved the mean: clocks boost up to the power limit. Of a quota it is 2 % of the wall time."""
    assert bool(_flags(**seen)) is flagged


@pytest.mark.parametrize(
    ("memory", "system", "used", "says"),
    [
        (Memory(peak_reserved_byte=int(15.5 * GB), device_total_byte=16 * GB), WSL, 0, "15.5 GB reserved of 16.0 GB"),
        (Memory(peak_reserved_byte=int(15.5 * GB), device_total_byte=16 * GB), WINDOWS, 0, "15.5 GB reserved of 16"),
        (Memory(peak_reserved_byte=6 * GB, device_total_byte=16 * GB), WSL, int(15.8 * GB), "15.8 GB in use by all"),
        (Memory(peak_reserved_byte=16 * GB, device_total_byte=16 * GB), LINUX, 0, None),
        (Memory(peak_reserved_byte=15 * GB, device_total_byte=16 * GB), WSL, 0, None),
        (Memory(peak_reserved_byte=15 * GB), WSL, 0, None),
        (Memory(device_total_byte=16 * GB), WSL, 0, None),
    ],
    ids=["WSL2", "Windows", "others filled it", "Linux refuses", "not full", "total unknown", "nothing known"],
)
def test_memory_that_spilled(memory: Memory, system: System, used: int, says: str | None) -> None:
    """More than 95 % of the device, on a system whose driver goes on in the host's memory; elsewhere an allocation
    fails.
    """
    flags = _flags(memory=memory, system=system, device_memory_byte=(used,) if used else None)
    assert list(flags) == ([] if says is None else ["spilled"])
    assert says is None or flags["spilled"].startswith(says)
