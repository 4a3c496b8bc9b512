"""Measure a case: warm up, time, then prove and count in passes of their own, and put it all into a record.

A roof and a data loader, which have no model, are timed in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pytest_roofline.device import cpus
from pytest_roofline.device.device_memory import is_out_of_memory, peak_memory, reset_peak
from pytest_roofline.device.system import System
from pytest_roofline.device.throttling import device_flags
from pytest_roofline.measuring import InputEnded, Measured, Plan, measure
from pytest_roofline.measuring.plan import StepEnd, Watch
from pytest_roofline.measuring.process_usage import ProcessUsage
from pytest_roofline.measuring.rounds import Stopwatch
from pytest_roofline.missing import explained
from pytest_roofline.options import Options
from pytest_roofline.parallel import communication, links
from pytest_roofline.parallel.ranks import Ranks, checks_of_all, flags_of_all
from pytest_roofline.proof import claims
from pytest_roofline.proof.attached_profilers import attached, profilers
from pytest_roofline.proof.passes import Observed, observe, unobserved
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.session.results_file import without_folders
from pytest_roofline.session.run import Run
from pytest_roofline.workload.case import case_of, layout_of
from pytest_roofline.workload.compiling import fresh_compiler, left_out, refuse_eager
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Step, Workload, workload_hash
from pytest_roofline.workload.switches import conditions
from roofline.model.placement import HOST_BOUND_DEVICE_SHARE, busy_share
from roofline.schema.record import Case, Counters, Flag, HostCounters, Memory, Parallel, Process, Record, Work
from roofline.text.units import counted
from roofline.timing.step_time import margin_flag, mostly_disturbed

__tracebackhide__ = True  # Where a model fails, pytest shows its frames and not these.

ROOF_BUDGET_S = 1.5
"""Timed rounds of a roof's winner. The roof is their best round, and it is sampled again later in the session."""

INPUT_BUDGET_S = 3.0
"""Timed rounds of a loader alone: its rate is set against a step's, not compared within a percent."""

Used = tuple[Process, dict[str, str]]
"""What the process used while steps were timed, and why values are missing, by their path in the record."""


def plan_of(options: Options) -> Plan:
    return Plan(
        protocol=options.protocol,
        warmup_steps=options.warmup,
        steps=options.steps,
        repeats=options.repeats,
        margin=options.margin,
        confidence=options.confidence,
        max_time_s=options.max_time,
    )


def measure_workload(run: Run, workload: Workload, case: str, plan: Plan | None = None) -> tuple[Record, Measured]:
    """Measure, prove and count one workload.

    :param plan: how to measure; None is what the options say.
    :returns: the record, and the timing with its log of steps.
    :raises compiling.CompilerMissing: this machine can't compile what is to be compiled.
    :raises compiling.NotCompiled: the model can't be compiled.
    :raises compiling.LeftEager: the compiler leaves it alone.
    :raises InputEnded: there was no data for one round.
    """
    with run.ranks.in_step(case), fresh_compiler() if workload.compile else nullcontext():
        return _measure(run, workload, case, plan or plan_of(run.options))


