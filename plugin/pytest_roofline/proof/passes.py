"""Steps after the timed rounds, in passes of their own: for their kernels, their work, and each operation's time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from pytest_roofline.counting import count_step
from pytest_roofline.device.device_memory import is_out_of_memory
from pytest_roofline.missing import reason_of
from pytest_roofline.profilers.kineto import Profiled, profile_step
from pytest_roofline.proof import claims
from pytest_roofline.proof.denormals import denormals
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.case import all_tensors
from pytest_roofline.workload.step import ReadyBatches, Step
from roofline.schema.record import Check, Flag

if TYPE_CHECKING:
    import torch

    from pytest_roofline.session.run import Run


def kernel_names(step: Callable[[], object], device: torch.device) -> tuple[str, ...] | None:
    """Names of the kernels one step launches, in order; copies and fills are none.

    None where the profiler doesn't tell them: on other devices, beside another profiler, and where its CUPTI is missing
    or not permitted, as a kernel of our own shows.
    """
    if device.type != "cuda":
        return None
    import torch

    from pytest_roofline.profilers.kineto.recording import ProfilerBusyError, record

    turns = iter((partial(torch.ones, 1, device=device), step))

    def take() -> None:
        next(turns)()

    try:
        probe, taken = record(take, device, clock=perf_counter, enough=lambda walls: len(walls) == 2)
    except ProfilerBusyError:
        return None
    if not probe.kernels:
        return None
    return tuple(kernel.name for kernel in taken.kernels if not kernel.name.startswith(("Memcpy", "Memset")))


TAKES_TURNS = "a process that takes turns with another is asked for its rounds and its proofs alone"
"""The profiler's pass takes a second of every case in every pair of processes, and nobody there reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What the steps after the timed rounds tell.

    ``profiled`` is None where none could be taken, as ``missing`` says; ``input_ended`` has the reason where it was
    that the data had ended. ``peak_byte`` is the memory that the counted step takes at most; None for a compiled one,
    whose tensors are others.
    """

    checks: tuple[Check, ...]
    flags: tuple[Flag, ...] = ()
    profiled: Profiled | None = None
    peak_byte: int | None = None
    missing: dict[str, str] = field(default_factory=dict)
    input_ended: str | None = None


def observe(run: Run, step: Step, *, compiled: bool) -> Observed:
    """Take steps in passes of their own, for their kernels, for their work, and for the time of each operation.

    :param compiled: whether any part of the step is.
    :raises InputEnded: there is no batch left to take one on.
    :raises RuntimeError, MemoryError: the device has no memory for one; see `is_out_of_memory`.
    """
    workload, device = step.workload, run.device
    tf32 = precisions.tf32_in_use(device)
    fetched = step.on_fetched_batches()
    try:
        # The kernels must be those of the step that was timed; operations can be seen in the module itself only.
        kernels = kernel_names(fetched, device)
        uncompiled = fetched.uncompiled()
        counted = count_step(
            uncompiled,
            model=workload.model,
            optimizer=workload.optimizer,
            held=all_tensors(workload.batches.ready) if isinstance(workload.batches, ReadyBatches) else (),
            last_level_cache_byte=run.machine.device.last_level_cache_byte,
            tf32=tf32,
        )
    except Exception as error:
        if is_out_of_memory(error):
            raise
        # Whatever it is: the step is the user's, it ran in every timed round, and may raise anything where it finds a
        # profiler, a mode or hooks. The row is measured already and must not be lost for it.
        return unobserved(f"the step can't be counted: {reason_of(error)}")
    if counted.escaped:
        return unobserved(counted.escaped)
    # Before the profiler's pass: a step that fails in it may leave no gradients.
    checks = (
        claims.check_device(step, counted.devices),
        claims.check_kernels(device, kernels),
        claims.check_precision(
            workload.precision,
            counted.flop_by_dtype,
            kernels,
            uncovered=(operation.name for operation in counted.work.uncovered),
            compiled=workload.compile,
        ),
    )
    if run.turns is None:
        others = workload.mode == "infer"
        profiled = profile_step(
            fetched,
            device,
            counted,
            compiled=compiled,
            clock=run.clock,
            all_threads=others,
            agree=run.ranks.agree,
        )
    else:
        profiled = Profiled(
            profile=None, operations=counted.operations, work=counted.work, missing={"profile": TAKES_TURNS}
        )
    if hidden := profiled.escaped or claims.unseen(uncompiled, counted.devices):
        return unobserved(hidden)
    slow = denormals(step, fetched.workload.batches.next()[0])
    uneven = profiled.uneven and Flag(
        name="uneven_steps", evidence=f"{profiled.uneven}: FLOPs and bytes are of one step, the time is of all"
    )
    missing = {**counted.missing, **profiled.missing}
    if compiled:
        missing["memory.peak_predicted_byte"] = "counted on the uncompiled step, whose tensors are others"
    return Observed(
        checks=checks,
        flags=tuple(flag for flag in (slow, uneven) if flag),
        profiled=profiled,
        peak_byte=None if compiled else counted.peak_byte,
        missing=missing,
    )


def unobserved(reason: str) -> Observed:
    """Give what is left to say where no such step could be taken."""
    return Observed(
        checks=claims.unobserved(reason),
        missing=dict.fromkeys(("work", "profile", "memory.peak_predicted_byte"), reason),
    )
