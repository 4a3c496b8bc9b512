"""From the rounds taken to the timing in the record and the energy of a step, and why parts of them are missing."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, pairwise
from typing import TypeVar

from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.plan import Plan
from pytest_roofline.measuring.rounds import Round
from pytest_roofline.measuring.warmup import Warmup
from roofline.schema.record import Latency, Rounds, StopReason, Timing
from roofline.timing.margin import MarginEstimator
from roofline.timing.step_time import mostly_disturbed, step_time, step_times_s, undisturbed

T = TypeVar("T")

_P99_STEPS = 100
"""With fewer steps the 99th percentile lies between the two slowest."""

LEAST_ENERGY_S = 1.0
"""Of rounds. What a board's sensor sees is a part of the time only, a quarter of it on the A100 and H100
(arXiv:2312.02741): over less than this its counter says little."""

_STOPS: tuple[StopReason, ...] = ("input_ended", "budget")
"""Of several repeats, the reason of the one that fell shortest of what was asked for."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """One whole measurement: its warm-up, its rounds (at least one), and why there are no more.

    :param energy_j: of the device, from before the first round to after the last one; None where it doesn't tell it,
        and where the end of the data broke a round off.
    """

    warmup: Warmup
    rounds: tuple[Round, ...]
    stop: StopReason
    energy_j: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Everything that was read.

    :param steps: of a round.
    :param single_steps_s: synchronised steps for the latency; None where it was not asked for.
    """

    repeats: tuple[Repeat, ...]
    steps: int
    sync_cost_s: float
    single_steps_s: tuple[float, ...] | None


def timing_record(
    plan: Plan, taken: Taken, estimator: MarginEstimator, unread: Mapping[str, str]
) -> tuple[Timing, dict[str, str]]:
    """The timing, and why values are missing from it, by their path in the record.

    :param unread: series of the rounds that host or device don't tell -> why.
    """
    rounds = [round for repeat in taken.repeats for round in repeat.rounds]
    series = _rounds(rounds, taken.steps)
    missing = _missing_series(series, unread)
    latency, remarks = _latency(taken.single_steps_s)
    missing |= remarks
    found, kept = step_time(series), step_times_s(series)
    assert found is not None
    of_repeats = _of_repeats(taken, series)
    reached = estimator.of(kept, sum(kept) * taken.steps)
    refused = mostly_disturbed(series.disturbed) or reached.reason
    if refused is not None:
        missing["timing.margin"] = refused
    warmups = [repeat.warmup for repeat in taken.repeats]
    stops = [repeat.stop for repeat in taken.repeats]
    timing = Timing(
        protocol=plan.protocol,
        step_time_s=found.time_s,
        step_time_sd_s=statistics.stdev(of_repeats) if len(of_repeats) > 1 else found.sd_s,
        rounds=series,
        warmup_steps=sum(warmup.steps for warmup in warmups),
        warmup_s=sum(warmup.seconds for warmup in warmups),
        warmup_settled=None if warmups[0].settled is None else all(warmup.settled for warmup in warmups),
        confidence=plan.confidence,
        margin_target=plan.margin if plan.protocol == "adaptive" else None,
        margin=None if refused is not None else reached.half_width_relative,
        stop_reason=next((stop for stop in _STOPS if stop in stops), stops[0]),
        autocorrelation_rounds=reached.autocorrelation_rounds,
        repeat_step_time_s=of_repeats if len(of_repeats) > 1 else (),
        sync_cost_s=taken.sync_cost_s,
        input_wait_s=None if series.input_wait_s is None else sum(series.input_wait_s) / (len(rounds) * taken.steps),
        latency=latency,
    )
    return timing, missing


def _of_repeats(taken: Taken, rounds: Rounds) -> tuple[float, ...]:
    """The step time of each repeat, by its own rounds."""
    ends = list(accumulate(len(repeat.rounds) for repeat in taken.repeats))
    return tuple(
        statistics.median(undisturbed(rounds.wall_s[start:end], rounds.disturbed and rounds.disturbed[start:end]))
        / taken.steps
        for start, end in pairwise([0, *ends])
    )