def _measure(run: Run, workload: Workload, case: str, plan: Plan) -> tuple[Record, Measured]:
    options, device = run.options, run.device
    attached_flags = attached()
    step = Step(workload)
    process = ProcessUsage()
    first = before = claims.snapshot(step)
    eager = left_out(workload.model) if workload.compile else None
    losses = claims.LossWatch(step) if workload.mode == "train" else None
    known, pace = case_of(workload, case, options), None
    no_layout = layout_of(workload).why_none
    if run.turns is not None:
        # The protocol, the repeats and the latency are the single process's ways.
        plan = replace(plan, protocol="adaptive", repeats=1)
        pace = run.turns.pace(known)

    def on_warm() -> None:
        nonlocal before
        step.freeze_scale()
        reset_peak(device)
        before = claims.snapshot(step)
        if step.batches:
            refuse_eager(before.graphs.since(first.graphs), eager)

    ends: list[StepEnd] = []

    def after_round() -> None:
        # After the round's synchronisation and its readings: what is read of the device here is in no step's time.
        if plan.protocol == "steps":
            ends.append(StepEnd(datetime.now(UTC), step.loss()))
        if losses is not None:
            losses()

    with conditions(workload.precision, options, device, case):
        start = run.clock()
        stopwatch = Stopwatch(
            step if run.turns is None else run.turns.slowed(step, run.instruments, run.clock),
            run.instruments,
            run.clock,
            input_wait=_input_wait(workload),
            after_round=after_round,
            ranks=run.ranks,
        )
        measured = measure(
            stopwatch,
            plan,
            on_warm=on_warm,
            watch=_watch(run, known),
            latency=workload.mode == "infer" and pace is None,
            pace=pace,
        )
        measured = replace(measured, step_ends=tuple(ends))
        run.measuring_s += run.clock() - start
        usage = process.stop()
        if run.progress is not None:
            run.progress.proving()
        memory, missing = peak_memory(device, run.machine.device.memory_byte)
        held = device_flags(measured.timing.rounds, memory, usage, System.here())
        after = claims.snapshot(step)
        # Before the counting pass takes a step more: this is the loss the timed rounds ended with.
        finite = claims.check_finite(step, losses)
        compiled = workload.compile or before.graphs.made > first.graphs.made
        observed = _observed(run, step, measured, compiled=compiled)
        events, uncounted = _events(run, step, measured)
        parallel, unshared = _parallel(run, step)
    ended = measured.input_ended or observed.input_ended
    # Batches that lie ready don't end: of them there is nothing to prove.
    fed = ended is not None or workload.batches.wait_s() is not None
    checks = (
        *observed.checks,
        claims.check_graphs(
            first,
            before,
            after,
            asked=workload.compile,
            left_out=eager,
        ),
        claims.check_optimizer_steps(step, before, after),
        finite,
        claims.check_data(step.batches, measured.timing, ended) if fed else None,
    )
    made = checks_of_all(run.ranks.gather([check for check in checks if check is not None]))
    profiled = observed.profiled
    graphs = before.graphs.since(first.graphs)
    compile_s, uncompiled = _compile_s(measured, graphs.made, asked=workload.compile)
    flags = attached_flags + cpus.binding_flags() + timing_flags(measured) + held + observed.flags
    record = Record(
        case=known,
        device=run.machine.device,
        checks=made,
        timing=replace(
            measured.timing,
            input_startup_s=workload.batches.startup_s,
            compile_s=compile_s,
            compiled_from_cache=None if compile_s is None else graphs.cached,
        ),
        work=None if profiled is None else profiled.work,
        operations=() if profiled is None else profiled.operations,
        profile=None if profiled is None else profiled.profile,
        counters=Counters(status="not_requested"),
        host_counters=events,
        memory=replace(memory, peak_predicted_byte=observed.peak_byte),
        process=usage,
        parallel=parallel,
        energy_j_per_step=None if parallel is not None else measured.energy_j_per_step,
        flags=claims.flags_of(made) + flags_of_all(run.ranks.gather(flags)),
        missing={
            **measured.missing,
            **uncompiled,
            **observed.missing,
            **uncounted,
            **unshared,
            **missing,
            **process.missing,
            **({} if no_layout is None else {"case.layout": no_layout}),
        },
    )
    record = replace(record, flags=record.flags + shared_host(run, record, fed=fed))
    return explained(record), measured


def _watch(run: Run, case: Case) -> Watch | None:
    return None if run.progress is None else partial(run.progress.timed, case.samples_per_step)


def _observed(run: Run, step: Step, measured: Measured, *, compiled: bool) -> Observed:
    if run.turns is not None and not run.turns.last:
        return unobserved("the model is built anew for more turns; the last one built is counted and proven")
    try:
        return observe(run, step, compiled=compiled)
    except InputEnded as end:
        reason = measured.input_ended or f"{end}, after the timed rounds, before the step to observe"
        return replace(unobserved(reason), input_ended=reason)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # Uncompiled, as it is counted, a step may need more memory than as it was timed.
        return unobserved(f"out of memory after the timed rounds: {str(error).partition('. ')[0]}")


def _events(run: Run, step: Step, measured: Measured) -> tuple[HostCounters | None, dict[str, str]]:
    """Events on the host's cores where they were asked for; else why there are none, by the path in the record."""
    if run.perf_stat is None:
        return None, {}
    if run.turns is not None:
        return None, {"host_counters": "perf stat counts in no process that takes turns with others"}
    events = run.perf_stat.count(step, measured, run.instruments)
    # The file is published, and the machine's folders are private.
    return replace(events, reason=events.reason and without_folders(events.reason)), {}


def _parallel(run: Run, step: Step) -> tuple[Parallel | None, dict[str, str]]:
    """Observe what ranks did for each other in a step; also why values are missing, by their path in the record."""
    if not isinstance(run.ranks, Ranks):
        return None, {}
    parallel = communication.observe(run.ranks, step.on_fetched_batches(), run.machine.label, run.clock)
    return parallel, {"energy_j_per_step": "several devices took the step: what one of them used is not all"}


def _compile_s(measured: Measured, graphs: int, *, asked: bool) -> tuple[float | None, dict[str, str]]:
    """Tell how much longer the first step took than later ones, where the warm-up made graphs; else why it is unknown.

    A model may have compiled parts of its own, in a case that doesn't ask for compiling.
    """
    if graphs and measured.first_step_s is not None:
        return max(0.0, measured.first_step_s - measured.timing.step_time_s), {}
    return None, {"timing.compile_s": "no graph was compiled before the timed rounds"} if asked else {}


