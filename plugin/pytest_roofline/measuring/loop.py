"""The measuring loop: warm up, then take rounds until the margin or the budget is reached.

A round is: synchronise, read the clock, run its steps free, synchronise, read the clock; nothing else of ours happens
in between but one event at either end on devices that have them. Telemetry is read outside.

Python's garbage collector is off while rounds are timed, and runs between them. A collection of all that a program has
alive takes a tenth of a second, in which a device lowers its clocks: so that is done once, before the warm-up, and what
is alive then is set aside (`gc.freeze`). A debugger, a profiler or coverage that traces Python is switched off, too.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress

from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.plan import InputEnded, Measured, Pace, Plan, SoFar, Watch
from pytest_roofline.measuring.rounds import Round, Stopwatch, difference, single_steps
from pytest_roofline.measuring.timing_record import Repeat, Taken, energy_per_step, timing_record
from pytest_roofline.measuring.warmup import Warmup, warm_up
from roofline.schema.record import StopReason
from roofline.timing.margin import MarginEstimator, time_for
from roofline.timing.step_time import mostly_disturbed, undisturbed

__tracebackhide__ = True  # Where a model fails, pytest shows its frames and not these.

ROUND_S = 0.1
"""A round takes at least this long, so that the clock's resolution and the round's ends don't matter,"""

SYNC_COSTS = 1000
"""and at least this many times what a synchronisation costs."""

LEAST_ROUNDS = 3
"""Taken even where they overrun the budget: fewer show no spread."""

REPLACED_SHARE = 1.0
"""Of the budget: disturbed rounds are replaced for up to as long again."""

LEAD_IN_SHARE = 0.1
"""Steps taken untimed before a round that had to wait for its turn, as a share of the round's: another process ran
meanwhile, and caches and branch predictors are its. A round of less than `LEAD_IN_FROM` steps has none: one would cost
a third of all time, and steps that long fill the caches within a fraction of themselves."""

LEAD_IN_FROM = 4

REBUILT_STEPS = 3
"""Of warm-up where the model was measured in this process before and is built anew, or a round's, whichever is more:
libraries, threads and the allocator are warm, and a round's length is known. The first step allocates and compiles, and
the second is what CUDA graphs record."""


def measure(
    stopwatch: Stopwatch,
    plan: Plan,
    *,
    on_warm: Callable[[], None] | None = None,
    watch: Watch | None = None,
    latency: bool = False,
    pace: Pace | None = None,
) -> Measured:
    """Measure a step by the plan.

    A step that has no more data ends the measurement: the rounds that are complete by then are kept.

    Repeats are whole measurements. They share the number of steps a round, which the first of them chooses; the step
    time, its margin and the marks of disturbed rounds are of all rounds together, warm-up counts are sums.

    :param on_warm: called once, between the first warm-up and the first timed round.
    :param watch: called after each timed round, where more are to come; not where a pace decides.
    :param latency: time single synchronised steps as well, after the rounds; those of the protocol ``steps`` serve.
    :param pace: decides when rounds are taken and how many, in place of the plan's protocol, margin and budget.
    :raises ClockError: the clock stands still.
    :raises InputEnded: before one round was complete.
    """
    instruments, ranks = stopwatch.instruments, stopwatch.ranks  # the first rank decides for all
    estimator = MarginEstimator(plan.confidence)
    steps = plan.fixed_steps
    repeats: list[Repeat] = []
    ended: str | None = None
    with _untraced(), _alive_set_aside():
        sync_cost_s = stopwatch.sync_cost_s()
        round_s = max(ROUND_S, SYNC_COSTS * sync_cost_s)
        for turn in range(plan.repeats):
            gc.collect()
            rounds: list[Round] = []
            warmup: Warmup | None = None
            try:
                before = None if pace is None else pace.agreed_before
                steps = steps or before
                warmup = warm_up(stopwatch, _warmup_steps(plan, before), round_s, choose=steps is None)
                steps = ranks.agree(steps or warmup.round_steps or 1)
                if pace is not None:
                    steps = pace.agree(steps)
                if on_warm is not None and turn == 0:
                    on_warm()
                with _collector_off():
                    before_j = instruments.energy_j()
                    if pace is None:
                        stop = _take_rounds(stopwatch, plan, steps, estimator, rounds, watch, turn)
                    else:
                        stop = _take_turns(stopwatch, pace, steps, rounds)
                    energy_j = difference(before_j, instruments.energy_j())
            except InputEnded as end:
                ended = f"{end}, in {_place(plan, turn, None if warmup is None else len(rounds) + 1)}"
                if not (rounds or repeats):
                    raise InputEnded(f"{ended}: not one timed round was complete") from end
                if warmup is not None and rounds:
                    repeats.append(Repeat(warmup, tuple(rounds), "input_ended"))
                else:
                    repeats[-1] = replace(repeats[-1], stop="input_ended")
                break
            repeats.append(Repeat(warmup, tuple(rounds), stop, energy_j))
        singly = plan.protocol == "steps"
        step_times: tuple[float, ...] | None = None
        if singly:
            step_times = tuple(round.wall_s for repeat in repeats for round in repeat.rounds)
        elif latency and ended is None:
            try:
                with _collector_off():
                    step_times = tuple(single_steps(stopwatch, gc.collect))
            except InputEnded as end:
                ended = f"{end}, in the single steps after the timed rounds"
    assert steps is not None
    taken = Taken(
        repeats=tuple(repeats),
        steps=1 if singly else steps,
        sync_cost_s=sync_cost_s,
        single_steps_s=step_times if latency else None,
    )
    timing, missing = timing_record(plan, taken, estimator, stopwatch.missing)
    step_j, no_energy = energy_per_step(taken, stopwatch.missing, in_turns=pace is not None)
    if latency and step_times is None and ended is not None:
        missing["timing.latency"] = ended
    return Measured(
        timing=timing,
        step_log_s=step_times if singly else None,
        first_step_s=repeats[0].warmup.first_step_s,
        input_ended=ended,
        energy_j_per_step=step_j,
        missing={**missing, **no_energy},
    )


