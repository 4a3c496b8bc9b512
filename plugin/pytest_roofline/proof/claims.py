"""Hold the claims of a measurement against the evidence: device, precision, graphs, optimiser steps, finite loss, data.

A check that can't be made on a device is recorded as not made; it is never counted as passed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_roofline.workload.case import all_tensors
from pytest_roofline.workload.compiling import Graphs, graphs_so_far
from pytest_roofline.workload.precision import Precision
from roofline.schema.record import Check, CheckStatus, Flag, Timing
from roofline.text.units import some_of

if TYPE_CHECKING:
    import torch

    from pytest_roofline.workload.step import Step

_TF32_KERNEL = re.compile(r"tf32|s1688(?!.*(?:bf16|f16))")
"""cuBLAS, cuDNN and CUTLASS name TF32 kernels by the type, or by its instruction: m16n8k8 on 32-bit inputs."""

_LONGEST_REASON = 160
_LEAST_SCALE = 2.0**-126
"""The smallest normal float32."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State that must not change during the timed rounds."""

    graphs: Graphs
    scale: float | None


def snapshot(step: Step) -> Snapshot:
    return Snapshot(graphs=graphs_so_far(), scale=step.scale())


def _check(name: str, status: CheckStatus, evidence: str) -> Check:
    return Check(name=name, status=status, evidence=evidence)


def check_device(step: Step, operation_devices: Mapping[str, int]) -> Check:
    """Parameters, gradients and the tensors of every operation were on the device asked for."""
    asked = step.workload.device
    parameters = list(step.workload.model.parameters())
    on: dict[str, set[str]] = {
        "parameters": {_place(parameter.device) for parameter in parameters},
        "gradients": {_place(parameter.grad.device) for parameter in parameters if parameter.grad is not None},
        "operations": set(operation_devices),
    }
    wrong = {what: places for what, places in on.items() if places - {asked.type, _place(asked)}}
    seen = "; ".join(f"{what} on {', '.join(sorted(places)) or 'nothing'}" for what, places in on.items())
    if wrong:
        return _check("device", "failed", f"asked for {asked}, but {seen}")
    if not operation_devices:
        return _check("device", "failed", f"asked for {asked}, but the step dispatched no operation")
    if step.workload.mode == "train" and not on["gradients"]:
        return _check("device", "failed", "a training step left no gradient on any parameter")
    return _check("device", "passed", f"{seen} ({sum(operation_devices.values())} operations)")


def check_precision(
    precision: Precision,
    flop_by_dtype: Mapping[str, float],
    kernels: Iterable[str] | None,
    *,
    uncovered: Iterable[str] = (),
    compiled: bool = False,
) -> Check:
    """Every matrix operation ran in a dtype that the precision allows.

    Not made where operations ran that nothing is known of: they may be matrix products in any dtype.

    :param kernels: names of the kernels of one step, where the device tells them.
    :param uncovered: names of operations without a formula.
    :param compiled: the step is compiled; kernels are its own, FLOPs those of the model as it is.
    """
    total = sum(flop_by_dtype.values())
    allowed = " or ".join(sorted(precision.computes_in))
    if total == 0:
        return _check("precision", "not_made", "the step has no matrix operation to tell by")
    shares = ", ".join(f"{value / total:.1%} in {dtype}" for dtype, value in sorted(flop_by_dtype.items()) if value)
    evidence = f"matrix FLOPs{' of the uncompiled model' if compiled else ''}: {shares}"
    other = sum(value for dtype, value in flop_by_dtype.items() if dtype not in precision.computes_in) / total
    if other > precision.other_share:
        return _check("precision", "failed", f"{precision.name} means {allowed}, but {evidence}")
    tf32 = sorted({name for name in kernels or () if _TF32_KERNEL.search(name)})
    if tf32 and "tf32" not in precision.computes_in:
        return _check("precision", "failed", f"{precision.name} means {allowed}, but this kernel ran: {tf32[0]}")
    if tf32:
        evidence += f"; TF32 kernels: {len(tf32)}, such as {tf32[0][:80]}"
    if unknown := sorted(set(uncovered)):
        return _check("precision", "not_made", f"{evidence}; not known of {some_of(unknown)}")
    return _check("precision", "passed", evidence)


def check_kernels(device: torch.device, kernels: tuple[str, ...] | None) -> Check:
    """Kernels really ran on the device (a CUDA device tells them through the profiler)."""
    if device.type == "cpu":
        return _check("kernels", "not_made", "a CPU has no kernels apart from its operations")
    if kernels is None:
        return _check("kernels", "not_made", f"torch's profiler tells no kernels of {device.type}")
    if not kernels:
        return _check("kernels", "failed", f"no kernel ran on {device} in one step")
    return _check("kernels", "passed", f"{len(kernels)} kernels ran on {device} in one step")


def check_graphs(
    start: Snapshot, before: Snapshot, after: Snapshot, *, asked: bool, left_out: str | None = None
) -> Check:
    """torch.compile made no graph inside the timed rounds, and at least one before them where it was asked for.

    :param start: before the first step.
    :param before: between warm-up and rounds.
    :param left_out: what of the model the compiler doesn't look into, in words.
    """
    made, late = before.graphs.since(start.graphs), after.graphs.since(before.graphs)
    if late.made:
        return _check("graphs", "failed", f"{late.made} graph(s) were compiled inside the timed rounds{_broken(late)}")
    if late.code:
        return _check("graphs", "failed", f"code for {late.code} graph(s) was generated inside the timed rounds")
    why = _broken(made) + (f"; {left_out}" if left_out else "")
    if made.made:
        cached = f", the code of {made.cached} of {made.code} parts from a cache" if made.cached else ""
        return _check("graphs", "passed", f"{made.made} graph(s) were compiled before the timed rounds{cached}{why}")
    if asked:
        return _check("graphs", "failed", f"asked for torch.compile, but no graph was made: the step ran eagerly{why}")
    return _check("graphs", "passed", "no graph was compiled inside the timed rounds")