def shared_host(run: Run, record: Record, *, fed: bool) -> tuple[Flag, ...]:
    """Flag what other workers may slow down: all on a CPU whose socket they share, on a GPU what the host paces.

    :param fed: whether a loader delivers the batches.
    """
    busy = busy_share(record)
    paced = fed or (busy is not None and busy < HOST_BOUND_DEVICE_SHARE)
    if not run.neighbours or not (paced or run.device.type == "cpu"):
        return ()
    where = "cores of the same socket" if run.device.type == "cpu" else "this host"
    evidence = f"{counted(run.neighbours, 'other worker')} of pytest-xdist (-n) measured on {where} meanwhile"
    return (Flag(name="shared_host", evidence=evidence),)


def timing_flags(measured: Measured) -> tuple[Flag, ...]:
    """Flag what a reader must know of the timing. None of it makes the row invalid."""
    timing = measured.timing
    flags = []
    if timing.warmup_settled is False:
        flags.append(
            Flag(
                name="unsteady",
                evidence=f"not steady after {timing.warmup_steps} warm-up steps ({timing.warmup_s:.3g} s)",
            )
        )
    short = margin_flag(timing, measured.missing.get("timing.margin", "too few rounds"))
    flags += [] if short is None else [short]
    disturbed = [reason for reason in timing.rounds.disturbed or () if reason]
    if disturbed:
        flags.append(
            Flag(
                name="disturbed",
                evidence=f"{len(disturbed)} of {len(timing.rounds.wall_s)} rounds, first by {disturbed[0]}",
            )
        )
    return tuple(flags)


def _input_wait(workload: Workload) -> Callable[[], float] | None:
    """The batches' own count of waiting, where they have one."""
    if workload.batches.wait_s() is None:
        return None

    def seconds() -> float:
        return workload.batches.wait_s() or 0.0

    return seconds


def measure_input(run: Run, fetch: Callable[[], object], case: Case) -> tuple[Record, Measured]:
    """Measure a data loader alone: a step fetches one batch and does nothing with it."""
    plan = plan_of(run.options)
    plan = replace(plan, max_time_s=min(INPUT_BUDGET_S, plan.max_time_s))
    start = run.clock()
    measured, used = _timed(run, fetch, plan, _watch(run, case))
    run.measuring_s += run.clock() - start
    record = _plain_record(run, case, measured, used, None, {"work": "a loader alone computes nothing for the model"})
    record = replace(record, flags=record.flags + shared_host(run, record, fed=True))
    return record, measured


def measure_roof(run: Run, name: str) -> Record:
    """Measure a roof of `kernels.NAMES` or `links.NAMES` and enter it into the run's ledger.

    :raises roofs.RoofUnavailable: the device has no such roof.
    """
    plan = _roof_plan(run, name)
    with conditions(PRECISIONS[plan.precision], run.options, run.device, f"roof-{name}"):
        start = run.clock()
        winner = roofs.find_best(plan, run.instruments, run.ranks.clock(run.clock))
        measured, used = _timed(run, winner.prepare(), _roof_timing(run))
        run.measuring_s += run.clock() - start
    rounds = measured.timing.rounds
    best_step_s = min(rounds.wall_s) / rounds.steps
    run.roofs.ledger.add(
        plan, winner, roofs.as_value(plan, winner.amount / best_step_s), mostly_disturbed(rounds.disturbed)
    )
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
    carried = "message" if plan.kind == "link" else "launch"
    missing = {} if work else {"work": f"a {carried} has neither FLOPs nor bytes to count"}
    return _plain_record(run, case, measured, used, work, missing)


def _roof_plan(run: Run, name: str) -> roofs.RoofPlan:
    if name in links.NAMES:
        return links.plan(name, run.device, run.ranks)
    if run.ranks.count > 1:
        raise roofs.RoofUnavailable("a roof of one device is measured by one process: leave torchrun out")
    return roofs.plan(name, run.device, run.machine.device.last_level_cache_byte)


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


def _timed(run: Run, step: Callable[[], object], plan: Plan, watch: Watch | None = None) -> tuple[Measured, Used]:
    usage = ProcessUsage()
    measured = measure(Stopwatch(step, run.instruments, run.clock, ranks=run.ranks), plan, watch=watch)
    return measured, (usage.stop(), usage.missing)


def _plain_record(
    run: Run, case: Case, measured: Measured, used: Used, work: Work | None, missing: dict[str, str]
) -> Record:
    process, no_process = used
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
        missing={**measured.missing, **missing, **no_process},
    )
    return explained(record)
