"""Takes single readings: one timed round with its telemetry, a bare window, the cost of a synchronisation.

What is inside the clock readings of a round is here and nowhere else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from itertools import repeat
from typing import TypeVar

from pytest_roofline.device.instruments import Instruments
from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring.host_telemetry import HostTelemetry

__tracebackhide__ = True  # Where a model fails, pytest shows its frames and not these.

_SYNC_BATCHES, _SYNC_BATCH = 5, 10

LATENCY_S = 2.0
LEAST_STEPS, MOST_STEPS = 10, 1000

T = TypeVar("T")
Number = TypeVar("Number", int, float)

Step = Callable[[], object]
"""Raises `InputEnded` when there is no more data for it."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Readings of one round; see `roofline.schema.record.Rounds`.

    :param others_cpu_s: CPU time that other programs used on the process's CPUs meanwhile.
    :param device: what the device reported right after the round.
    :param held: for how long its clocks were held down meanwhile.
    """

    wall_s: float
    device_s: float | None
    process_cpu_s: float | None
    input_wait_s: float | None
    involuntary_switches: int | None
    steal_s: float | None
    others_cpu_s: float | None
    device: DeviceState
    held: HeldDown


class Alone:
    """A process that measures by itself. `pytest_roofline.parallel` has one of several that take the same steps."""

    count = 1
    """Processes that measure together."""

    def agree(self, value: T) -> T:
        """Return the first process's value, in all of them."""
        return value

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, in all of them."""
        return [value]

    def start(self) -> None:
        """Wait until all processes are here."""

    def of_all(self, own: Round) -> Round:
        """Make one round of those that all processes have just taken, the same in all of them."""
        return own

    def clock(self, own: Clock) -> Clock:
        """Make a clock that all processes read at the same time, and that tells all the same."""
        return own

    def in_step(self, case: str) -> AbstractContextManager[None]:  # noqa: ARG002
        """Measure a case in step with the others."""
        return nullcontext()

    def leave(self, why: str) -> None:
        """Tell the others why this process takes no further step with them."""

    def end(self) -> None:
        """Wait for all processes, and part."""


class Stopwatch:
    """Runs a step between readings of the clock.

    :param telemetry: None reads this process on this host.
    :param input_wait: seconds the step has spent waiting for data so far; None where it never waits.
    :param after_round: called after each round, when everything of it has been read.
    :param ranks: the processes that run the step at the same time. All of them read the same times.
    """

    def __init__(
        self,
        step: Step,
        instruments: Instruments,
        clock: Clock = time.perf_counter,
        telemetry: HostTelemetry | None = None,
        input_wait: Callable[[], float] | None = None,
        after_round: Callable[[], None] | None = None,
        ranks: Alone | None = None,
    ) -> None:
        self.instruments = instruments
        self.ranks = ranks or Alone()
        self._step = step
        self._clock = clock
        self._telemetry = telemetry or HostTelemetry()
        self._input_wait = input_wait
        self._after_round = after_round

    @property
    def missing(self) -> dict[str, str]:
        """Tell why readings are None, by the names of the rounds' series."""
        return {**self._telemetry.missing, **self.instruments.missing}

    def round(self, steps: int) -> Round:
        """Time ``steps`` free-running steps, and read the telemetry before and after."""
        instruments, clock, step, input_wait = self.instruments, self._clock, self._step, self._input_wait
        held = instruments.held_so_far()
        before = self._telemetry.read()
        waited_s = None if input_wait is None else input_wait()
        turns = repeat(None, steps)
        self.ranks.start()
        instruments.synchronize()
        start = clock()
        first = instruments.mark()
        for _ in turns:
            step()
        last = instruments.mark()
        instruments.synchronize()
        wall_s = clock() - start
        after = self._telemetry.read()
        taken = Round(
            wall_s=wall_s,
            device_s=None if first is None or last is None else instruments.between_s(first, last),
            process_cpu_s=difference(before.process_cpu_s, after.process_cpu_s),
            input_wait_s=difference(waited_s, None if input_wait is None else input_wait()),
            involuntary_switches=difference(before.involuntary_switches, after.involuntary_switches),
            steal_s=difference(before.steal_s, after.steal_s),
            others_cpu_s=difference(before.others_cpu_s, after.others_cpu_s),
            device=instruments.state(),
            held=_held_meanwhile(held, instruments.held_so_far()),
        )
        taken = self.ranks.of_all(taken)
        if self._after_round is not None:
            self._after_round()
        return taken

    def window(self, steps: int) -> float:
        """Seconds that ``steps`` free-running steps take, synchronised at both ends; no telemetry."""
        step = self._step
        turns = repeat(None, steps)
        self.ranks.start()
        self.instruments.synchronize()
        start = self._clock()
        for _ in turns:
            step()
        self.instruments.synchronize()
        return self.ranks.agree(self._clock() - start)

    def sync_cost_s(self) -> float:
        """Measure what a synchronisation costs when there is nothing to wait for: the median of five batches of ten."""
        synchronize, clock = self.instruments.synchronize, self._clock
        synchronize()
        costs = []
        for _ in range(_SYNC_BATCHES):
            start = clock()
            for _ in range(_SYNC_BATCH):
                synchronize()
            costs.append((clock() - start) / _SYNC_BATCH)
        return self.ranks.agree(statistics.median(costs))


def single_steps(stopwatch: Stopwatch, after_step: Callable[[], object] | None = None) -> list[float]:
    """Times of single synchronised steps, one request at a time: at least 10, else for 2 seconds, at most 1000.

    :param after_step: called after each, outside of its time.
    """
    times: list[float] = []
    spent_s = 0.0
    while len(times) < LEAST_STEPS or (spent_s < LATENCY_S and len(times) < MOST_STEPS):
        times.append(stopwatch.window(1))
        spent_s += times[-1]
        if after_step is not None:
            after_step()
    return times


def _held_meanwhile(before: HeldDown, after: HeldDown) -> HeldDown:
    names = [one.name for one in fields(HeldDown)]
    return HeldDown(**{name: difference(getattr(before, name), getattr(after, name)) for name in names})


def difference(before: Number | None, after: Number | None) -> Number | None:
    """Subtract two readings of a counter; None where one is missing."""
    return None if before is None or after is None else after - before
