"""The measuring loop: warm up until steady, then rounds until the margin or the budget is reached.

A round is: synchronise, read the clock, run its steps free, synchronise, read the clock. Nothing else of ours happens
in between but one event at either end on devices that have them. Python's garbage collector stays on, as in the loop
that a user runs; it is only made to start every measurement from the same state.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pytest_roofline.measuring import telemetry as host
from pytest_roofline.measuring.margin import margin
from pytest_roofline.measuring.plan import WINDOW_STEPS, WINDOW_WARMUP_STEPS, Instruments, Measured, Plan
from roofline.record import Latency, Rounds, StopReason, Timing

ROUND_S = 0.1
"""A round takes at least this long, so that the clock's resolution and the ends of the round don't matter,"""

SYNC_COSTS = 1000
"""and at least this many times what a synchronisation costs."""

WARMUP_WINDOW_S = 0.05
WARMUP_WINDOWS = 3
STEADY = 0.02
"""Steady: the best of the last `WARMUP_WINDOWS` windows is not faster than the best before by more than this."""

WARMUP_BUDGET_S = 5.0
"""Bound of a warm-up, after its first step (which may compile)."""

LATENCY_STEPS = 100
LATENCY_BUDGET_S = 2.0

Step = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Warmup:
    steps: int
    seconds: float
    settled: bool | None
    step_s: float


@dataclass(frozen=True, slots=True)
class _Round:
    """One round's readings; see `roofline.record.Rounds`."""

    wall_s: float
    device_s: float | None
    input_wait_s: float | None
    process_cpu_s: float
    involuntary_switches: int | None
    steal_s: float | None
    sm_clock_hz: float | None


class _Bench:
    """Runs steps and reads instruments."""

    def __init__(
        self,
        step: Step,
        instruments: Instruments,
        clock: Clock,
        telemetry: host.Telemetry,
        input_wait: Callable[[], float] | None,
    ) -> None:
        self._step = step
        self._instruments = instruments
        self._clock = clock
        self._telemetry = telemetry
        self._input_wait = input_wait

    def round(self, steps: int) -> _Round:
        instruments, clock, step = self._instruments, self._clock, self._step
        before = self._telemetry.read()
        waited = self._input_wait() if self._input_wait else None
        turns = range(steps)
        instruments.synchronize()
        start = clock()
        first = instruments.mark()
        for _ in turns:
            step()
        last = instruments.mark()
        instruments.synchronize()
        wall_s = clock() - start
        after = self._telemetry.read()
        return _Round(
            wall_s=wall_s,
            device_s=None if first is None or last is None else instruments.between_s(first, last),
            input_wait_s=None if waited is None or self._input_wait is None else self._input_wait() - waited,
            process_cpu_s=after.process_cpu_s - before.process_cpu_s,
            involuntary_switches=_difference(before.involuntary_switches, after.involuntary_switches),
            steal_s=_difference(before.steal_s, after.steal_s),
            sm_clock_hz=instruments.sm_clock_hz(),
        )

    def window(self, steps: int) -> float:
        """Seconds that steps take, synchronised at both ends."""
        self._instruments.synchronize()
        start = self._clock()
        for _ in range(steps):
            self._step()
        self._instruments.synchronize()
        return self._clock() - start

    def sync_cost_s(self) -> float:
        """What a synchronisation costs when there is nothing to wait for."""
        self._instruments.synchronize()
        return statistics.median(self.window(0) for _ in range(9)) / 2


Number = TypeVar("Number", int, float)


def _difference(before: Number | None, after: Number | None) -> Number | None:
    return None if before is None or after is None else after - before


def _column(values: Iterable[Number | None]) -> tuple[Number, ...] | None:
    """A series, or None if any of its readings is missing."""
    column = tuple(values)
    whole = tuple(value for value in column if value is not None)
    return whole if len(whole) == len(column) else None


def measure(
    step: Step,
    plan: Plan,
    instruments: Instruments,
    *,
    clock: Clock = time.perf_counter,
    telemetry: host.Telemetry | None = None,
    input_wait: Callable[[], float] | None = None,
    prepare: Callable[[], None] | None = None,
    on_warm: Callable[[], None] | None = None,
    latency: bool = False,
) -> Measured:
    """Measure a step by the plan.

    :param input_wait: seconds the step has spent waiting for data so far.
    :param prepare: called before every repeat, outside all timing.
    :param on_warm: called after every warm-up, before its first timed round.
    :param latency: time single synchronised steps as well, after the rounds.
    """
    bench = _Bench(step, instruments, clock, telemetry or host.HostTelemetry(), input_wait)
    sync_s = bench.sync_cost_s()
    steps = plan.steps or (None if plan.protocol == "adaptive" else WINDOW_STEPS)
    warmups: list[_Warmup] = []
    repeats: list[list[_Round]] = []
    stops: list[StopReason] = []
    for _ in range(plan.repeats):
        if prepare is not None:
            prepare()
        warmups.append(_warm_up(bench, plan))
        steps = steps or max(1, math.ceil(max(ROUND_S, SYNC_COSTS * sync_s) / warmups[0].step_s))
        gc.collect()
        if on_warm is not None:
            on_warm()
        rounds, stop = _rounds(bench, plan, steps)
        repeats.append(rounds)
        stops.append(stop)
    per_round = 1 if plan.protocol == "steps" else steps or 1
    taken = [round for rounds in repeats for round in rounds]
    return Measured(
        timing=_timing(plan, warmups, repeats, stops, per_round, sync_s, _latency(bench) if latency else None),
        step_log_s=tuple(round.wall_s for round in taken) if plan.protocol == "steps" else None,
        missing=_missing(taken[0], latency),
    )


