"""Measure what has no model: a roof, by the kernel that reaches highest, or a data loader alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_roofline.bench import plan_of, timing_flags
from pytest_roofline.device import cpus
from pytest_roofline.device.flags import device_flags
from pytest_roofline.measuring import Measured, Plan, measure
from pytest_roofline.measuring.process_usage import ProcessUsage
from pytest_roofline.profilers.system import System
from pytest_roofline.proof.missing import explained
from pytest_roofline.proof.onlookers import profilers
from pytest_roofline.roofs import measured as roofs
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import workload_hash
from pytest_roofline.workload.switches import conditions
from roofline.schema.record import Case, Counters, Memory, Process, Record, Work
from roofline.timing.step_time import mostly_disturbed

if TYPE_CHECKING:
    from pytest_roofline.session.run import Run

ROOF_BUDGET_S = 1.5
"""Timed rounds of a roof's winner. The roof is their best round, and it is sampled again later in the session."""

INPUT_BUDGET_S = 3.0
"""Timed rounds of a loader alone: its rate is set against a step's, not compared within a percent."""

Used = tuple[Process, dict[str, str]]
"""What the process used while steps were timed, and why values are missing, by their path in the record."""


def measure_input(run: Run, fetch: Callable[[], object], case: Case) -> tuple[Record, Measured, float]:
    """Measure a data loader alone: a step fetches one batch and does nothing with it."""
    start = run.clock()
    plan = plan_of(run.options)
    plan = replace(plan, max_time_s=min(INPUT_BUDGET_S, plan.max_time_s))
    measured, used = _timed(run, fetch, plan)
    record = _record(run, case, measured, used, None, {"work": "a loader alone computes nothing for the model"})
    return record, measured, run.clock() - start


def measure_roof(run: Run, name: str) -> tuple[Record, Measured, float]:
    """Measure a roof of `measured.NAMES` and enter it into the run's ledger.

    :returns: the record, the timing, and the seconds spent timing.
    :raises roofs.RoofUnavailable: the device has no such roof.
    """
    plan = roofs.plan(name, run.device, run.machine.device.last_level_cache_byte)
    with conditions(PRECISIONS[plan.precision], run.options, run.device, f"roof-{name}"):
        start = run.clock()
        winner = roofs.find_best(plan, run.instruments, run.clock)
        measured, used = _timed(run, winner.prepare(), _roof_timing(run))
        seconds = run.clock() - start
    rounds = measured.timing.rounds
    best_step_s = min(rounds.wall_s) / rounds.steps
    run.ledger.add(plan, winner, roofs.as_value(plan, winner.amount / best_step_s), mostly_disturbed(rounds.disturbed))
    values = {"model": winner.kernel, "mode": "roof", "precision": plan.precision, "batch": 1}
    case = Case(
        id=f"roof-{plan.name}",
        workload_hash=workload_hash(values),
        samples_per_step=1,
        sample_unit="call",
        config={"detail": plan.detail},
        **values,  # type: ignore[arg-type]
    )
    work = _work(plan, winner)
    missing = {} if work else {"work": "a launch has neither FLOPs nor bytes to count"}
    return _record(run, case, measured, used, work, missing), measured, seconds


def _roof_timing(run: Run) -> Plan:
    plan = plan_of(run.options)
    return replace(
        plan,
        protocol="adaptive",
        warmup_steps=None,
        steps=None,
        repeats=1,
        max_time_s=min(ROOF_BUDGET_S, plan.max_time_s),
    )


def _work(plan: roofs.RoofPlan, winner: roofs.Candidate) -> Work | None:
    if plan.kind == "byte":
        byte = winner.amount
        return Work(flop_per_step=0.0, flop_by_dtype={}, byte_low_per_step=byte, byte_high_per_step=byte)
    if plan.kind == "flop":
        flop = winner.amount
        # Its traffic isn't the point of a compute roof; what it computes is known exactly.
        return Work(flop_per_step=flop, flop_by_dtype={plan.name: flop}, byte_low_per_step=0.0, byte_high_per_step=0.0)
    return None


def _timed(run: Run, step: Callable[[], object], plan: Plan) -> tuple[Measured, Used]:
    usage = ProcessUsage()
    measured = measure(step, plan, run.instruments, clock=run.clock)
    return measured, (usage.stop(), usage.missing)


def _record(run: Run, case: Case, measured: Measured, used: Used, work: Work | None, missing: dict[str, str]) -> Record:
    process, untold = used
    # Nothing of torch's allocator belongs to this row; what all programs hold of the device was read after each round.
    memory = Memory(device_total_byte=run.machine.device.memory_byte)
    held = device_flags(measured.timing.rounds, memory, process, System.here())
    record = Record(
        case=case,
        device=run.machine.device,
        timing=measured.timing,
        work=work,
        counters=Counters(status="not_requested"),
        process=process,
        energy_j_per_step=measured.energy_j_per_step,
        flags=profilers(os.environ) + cpus.binding_flags() + timing_flags(measured) + held,
        missing={**measured.missing, **missing, **untold},
    )
    return explained(record)
