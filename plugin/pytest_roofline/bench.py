"""Measure one workload: warm up, time, then prove and count in passes of their own, and put it all into a record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_roofline import precision as precisions
from pytest_roofline import proof
from pytest_roofline.compiling import fresh_compiler
from pytest_roofline.counting import count_step
from pytest_roofline.denormals import denormals
from pytest_roofline.kernels import kernel_names
from pytest_roofline.measuring import InputEnded, Measured, Plan, measure
from pytest_roofline.measuring.process import ProcessUsage
from pytest_roofline.missing import explained
from pytest_roofline.options import Options
from pytest_roofline.profiling import Profiled, profile_step
from pytest_roofline.workload import Step, Workload, workload_hash
from roofline.record import Case, Check, Counters, Flag, Memory, Record

if TYPE_CHECKING:
    import torch

    from pytest_roofline.run import Run


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


def case_of(workload: Workload, case: str, options: Options) -> Case:
    """The case's plain values, and the hash over all that changes its work."""
    work: dict[str, Any] = {
        "model": workload.name,
        "mode": workload.mode,
        "precision": workload.precision.name,
        "batch": workload.batch,
        "layout": workload.layout,
        "data": workload.data,
        "config": {
            **workload.config,
            "grad_accum_steps": workload.grad_accum_steps,
            "optimizer": None if workload.optimizer is None else _optimizer(workload.optimizer),
            "parameters": sum(parameter.numel() for parameter in workload.model.parameters()),
            "deterministic": options.deterministic,
            "cudnn_benchmark": options.cudnn_benchmark,
            # Only where it is so: an eager step is the same work as before there was a choice.
            **({"compile": True} if workload.compile else {}),
        },
    }
    # Another seed gives other weights and data, but the same work.
    recorded = {
        **work,
        "config": {**work["config"], **workload.setting, "compile": workload.compile, "seed": options.seed},
    }
    return Case(
        id=case,
        workload_hash=workload_hash(work),
        samples_per_step=workload.batch * workload.grad_accum_steps,
        sample_unit=workload.sample_unit,
        **recorded,
    )


_OPTIMIZER_VALUES = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "betas", "eps", "amsgrad")
"""What of an optimiser's options decides its arithmetic. torch adds others, which choose an implementation."""


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    group = optimizer.param_groups[0]
    return {"name": type(optimizer).__name__, **{key: group[key] for key in _OPTIMIZER_VALUES if key in group}}


def measure_workload(
    run: Run, workload: Workload, case: str, plan: Plan | None = None
) -> tuple[Record, Measured, float]:
    """Measure, prove and count one workload.

    :param plan: how to measure; None is what the options say.
    :returns: the record; the timing with its log of steps; and the seconds of warm-up and timed rounds.
    """
    with fresh_compiler() if workload.compile else nullcontext():
        return _measure(run, workload, case, plan or plan_of(run.options))


def _measure(run: Run, workload: Workload, case: str, plan: Plan) -> tuple[Record, Measured, float]:
    import torch

    options, device = run.options, run.device
    step = Step(workload)
    process = ProcessUsage()
    first = before = proof.snapshot(step)

    def on_warm() -> None:
        nonlocal before
        step.freeze_scale()
        _reset_peak_memory(device)
        before = proof.snapshot(step)

    with conditions(workload.precision, options, device, case):
        start = run.clock()
        measured = measure(
            step,
            plan,
            run.instruments,
            clock=run.clock,
            input_wait=_input_wait(workload),
            on_warm=on_warm,
            latency=workload.mode == "infer",
        )
        seconds = run.clock() - start
        usage = process.stop()
        memory, missing = _peak_memory(device)
        after = proof.snapshot(step)
        # Before the counting pass takes a step more: this is the loss the timed rounds ended with.
        finite = proof.check_finite(step)
        try:
            observed = _observe(run, step, compiled=workload.compile or before.graphs.made > first.graphs.made)
        except InputEnded as end:
            reason = measured.input_ended or f"{end}, after the timed rounds, before the step to observe"
            observed = replace(_unobserved(reason), input_ended=reason)
        except torch.OutOfMemoryError as error:
            # Uncompiled, as it is counted, a step may need more memory than as it was timed.
            observed = _unobserved(f"out of memory after the timed rounds: {str(error).partition('. ')[0]}")
    ended = measured.input_ended or observed.input_ended
    # Batches that lie ready don't end: of them there is nothing to prove.
    fed = ended is not None or workload.batches.wait_s() is not None
    checks = (
        *observed.checks,
        proof.check_graphs(first, before, after, asked=workload.compile),
        proof.check_optimizer_steps(step, before, after),
        finite,
        proof.check_data(step.batches, measured.timing, ended) if fed else None,
    )
    made = tuple(check for check in checks if check is not None)
    profiled = observed.profiled
    compile_s, uncompiled = _compile_s(measured, before.graphs.since(first.graphs).made, asked=workload.compile)
    record = Record(
        case=case_of(workload, case, options),
        device=run.machine.device,
        checks=made,
        timing=replace(measured.timing, input_startup_s=workload.batches.startup_s, compile_s=compile_s),
        work=None if profiled is None else profiled.work,
        operations=() if profiled is None else profiled.operations,
        profile=None if profiled is None else profiled.profile,
        counters=Counters(status="not_requested"),
        memory=memory,
        process=usage,
        flags=proof.flags_of(made) + timing_flags(measured) + observed.flags,
        missing={
            **measured.missing,
            **uncompiled,
            **observed.missing,
            **missing,
        },
    )
    return explained(record), measured, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Observed:
    """What the steps after the timed rounds tell.

    ``profiled`` is None where none could be taken, as ``missing`` says; ``input_ended`` has the reason where it was
    that the data had ended.
    """

    checks: tuple[Check, ...]
    flags: tuple[Flag, ...] = ()
    profiled: Profiled | None = None
    missing: dict[str, str] = field(default_factory=dict)
    input_ended: str | None = None