def _warm_up(bench: _Bench, plan: Plan) -> _Warmup:
    asked = plan.warmup_steps
    if asked is None and plan.protocol != "adaptive":
        asked = WINDOW_WARMUP_STEPS
    if asked is not None:
        seconds = bench.window(asked) if asked else 0.0
        step_s = seconds / asked if asked else bench.window(1)
        # Without a warm-up one step is needed all the same, to know how many make a round.
        return _Warmup(asked or 1, seconds if asked else step_s, None, max(step_s, 1e-9))
    return _until_steady(bench)


def _until_steady(bench: _Bench) -> _Warmup:
    first_s = bench.window(1)
    steps, seconds = 1, 0.0
    per_window, best = 1, math.inf
    since_best = 0
    while since_best < WARMUP_WINDOWS and (seconds < WARMUP_BUDGET_S or since_best == 0):
        window_s = bench.window(per_window)
        steps, seconds = steps + per_window, seconds + window_s
        step_s = window_s / per_window
        if window_s < WARMUP_WINDOW_S:
            # Too short to tell anything: a longer one, of at most ten times the steps.
            per_window = min(10 * per_window, math.ceil(per_window * WARMUP_WINDOW_S / max(window_s, 1e-9)))
            best, since_best = min(best, step_s), 0
            continue
        since_best = 0 if step_s < (1 - STEADY) * best else since_best + 1
        best = min(best, step_s)
        if seconds >= WARMUP_BUDGET_S:
            break
    return _Warmup(steps, first_s + seconds, since_best >= WARMUP_WINDOWS, max(best, 1e-9))


def _rounds(bench: _Bench, plan: Plan, steps: int) -> tuple[list[_Round], StopReason]:
    if plan.protocol == "window":
        return [bench.round(steps)], "fixed"
    if plan.protocol == "steps":
        return [bench.round(1) for _ in range(steps)], "fixed"
    rounds: list[_Round] = []
    spent_s = 0.0
    while True:
        rounds.append(bench.round(steps))
        spent_s += rounds[-1].wall_s
        reached = margin([round.wall_s for round in rounds], plan.confidence).half_width_relative
        if reached is not None and reached <= plan.margin:
            return rounds, "margin"
        if spent_s >= plan.max_time_s:
            return rounds, "budget"


def _timing(
    plan: Plan,
    warmups: list[_Warmup],
    repeats: list[list[_Round]],
    stops: list[StopReason],
    steps: int,
    sync_s: float,
    latency: Latency | None,
) -> Timing:
    taken = [round for rounds in repeats for round in rounds]
    times = [round.wall_s / steps for round in taken]
    means = [statistics.fmean(round.wall_s for round in rounds) / steps for rounds in repeats]
    reached = margin(times, plan.confidence)
    spread_of = means if len(means) > 1 else times
    waits = [round.input_wait_s for round in taken if round.input_wait_s is not None]
    return Timing(
        protocol=plan.protocol,
        step_time_s=statistics.fmean(times),
        step_time_sd_s=statistics.stdev(spread_of) if len(spread_of) > 1 else None,
        rounds=_series(taken, steps),
        warmup_steps=sum(warmup.steps for warmup in warmups),
        warmup_s=sum(warmup.seconds for warmup in warmups),
        warmup_settled=None if warmups[0].settled is None else all(warmup.settled for warmup in warmups),
        confidence=plan.confidence,
        margin_target=plan.margin if plan.protocol == "adaptive" else None,
        margin=reached.half_width_relative,
        stop_reason="budget" if "budget" in stops else stops[0],
        autocorrelation_rounds=reached.autocorrelation_rounds,
        repeat_step_time_s=tuple(means) if len(means) > 1 else (),
        sync_cost_s=sync_s,
        input_wait_s=sum(waits) / (len(waits) * steps) if waits else None,
        latency=latency,
    )


def _series(taken: list[_Round], steps: int) -> Rounds:
    wall_s = tuple(round.wall_s for round in taken)
    switches = _column(round.involuntary_switches for round in taken)
    steal_s = _column(round.steal_s for round in taken)
    sm_clock_hz = _column(round.sm_clock_hz for round in taken)
    return Rounds(
        steps=steps,
        wall_s=wall_s,
        device_s=_column(round.device_s for round in taken),
        process_cpu_s=tuple(round.process_cpu_s for round in taken),
        input_wait_s=_column(round.input_wait_s for round in taken),
        involuntary_switches=switches,
        steal_s=steal_s,
        sm_clock_hz=sm_clock_hz,
        disturbed=host.disturbances(wall_s, switches, steal_s, sm_clock_hz),
    )


def _latency(bench: _Bench) -> Latency:
    times: list[float] = []
    while len(times) < LATENCY_STEPS and (len(times) < 2 or sum(times) < LATENCY_BUDGET_S):
        times.append(bench.window(1))
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return Latency(steps=len(times), median_s=statistics.median(times), p95_s=cuts[94], p99_s=cuts[98])


def _missing(round: _Round, latency: bool) -> dict[str, str]:
    reasons = host.missing()
    if round.device_s is None:
        reasons["timing.rounds.device_s"] = "the device has no events of its own: what it does is over when the call is"
    if round.sm_clock_hz is None:
        reasons["timing.rounds.sm_clock_hz"] = "no NVML for this device"
    if round.input_wait_s is None:
        reasons["timing.input_wait_s"] = "batches lie ready on the device"
    if not latency:
        reasons["timing.latency"] = "single steps are timed in inference only"
    return reasons
