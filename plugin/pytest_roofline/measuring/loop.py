"""The measuring loop: warm up, take rounds until the margin or the budget is reached, and put it all into a `Timing`.

A round is: synchronise, read the clock, run its steps free, synchronise, read the clock; nothing else of ours happens
in between but one event at either end on devices that have them. Telemetry is read outside.

Python's garbage collector is left as it is, on in most programs, for it runs in the loops that users write too, and
with it off a model that makes reference cycles would run out of memory. It is only made to start each measurement from
the same state, before the warm-up: a collection takes a tenth of a second here, and a device that waits lowers its
clocks. A debugger, a profiler or coverage that traces Python is switched off while steps are timed.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pytest_roofline.measuring import latency as latencies
from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.margin import MarginEstimator
from pytest_roofline.measuring.plan import Clock, Instruments, Measured, Plan, Step
from pytest_roofline.measuring.stopwatch import Round, Stopwatch
from pytest_roofline.measuring.telemetry import HostTelemetry, Telemetry
from pytest_roofline.measuring.warmup import Warmup, warm_up
from roofline.record import Latency, Rounds, StopReason, Timing

ROUND_S = 0.1
"""A round takes at least this long, so that the clock's resolution and the round's ends don't matter,"""

SYNC_COSTS = 1000
"""and at least this many times what a synchronisation costs."""

LEAST_ROUNDS = 3
"""Taken even where they overrun the budget: fewer show no spread."""

Number = TypeVar("Number", int, float)


def measure(
    step: Step,
    plan: Plan,
    instruments: Instruments,
    *,
    clock: Clock = time.perf_counter,
    telemetry: Telemetry | None = None,
    input_wait: Callable[[], float] | None = None,
    prepare: Callable[[], None] | None = None,
    on_warm: Callable[[], None] | None = None,
    latency: bool = False,
) -> Measured:
    """Measure a step by the plan.

    Repeats are whole measurements. They share the number of steps a round, which the first of them chooses; the mean,
    its margin and the marks of disturbed rounds are of all rounds together, warm-up counts are sums over the repeats.

    :param telemetry: None reads this process on this host.
    :param input_wait: seconds the step has spent waiting for data so far; None where it never waits.
    :param prepare: called before the warm-up of every repeat, to give it a fresh state.
    :param on_warm: called once, between the first warm-up and the first timed round.
    :param latency: time single synchronised steps as well, after the rounds.
    :raises ClockError: the clock stands still.
    """
    telemetry = telemetry or HostTelemetry()
    stopwatch = Stopwatch(step, instruments, clock, telemetry, input_wait)
    estimator = MarginEstimator(plan.confidence)
    steps = plan.fixed_steps
    warmups: list[Warmup] = []
    repeats: list[list[Round]] = []
    stops: list[StopReason] = []
    with _untraced():
        sync_cost_s = stopwatch.sync_cost_s()
        round_s = max(ROUND_S, SYNC_COSTS * sync_cost_s)
        for turn in range(plan.repeats):
            if prepare is not None:
                prepare()
            gc.collect()
            warmups.append(warm_up(stopwatch, plan.fixed_warmup_steps, round_s, choose=steps is None))
            steps = steps or warmups[0].round_steps or 1
            if on_warm is not None and turn == 0:
                on_warm()
            rounds, stop = _take_rounds(stopwatch, plan, steps, estimator)
            repeats.append(rounds)
            stops.append(stop)
        singly = plan.protocol == "steps"
        log = tuple(round.wall_s for rounds in repeats for round in rounds) if singly else None
        single_steps = (log or latencies.single_steps(stopwatch)) if latency else None
    assert steps is not None
    missing = _missing(repeats[0][0], telemetry)
    summary = None
    if single_steps is None:
        missing["timing.latency"] = "single steps are timed where latency is asked for, in inference"
    elif len(single_steps) < 2:
        missing["timing.latency"] = "one step has no percentiles"
    else:
        summary, remarks = latencies.summarise(single_steps)
        missing |= remarks
    timing = _timing(plan, warmups, repeats, stops, 1 if singly else steps, sync_cost_s, estimator, summary)
    if timing.margin is None:
        missing["timing.margin"] = f"{len(timing.rounds.wall_s)} rounds with this spread support no claim"
    return Measured(timing=timing, step_log_s=log, first_step_s=warmups[0].first_step_s, missing=missing)


