"""What a measurement is asked to do, what it needs of the device, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from roofline.record import Timing

WINDOW_WARMUP_STEPS = 10
WINDOW_STEPS = 100
"""The reports' protocol: 10 steps of warm-up, 100 measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to measure.

    :param protocol: ``adaptive``, ``window`` or ``steps``.
    :param warmup_steps: None: until steady (adaptive), 10 (window, steps).
    :param steps: of a round (adaptive; None chooses), of a window, or in all (steps); None there is 100.
    :param repeats: whole measurements, each with its own warm-up.
    :param margin: relative half width asked for (adaptive).
    :param max_time_s: budget of the timed rounds of one repeat (adaptive).
    """

    protocol: str = "adaptive"
    warmup_steps: int | None = None
    steps: int | None = None
    repeats: int = 1
    margin: float = 0.01
    confidence: float = 0.95
    max_time_s: float = 10.0


class Instruments(Protocol):
    """What belongs to the device; see `pytest_roofline.devices`."""

    def synchronize(self) -> None:
        """Wait until the device has done all it was told to do."""
        ...

    def mark(self) -> object | None:
        """An event recorded on the device now; None where there are none."""
        ...

    def between_s(self, first: object, second: object) -> float:
        """Device seconds between two events, after a synchronisation."""
        ...

    def sm_clock_hz(self) -> float | None:
        """Clock of the device's processors now; None where it can't be read."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A timing, the single steps where they were logged, and why values are missing, by their path in the record."""

    timing: Timing
    step_log_s: tuple[float, ...] | None = None
    missing: dict[str, str] = field(default_factory=dict)