def _observe(run: Run, step: Step, *, compiled: bool) -> _Observed:
    """Take steps in passes of their own, for their kernels, for their work, and for the time of each operation.

    :param compiled: whether any part of the step is.
    :raises InputEnded: there is no batch left to take one on.
    """
    workload, device = step.workload, run.device
    switches = precisions.fp32_switches(device)
    fetched = step.on_fetched_batches()
    # The kernels must be those of the step that was timed; operations can be told of the module itself only.
    kernels = kernel_names(fetched, device)
    counted = count_step(
        fetched.uncompiled(),
        model=workload.model,
        optimizer=workload.optimizer,
        last_level_cache_byte=run.machine.device.last_level_cache_byte,
        tf32_matmul=switches.matmul,
        tf32_convolution=switches.convolution,
    )
    checks = (
        proof.check_device(step, counted.devices),
        proof.check_kernels(device, kernels),
        proof.check_precision(workload.precision, counted.flop_by_dtype, kernels, compiled=workload.compile),
    )
    profiled = profile_step(fetched, device, counted, compiled=compiled, clock=run.clock)
    slow = denormals(step, fetched.workload.batches.next()[0])
    return _Observed(
        checks=checks,
        flags=() if slow is None else (slow,),
        profiled=profiled,
        missing={**counted.missing, **profiled.missing},
    )


def _unobserved(reason: str) -> _Observed:
    return _Observed(checks=proof.unobserved(reason), missing={"work": reason, "profile": reason})


def _compile_s(measured: Measured, graphs: int, *, asked: bool) -> tuple[float | None, dict[str, str]]:
    """How much longer than a later step the first took, where the warm-up made graphs; else why there is no such time.

    A model may have compiled parts of its own, in a case that doesn't ask for compiling.
    """
    if graphs and measured.first_step_s is not None:
        return max(0.0, measured.first_step_s - measured.timing.step_time_s), {}
    return None, {"timing.compile_s": "no graph was compiled before the timed rounds"} if asked else {}


def timing_flags(measured: Measured) -> tuple[Flag, ...]:
    """What a reader must know of the timing. None of it makes the row invalid."""
    timing = measured.timing
    flags = []
    if timing.warmup_settled is False:
        flags.append(
            Flag(
                name="unsteady",
                evidence=f"not steady after {timing.warmup_steps} warm-up steps ({timing.warmup_s:.3g} s)",
            )
        )
    if timing.margin_target is not None and (timing.margin is None or timing.margin > timing.margin_target):
        why = measured.missing.get("timing.margin", "too few rounds")
        reached = f"no margin can be claimed ({why})" if timing.margin is None else f"±{timing.margin:.2%} reached"
        flags.append(Flag(name="margin", evidence=f"{reached}, ±{timing.margin_target:.2%} asked for"))
    disturbed = [reason for reason in timing.rounds.disturbed or () if reason]
    if disturbed:
        flags.append(
            Flag(
                name="disturbed",
                evidence=f"{len(disturbed)} of {len(timing.rounds.wall_s)} rounds, first by {disturbed[0]}",
            )
        )
    return tuple(flags)


@contextmanager
def conditions(precision: precisions.Precision, options: Options, device: torch.device, case: str) -> Iterator[None]:
    """torch's switches as the case and the options ask, and put back after."""
    import torch

    with ExitStack() as stack:
        stack.enter_context(precisions.applied(precision))
        if options.cudnn_benchmark:
            stack.enter_context(_cudnn_benchmark())
        if options.deterministic:
            stack.enter_context(_deterministic())
        if options.nvtx and device.type == "cuda":
            stack.enter_context(torch.cuda.nvtx.range(case))
        yield


@contextmanager
def _cudnn_benchmark() -> Iterator[None]:
    import torch

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def _deterministic() -> Iterator[None]:
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


def _input_wait(workload: Workload) -> Callable[[], float] | None:
    """The batches' own count of waiting, where they have one."""
    if workload.batches.wait_s() is None:
        return None

    def seconds() -> float:
        return workload.batches.wait_s() or 0.0

    return seconds


def _reset_peak_memory(device: torch.device) -> None:
    import torch

    if device.type == "cuda":
        torch.accelerator.reset_peak_memory_stats(device)


def _peak_memory(device: torch.device) -> tuple[Memory | None, dict[str, str]]:
    import torch

    if device.type != "cuda":
        return None, {"memory": f"torch keeps no peak of {device.type} memory"}
    return (
        Memory(
            peak_allocated_byte=torch.accelerator.max_memory_allocated(device),
            peak_reserved_byte=torch.accelerator.max_memory_reserved(device),
            device_total_byte=torch.cuda.get_device_properties(device).total_memory,
        ),
        {},
    )