def _take_rounds(
    stopwatch: Stopwatch, plan: Plan, steps: int, estimator: MarginEstimator
) -> tuple[list[Round], StopReason]:
    """One repeat's rounds, and why there are no more."""
    if plan.protocol == "window":
        return [stopwatch.round(steps)], "fixed"
    if plan.protocol == "steps":
        return [stopwatch.round(1) for _ in range(steps)], "fixed"
    rounds: list[Round] = []
    times: list[float] = []
    spent_s = 0.0
    while True:
        rounds.append(stopwatch.round(steps))
        times.append(rounds[-1].wall_s)
        spent_s += times[-1]
        reached = estimator.of(times, spent_s).half_width_relative
        if reached is not None and reached <= plan.margin:
            return rounds, "margin"
        # Not begun if it would end beyond the budget.
        if len(rounds) >= LEAST_ROUNDS and spent_s + spent_s / len(rounds) > plan.max_time_s:
            return rounds, "budget"


def _timing(
    plan: Plan,
    warmups: list[Warmup],
    repeats: list[list[Round]],
    stops: list[StopReason],
    steps: int,
    sync_cost_s: float,
    estimator: MarginEstimator,
    latency: Latency | None,
) -> Timing:
    rounds = [round for repeat in repeats for round in repeat]
    times = [round.wall_s / steps for round in rounds]
    means = [statistics.fmean(round.wall_s for round in repeat) / steps for repeat in repeats]
    reached = estimator.of(times, sum(round.wall_s for round in rounds))
    spread_of = means if len(means) > 1 else times
    waits = _series(round.input_wait_s for round in rounds)
    return Timing(
        protocol=plan.protocol,
        step_time_s=statistics.fmean(times),
        step_time_sd_s=statistics.stdev(spread_of) if len(spread_of) > 1 else None,
        rounds=_record_rounds(rounds, steps),
        warmup_steps=sum(warmup.steps for warmup in warmups),
        warmup_s=sum(warmup.seconds for warmup in warmups),
        warmup_settled=None if warmups[0].settled is None else all(warmup.settled for warmup in warmups),
        confidence=plan.confidence,
        margin_target=plan.margin if plan.protocol == "adaptive" else None,
        margin=reached.half_width_relative,
        stop_reason="budget" if "budget" in stops else stops[0],
        autocorrelation_rounds=reached.autocorrelation_rounds,
        repeat_step_time_s=tuple(means) if len(means) > 1 else (),
        sync_cost_s=sync_cost_s,
        input_wait_s=None if waits is None else sum(waits) / (len(waits) * steps),
        latency=latency,
    )


def _record_rounds(rounds: list[Round], steps: int) -> Rounds:
    wall_s = tuple(round.wall_s for round in rounds)
    switches = _series(round.involuntary_switches for round in rounds)
    steal_s = _series(round.steal_s for round in rounds)
    sm_clock_hz = _series(round.sm_clock_hz for round in rounds)
    return Rounds(
        steps=steps,
        wall_s=wall_s,
        device_s=_series(round.device_s for round in rounds),
        process_cpu_s=_series(round.process_cpu_s for round in rounds),
        input_wait_s=_series(round.input_wait_s for round in rounds),
        involuntary_switches=switches,
        steal_s=steal_s,
        sm_clock_hz=sm_clock_hz,
        disturbed=disturbances(wall_s, switches=switches, steal_s=steal_s, sm_clock_hz=sm_clock_hz),
    )


def _series(values: Iterable[Number | None]) -> tuple[Number, ...] | None:
    """A series, or None if any of its readings is missing."""
    series = tuple(values)
    there = tuple(value for value in series if value is not None)
    return there if len(there) == len(series) else None


def _missing(round: Round, telemetry: Telemetry) -> dict[str, str]:
    """Why series of the rounds are missing, by their path in the record."""
    reasons = {f"timing.rounds.{name}": reason for name, reason in telemetry.missing.items()}
    if round.device_s is None:
        reasons["timing.rounds.device_s"] = "the device has no events: what it does is over when the call returns"
    if round.sm_clock_hz is None:
        reasons["timing.rounds.sm_clock_hz"] = "the device's clock can't be read here"
    if round.input_wait_s is None:
        reasons["timing.rounds.input_wait_s"] = "batches lie ready on the device"
        reasons["timing.input_wait_s"] = "batches lie ready on the device"
    return reasons


@contextmanager
def _untraced() -> Iterator[None]:
    """Take Python's trace and profile functions off, which would be called inside the timed steps."""
    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)