def _broken(graphs: Graphs) -> str:
    """Say how often capturing was interrupted, with the first reason."""
    if not graphs.breaks:
        return ""
    reason = next(iter(graphs.breaks)).strip().partition("\n")[0]
    return f"; {sum(graphs.breaks.values())} graph break(s), first for: {reason[:_LONGEST_REASON]}"


def check_optimizer_steps(step: Step, before: Snapshot, after: Snapshot) -> Check | None:
    """The gradient scaler skipped no optimiser step inside the timed rounds; None outside training."""
    if step.workload.mode != "train":
        return None
    if step.scaler is None:
        return _check("optimizer_steps", "passed", "no gradient scaler: every step was taken")
    assert before.scale is not None
    assert after.scale is not None
    evidence = f"gradient scale {before.scale:g} before the rounds, {after.scale:g} after"
    if after.scale >= before.scale:
        return _check("optimizer_steps", "passed", evidence)
    # Each step that is skipped multiplies the scale by the factor, and none raises it. As a float32 that fell to 0 or
    # below the normal range it tells no number.
    skipped = "steps"
    if after.scale >= _LEAST_SCALE:
        fall = math.log(after.scale / before.scale) / math.log(step.scaler.get_backoff_factor())
        skipped = f"{round(fall)} step(s)"
    why = f"{evidence}: {skipped} were skipped for gradients that were not finite"
    return _check("optimizer_steps", "failed", why)


def check_data(batches: int, timing: Timing, ended: str | None) -> Check:
    """Batches came until the end.

    :param batches: how many.
    :param ended: where they ended before that, from the measurement.
    """
    if ended is not None:
        return _check("data", "failed", ended)
    waited = "" if timing.input_wait_s is None else f"; waited {timing.input_wait_s / timing.step_time_s:.1%} of a step"
    return _check("data", "passed", f"{batches} batches were delivered{waited}")


def unseen(step: Step, operation_devices: Mapping[str, int]) -> str | None:
    """Say why the operations of an inference could not be seen, where that is so; None where there are some, or none
    ran.

    A step that gives a tensor which was not there before, without any operation, has it from an earlier step or from
    where no mode sees it made.

    :param step: the one that was observed, on batches that lie ready.
    :param operation_devices: where its operations were, with their number.
    """
    model, batches = step.workload.model, step.workload.batches
    if operation_devices or step.workload.mode != "infer" or not any(True for _ in model.parameters()):
        return None
    given = (*model.parameters(), *model.buffers(), *all_tensors(getattr(batches, "ready", ())))
    known = {id(tensor) for tensor in given}
    if all(id(result) in known for result in all_tensors(step.last)):
        return None
    return "no operation ran in the step: its output is cached, or computed where torch doesn't see it"


def unobserved(reason: str) -> tuple[Check, ...]:
    """The checks that need a step observed after the rounds, where none could be taken."""
    return tuple(
        Check(name=name, status="not_made", evidence=f"no step could be observed: {reason}")
        for name in ("device", "kernels", "precision")
    )


class LossWatch:
    """Looks at a training step's loss after each round: between rounds that takes no time from them.

    An output of inference is not looked at there: reading it would change what lies in the caches.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self.rounds = 0
        self.not_finite: list[int] = []
        """Numbers of the rounds, from 1, that ended with a loss that is not finite."""

    def __call__(self) -> None:
        self.rounds += 1
        if not all(_finite(result) for result in all_tensors(self._step.last)):
            self.not_finite.append(self.rounds)


def check_finite(step: Step, watch: LossWatch | None = None) -> Check:
    """The loss after every round (or the last output), the model's parameters and its buffers are finite.

    A step whose loss is not finite mostly leaves its mark in the parameters, and they in every later loss.

    :param watch: called after each round of a training; None in inference.
    """
    model = step.workload.model
    bad = [f"parameter {name}" for name, parameter in model.named_parameters() if not _finite(parameter)]
    bad += [f"buffer {name}" for name, buffer in model.named_buffers() if not _finite(buffer)]
    results = list(all_tensors(step.last))
    what = "loss" if step.workload.mode == "train" else "output"
    if not results:
        return _check("finite", "not_made", f"the step gives no tensor as its {what}")
    if not all(_finite(result) for result in results):
        bad.insert(0, what)
    if bad:
        return _check("finite", "failed", "not finite after the last round: " + ", ".join(bad[:5]))
    if watch is not None and watch.not_finite:
        first = watch.not_finite[0]
        evidence = f"loss not finite after {len(watch.not_finite)} of {watch.rounds} rounds, first {first}"
        return _check("finite", "failed", evidence)
    shown = f" ({float(results[0].detach()):.4g})" if results[0].numel() == 1 else ""
    return _check("finite", "passed", f"the last {what}{shown}, parameters and buffers are finite")


def flags_of(checks: Iterable[Check]) -> tuple[Flag, ...]:
    """The invalid flags of the checks that failed."""
    return tuple(
        Flag(name=f"{check.name}_disproved", evidence=check.evidence, invalid=True)
        for check in checks
        if check.status == "failed"
    )


def _place(device: torch.device) -> str:
    return device.type if device.index is None else f"{device.type}:{device.index}"


def _finite(tensor: torch.Tensor) -> bool:
    import torch

    return not (tensor.is_floating_point() or tensor.is_complex()) or bool(torch.isfinite(tensor).all())