_READINGS = tuple(one.name for one in fields(DeviceState) if one.name != "throttle")
_COUNTERS = tuple(one.name for one in fields(HeldDown))


def _rounds(rounds: list[Round], steps: int) -> Rounds:
    return Rounds(
        steps=steps,
        wall_s=tuple(round.wall_s for round in rounds),
        device_s=_series(round.device_s for round in rounds),
        process_cpu_s=_series(round.process_cpu_s for round in rounds),
        input_wait_s=_series(round.input_wait_s for round in rounds),
        involuntary_switches=_series(round.involuntary_switches for round in rounds),
        steal_s=_series(round.steal_s for round in rounds),
        **{name: _series(getattr(round.device, name) for round in rounds) for name in _READINGS},
        **{name: _series(getattr(round.held, name) for round in rounds) for name in _COUNTERS},
        throttle=_throttle(rounds),
        disturbed=disturbances(rounds),
    )


def _throttle(rounds: list[Round]) -> tuple[str | None, ...] | None:
    """Tell what held the device's clocks down in each round, None where nothing did; None at all if it isn't known."""
    reasons = _series(round.device.throttle for round in rounds)
    return None if reasons is None else tuple("; ".join(held) or None for held in reasons)


def _series(values: Iterable[T | None]) -> tuple[T, ...] | None:
    """A series, or None if any of its readings is missing."""
    series = tuple(values)
    there = tuple(value for value in series if value is not None)
    return there if len(there) == len(series) else None


def _latency(times: Sequence[float] | None) -> tuple[Latency | None, dict[str, str]]:
    """Percentiles (linear between the order statistics), and what is to be said against them, by path in the record."""
    if times is None:
        return None, {"timing.latency": "single steps are timed where latency is asked for, in inference"}
    if len(times) < 2:
        return None, {"timing.latency": "one step has no percentiles"}
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    latency = Latency(steps=len(times), median_s=statistics.median(times), p95_s=cuts[94], p99_s=cuts[98])
    if len(times) >= _P99_STEPS:
        return latency, {}
    return latency, {
        "timing.latency.p99_s": f"of {len(times)} steps only: a value between the slowest two, no 99th percentile"
    }


def _missing_series(rounds: Rounds, unread: Mapping[str, str]) -> dict[str, str]:
    reasons = {}
    if rounds.device_s is None:
        reasons["timing.rounds.device_s"] = "the device has no events: what it does is over when the call returns"
    if rounds.sm_clock_hz is None:
        reasons["timing.rounds.sm_clock_hz"] = "the device's clock can't be read here"
    if rounds.input_wait_s is None:
        reasons["timing.rounds.input_wait_s"] = "batches lie ready on the device"
        reasons["timing.input_wait_s"] = "batches lie ready on the device"
    # A reading that failed once may have come in all rounds.
    series = [one.name for one in fields(Rounds) if getattr(rounds, one.name) is None]
    return reasons | {f"timing.rounds.{name}": unread[name] for name in series if name in unread}


def energy_per_step(taken: Taken, unread: Mapping[str, str], *, in_turns: bool) -> tuple[float | None, dict[str, str]]:
    """Joule of one step, and why there are none, by the path in the record.

    What is read between the rounds, a few milliseconds of each, is in it.

    :param unread: what host and device don't tell -> why.
    :param in_turns: other processes ran between the rounds.
    """
    rounds = [round for repeat in taken.repeats for round in repeat.rounds]
    wall_s = sum(round.wall_s for round in rounds)
    used = [repeat.energy_j for repeat in taken.repeats if repeat.energy_j is not None]
    if in_turns:
        why = "another process ran between the rounds"
    elif len(used) < len(taken.repeats):
        ended = taken.repeats[-1].stop == "input_ended"
        why = unread.get("energy_j", "the data ended within a round" if ended else "the device tells no energy")
    elif wall_s < LEAST_ENERGY_S:
        why = f"{wall_s:.2g} s of timed rounds are too short for a counter of energy"
    elif sum(used) <= 0:
        why = f"the counter of energy stood still for {wall_s:.2g} s"
    else:
        return sum(used) / (taken.steps * len(rounds)), {}
    return None, {"energy_j_per_step": why}
