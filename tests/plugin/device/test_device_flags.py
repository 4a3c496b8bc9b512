"""What held the hardware back is flagged with what was seen, and no less than a share of the rounds is enough."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.device_flags import device_flags
from pytest_roofline.device.system import System
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
    *held: str | None,
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


def test_a_quiet_machine_has_no_flag() -> None:
    """Neither one that tells nothing of itself."""
    assert _flags(None, None) == {}
    assert _flags() == {}


def test_heat_that_held_the_clocks_down() -> None:
    """In how many rounds, what NVML called it, to which clocks, and how hot it was."""
    evidence = _flags(
        "SW Thermal Slowdown",
        "HW Slowdown; SW Thermal Slowdown",
        None,
        "Applications Clocks Setting",
        sm_clock_hz=(1.2e9, 0.6e9, 1.98e9, 1.9e9),
        temperature_c=(86.0, 90.0, 88.0, 80.0),
    )
    assert evidence == {
        "throttled": "clocks held down in 2 of 4 rounds (SW Thermal Slowdown, HW Slowdown), SM clock 600 to 1980 MHz, "
        "up to 90 °C"
    }


def test_the_power_limit_is_another_flag() -> None:
    """It is a setting of the machine, and normal under full load."""
    evidence = _flags("SW Power Cap", "SW Power Cap", sm_clock_hz=(1.5e9, 1.5e9), power_w=(690.0, 710.0))
    assert evidence == {
        "power_capped": "clocks held down in 2 of 2 rounds (SW Power Cap), SM clock 1500 MHz, power 700 W"
    }


@pytest.mark.parametrize(("of", "flagged"), [(10, True), (11, False)])
def test_one_round_in_ten_is_enough(of: int, flagged: bool) -> None:
    """Less has hardly moved the mean."""
    assert ("throttled" in _flags("HW Slowdown", *[None] * (of - 1))) is flagged


@pytest.mark.parametrize(
    ("series", "evidence"),
    [
        ("power_held_s", {"power_capped": "clocks held down for 500 ms of 4.00 s (NVML's counter of the power limit)"}),
        ("heat_held_s", {"throttled": "clocks held down for 500 ms of 4.00 s (NVML's counter of heat)"}),
    ],
)
def test_what_a_counter_saw_while_the_device_worked(series: str, evidence: dict[str, str]) -> None:
    """Right after each round, when it was idle again, no reason stood."""
    rounds: dict[str, Any] = {"wall_s": (1.0,) * 4, series: (0.25, 0.25, 0.0, 0.0)}
    assert _flags(None, None, None, None, **rounds) == evidence


@pytest.mark.parametrize(("held_s", "flagged"), [(0.8, True), (0.75, False), (0.0, False)])
def test_a_tenth_of_the_time_is_enough(held_s: float, flagged: bool) -> None:
    """Clocks boost up to the power limit: less of it is normal under load, and has hardly moved the mean."""
    assert ("power_capped" in _flags(None, wall_s=(8.0,), power_held_s=(held_s,))) is flagged


def test_a_reason_and_a_counter_are_one_evidence() -> None:
    """Each says what the other doesn't: by what, and for how long. A counter of no growth takes nothing away."""
    both = _flags("HW Slowdown", None, wall_s=(1.0, 1.0), heat_held_s=(0.5, 0.25), sm_clock_hz=(0.6e9, 1.9e9))
    assert both == {
        "throttled": "clocks held down in 1 of 2 rounds (HW Slowdown), for 750 ms of 2.00 s (NVML's counter of heat), "
        "SM clock 600 to 1900 MHz"
    }
    still = _flags("HW Slowdown", None, heat_held_s=(0.0, 0.0))
    assert still == {"throttled": "clocks held down in 1 of 2 rounds (HW Slowdown)"}


def test_clocks_that_the_user_set_are_neither() -> None:
    """Nor those that other boards or a display ask for."""
    assert _flags("Applications Clocks Setting", "Sync Boost; Display Clocks Setting") == {}


@pytest.mark.parametrize(("held_s", "flagged"), [(None, False), (0.2, False), (0.25, True)])
def test_a_quota_that_held_threads_back(held_s: float | None, flagged: bool) -> None:
    """For more than 2 % of the wall time."""
    flags = _flags(process=_process(held_s))
    assert ("throttled" in flags) is flagged
    if flagged:
        assert flags["throttled"] == "the CPU quota held threads back for 250 ms (of all CPUs) in 10.0 s"


def test_heat_and_a_quota_are_one_flag() -> None:
    """With the evidence of both."""
    evidence = _flags("HW Slowdown", process=_process(5.0))["throttled"]
    assert evidence.startswith("clocks held down in 1 of 1 rounds (HW Slowdown); the CPU quota held threads back for")


@pytest.mark.parametrize("system", [WSL, WINDOWS], ids=["WSL2", "Windows"])
def test_memory_that_spilled(system: System) -> None:
    """More than 95 % of the device reserved, on a system whose driver goes on in the host's memory."""
    memory = Memory(peak_reserved_byte=int(15.5 * GB), device_total_byte=16 * GB)
    assert _flags(memory=memory, system=system) == {
        "spilled": "15.5 GB reserved of 16.0 GB (96.9 %): the driver of this system goes on in the host's memory"
        " without an error"
    }


def test_memory_that_other_programs_filled() -> None:
    """What they hold leaves less for the case: the driver's own count of it is looked at, too."""
    memory = Memory(peak_reserved_byte=6 * GB, device_total_byte=16 * GB)
    evidence = _flags(memory=memory, system=WSL, device_memory_byte=(int(15.8 * GB),))["spilled"]
    assert evidence.startswith("15.8 GB in use by all programs of 16.0 GB (98.8 %)")


@pytest.mark.parametrize(
    ("memory", "system"),
    [
        (Memory(peak_reserved_byte=16 * GB, device_total_byte=16 * GB), LINUX),
        (Memory(peak_reserved_byte=15 * GB, device_total_byte=16 * GB), WSL),
        (Memory(peak_reserved_byte=15 * GB), WSL),
        (Memory(device_total_byte=16 * GB), WSL),
    ],
    ids=["Linux refuses", "not full", "total unknown", "nothing known"],
)
def test_memory_that_did_not_spill(memory: Memory, system: System) -> None:
    """Where an allocation fails instead, where there is room, and where nothing is known."""
    assert _flags(memory=memory, system=system) == {}