def _warmup_steps(plan: Plan, agreed_before: int | None) -> int | None:
    """None: until steady."""
    if plan.fixed_warmup_steps is not None or agreed_before is None:
        return plan.fixed_warmup_steps
    return max(REBUILT_STEPS, agreed_before)


def _take_rounds(
    stopwatch: Stopwatch,
    plan: Plan,
    steps: int,
    estimator: MarginEstimator,
    rounds: list[Round],
    watch: Watch | None,
    turn: int,
) -> StopReason:
    """Take one repeat's rounds, append each to ``rounds`` when it is complete, and tell why there are no more.

    :raises InputEnded: the data ended within a round.
    """
    if plan.protocol == "window":
        rounds.append(_round(stopwatch, steps))
        return "fixed"
    if plan.protocol == "steps":
        spent_s = 0.0
        for number in range(1, steps + 1):
            rounds.append(_round(stopwatch, 1))
            spent_s += rounds[-1].wall_s
            mean_s = spent_s / number
            if watch is not None and number < steps:
                watch(_so_far(plan, turn, number, mean_s, spent_s, (steps - number) * mean_s))
        return "fixed"
    while True:
        rounds.append(_round(stopwatch, steps))
        walls_s, marks = [round.wall_s for round in rounds], disturbances(rounds)
        kept_s = undisturbed(walls_s, marks)
        margin = estimator.of(kept_s, sum(kept_s))
        reached = margin.half_width_relative
        spent_s, lost_s = sum(walls_s), sum(compress(walls_s, marks or ()))
        # Not begun if it would end beyond the budget, which disturbed rounds make longer.
        allowed_s = plan.max_time_s + min(lost_s, REPLACED_SHARE * plan.max_time_s)
        stop: StopReason | None = None
        if reached is not None and reached <= plan.margin and mostly_disturbed(marks) is None:
            stop = "margin"
        elif len(rounds) >= LEAST_ROUNDS and spent_s + spent_s / len(rounds) > allowed_s:
            stop = "budget"
        stop = stopwatch.ranks.agree(stop)
        if stop is not None:
            return stop
        if watch is not None:
            left_s = max(0.0, allowed_s - spent_s)
            if reached is not None and reached > plan.margin:
                kept_for_s = sum(kept_s)
                left_s = min(left_s, time_for(plan.margin, reached, kept_for_s) - kept_for_s)
            watch(_so_far(plan, turn, len(rounds), margin.median / steps, spent_s, left_s, reached))


def _so_far(
    plan: Plan,
    turn: int,
    rounds: int,
    step_time_s: float,
    spent_s: float,
    left_s: float,
    margin: float | None = None,
) -> SoFar:
    """:param left_s: in this repeat. Each of those after it is expected to take as long as this one will have."""
    later = plan.repeats - turn - 1
    return SoFar(
        repeat=turn + 1,
        repeats=plan.repeats,
        rounds=rounds,
        step_time_s=step_time_s,
        margin=margin,
        left_s=left_s + later * (spent_s + left_s),
    )


def _take_turns(stopwatch: Stopwatch, pace: Pace, steps: int, rounds: list[Round]) -> StopReason:
    """The same, with every round taken when it is this process's turn.

    :raises InputEnded: the data ended within a round.
    """
    lead_in = math.ceil(LEAD_IN_SHARE * steps) if steps >= LEAD_IN_FROM else 0
    while pace.next_round():
        if lead_in:
            stopwatch.window(lead_in)
        rounds.append(_round(stopwatch, steps))
        pace.took(rounds[-1])
    return "fixed"


def _round(stopwatch: Stopwatch, steps: int) -> Round:
    """Take a round, and then collect the garbage that it left."""
    taken = stopwatch.round(steps)
    gc.collect()
    return taken


def _place(plan: Plan, turn: int, round: int | None) -> str:
    """Where a measurement is, in words: ``timed round 3 of repeat 2``, ``the warm-up``."""
    of_repeat = f" of repeat {turn + 1}" if plan.repeats > 1 else ""
    return ("the warm-up" if round is None else f"timed round {round}") + of_repeat


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


@contextmanager
def _alive_set_aside() -> Iterator[None]:
    """Keep what is alive now out of later collections, which are short then: they see what was made since."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _collector_off() -> Iterator[None]:
    """Let the garbage collector run only when it is called."""
    enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
