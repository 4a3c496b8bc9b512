"""A device, a clock and a host whose time passes only when a test says so, and that remember every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Any, TypeVar

from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring import Measured, Plan, measure
from pytest_roofline.measuring.host_telemetry import Reading
from pytest_roofline.measuring.rounds import Round, Stopwatch

T = TypeVar("T")


class Lab:
    """Step, clock, instruments and telemetry in one: everything `measure` reads, on one clock.

    :param step_s: what each step takes in turn; the last value goes on for ever.
    :param sync_s: what a synchronisation costs.
    :param events: whether the device has events.
    :param hz: readings of the device's clock in turn; the last one goes on.
    :param power_w: what the device uses all the time; None for one that tells no energy.
    :param switches: involuntary switches each step adds, in turn; the last value goes on.
    """

    def __init__(
        self,
        *step_s: float,
        sync_s: float = 0.0,
        events: bool = False,
        hz: Iterable[float | None] = (None,),
        switches: Iterable[int] = (0,),
        power_w: float | None = None,
    ) -> None:
        self.now = 0.0
        self.steps = 0
        self.calls: list[str] = []
        self.missing: dict[str, str] = {}
        self._times = _endless(step_s or (0.01,))
        self._sync_s = sync_s
        self._events = events
        self._hz = _endless(tuple(hz))
        self._added = _endless(tuple(switches))
        self._power_w = power_w
        self._switches = 0

    def take(self, *step_s: float) -> None:
        """From now on steps take these times in turn; the last value goes on for ever."""
        self._times = _endless(step_s)

    def step(self) -> None:
        self.calls.append("step")
        self.now += next(self._times)
        self._switches += next(self._added)
        self.steps += 1

    def clock(self) -> float:
        self.calls.append("clock")
        return self.now

    def synchronize(self) -> None:
        self.calls.append("synchronize")
        self.now += self._sync_s

    def mark(self) -> float | None:
        self.calls.append("mark")
        return self.now if self._events else None

    def between_s(self, first: object, second: object) -> float:
        self.calls.append("between")
        assert isinstance(first, float)
        assert isinstance(second, float)
        return second - first

    def state(self) -> DeviceState:
        self.calls.append("state")
        return DeviceState(sm_clock_hz=next(self._hz))

    def held_so_far(self) -> HeldDown:
        self.calls.append("held")
        return HeldDown()

    def energy_j(self) -> float | None:
        self.calls.append("energy")
        return None if self._power_w is None else self._power_w * self.now

    def read(self) -> Reading:
        self.calls.append("telemetry")
        return Reading(process_cpu_s=2 * self.now, involuntary_switches=self._switches, steal_s=0.0, others_cpu_s=0.0)

    def stopwatch(
        self, step: Callable[[], object] | None = None, *, waits: bool = False, after: Callable[[], None] | None = None
    ) -> Stopwatch:
        return Stopwatch(step or self.step, self, self.clock, self, self.waited_s if waits else None, after)

    def measure(
        self,
        plan: Plan | None = None,
        step: Callable[[], object] | None = None,
        *,
        waits: bool = False,
        after: Callable[[], None] | None = None,
        **more: Any,
    ) -> Measured:
        """Measure a step, by default the lab's own, on the lab.

        :param waits: whether the step waits for its input.
        :param after: called after each round.
        """
        return measure(self.stopwatch(step, waits=waits, after=after), plan or Plan(), **more)

    def noted(self, name: str) -> Callable[[], None]:
        """A callback that only notes that it was called."""
        return lambda: self.calls.append(name)

    def waited_s(self) -> float:
        """A quarter of all time went by waiting for input."""
        self.calls.append("input_wait")
        return self.now / 4


def _endless(values: tuple[T, ...]) -> Iterator[T]:
    return chain(values, repeat(values[-1]))


def a_round(
    wall_s: float = 0.1,
    *,
    switches: int | None = 0,
    steal_s: float | None = 0.0,
    others_cpu_s: float | None = 0.0,
    hz: float | None = None,
) -> Round:
    return Round(
        wall_s=wall_s,
        device_s=None,
        process_cpu_s=None,
        input_wait_s=None,
        involuntary_switches=switches,
        steal_s=steal_s,
        others_cpu_s=others_cpu_s,
        device=DeviceState(sm_clock_hz=hz),
        held=HeldDown(),
    )
