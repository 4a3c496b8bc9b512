"""Measure one roof as a benchmark: find the kernel that reaches highest, then time it like any other case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_roofline import roofs
from pytest_roofline.bench import conditions, plan_of, timing_flags
from pytest_roofline.measuring import Measured, measure
from pytest_roofline.precision import PRECISIONS
from pytest_roofline.workload import workload_hash
from roofline.record import Case, Counters, Record, Work

if TYPE_CHECKING:
    from pytest_roofline.run import Run

BUDGET_S = 1.5
"""Timed rounds of a roof's winner. The roof is their best round, and it is sampled again later in the session."""


def measure_roof(run: Run, name: str) -> tuple[Record, Measured, float]:
    """Measure a roof of `roofs.NAMES` and enter it into the run's ledger.

    :returns: the record, the timing, and the seconds spent timing.
    :raises roofs.RoofUnavailable: the device has no such roof.
    """
    plan = roofs.plan(name, run.device, run.machine.device.last_level_cache_byte)
    precision = PRECISIONS[plan.precision]
    timing_plan = replace(plan_of(run.options), protocol="adaptive", warmup_steps=None, steps=None, repeats=1)
    timing_plan = replace(timing_plan, max_time_s=min(BUDGET_S, timing_plan.max_time_s))
    with conditions(precision, run.options, run.device, f"roof-{name}"):
        start = run.clock()
        winner = roofs.find_best(plan, run.instruments, run.clock)
        call = winner.prepare()
        measured = measure(call, timing_plan, run.instruments, clock=run.clock)
        seconds = run.clock() - start
    rounds = measured.timing.rounds
    best_step_s = min(rounds.wall_s) / rounds.steps
    run.ledger.add(plan, winner, roofs.as_value(plan, winner.amount / best_step_s))
    return _record(run, plan, winner, measured), measured, seconds


def _record(run: Run, plan: roofs.RoofPlan, winner: roofs.Candidate, measured: Measured) -> Record:
    flop = winner.amount if plan.kind == "flop" else 0.0
    byte = winner.amount if plan.kind == "byte" else 0.0
    work = None
    missing = {**measured.missing, "energy_j_per_step": "not read by this version"}
    if plan.kind == "byte":
        work = Work(flop_per_step=flop, flop_by_dtype={}, byte_low_per_step=byte, byte_high_per_step=byte)
    elif plan.kind == "flop":
        # Its traffic isn't the point of a compute roof; what it computes is known exactly.
        work = Work(flop_per_step=flop, flop_by_dtype={plan.name: flop}, byte_low_per_step=0.0, byte_high_per_step=0.0)
    else:
        missing["work"] = "a launch has neither FLOPs nor bytes to count"
    values = {"model": winner.kernel, "mode": "roof", "precision": plan.precision, "batch": 1}
    return Record(
        case=Case(
            id=f"roof-{plan.name}",
            workload_hash=workload_hash(values),
            samples_per_step=1,
            sample_unit="call",
            config={"detail": plan.detail},
            **values,  # type: ignore[arg-type]
        ),
        device=run.machine.device,
        timing=measured.timing,
        work=work,
        counters=Counters(status="not_requested"),
        flags=timing_flags(measured),
        missing=missing,
    )
