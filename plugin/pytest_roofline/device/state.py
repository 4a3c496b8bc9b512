"""What a device tells of itself: its clocks, its power, what holds them down now, and for how long that did so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """Readings at one moment, named as the series of `roofline.schema.record.Rounds`; None where the device has no such
    reading.

    :param device_memory_byte: in use on the device, by all programs.
    :param throttle: why its clocks are held down, in NVML's words; empty where they aren't.
    """

    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    device_memory_byte: int | None = None
    throttle: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDown:
    """Counters that only grow: for how long so far the device's clocks were held below those that programs ask for.
    Named as the series of `roofline.schema.record.Rounds`; None where the device doesn't count it.

    :param power_held_s: by the power limit.
    :param heat_held_s: by heat.
    """

    power_held_s: float | None = None
    heat_held_s: float | None = None
