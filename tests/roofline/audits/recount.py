"""Counts models once more, as they stand in roofline/audits/models.toml.

``python -m tests.roofline.audits.recount NAME...`` prints the lines of that file for models of the suite, of
torchvision and of timm (``timm:NAME``). In a folder of its own for what it needs: torch, which the audit does without.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from perftests.models import ModelSpec, find
from pytest_roofline.complexity.fake import fake_model, fake_workload
from pytest_roofline.counting import Counted, count_step
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Step

TRAINED = 2
"""Samples of the training step: a batch norm over maps of one pixel wants two values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """FLOP of one sample and parameters of a model; ``uncovered`` are operations that have no formula."""

    forward: int
    training: int
    parameters: int
    uncovered: frozenset[str]


def recount(spec: ModelSpec) -> Recount:
    """Count a forward pass and a training step on fake tensors in fp32."""
    precision = PRECISIONS["fp32"]
    mode = FakeTensorMode()
    model = fake_model(spec, precision, mode)
    with mode:
        forward, training = (
            _counted(spec, model, batch, train=train) for batch, train in ((1, False), (TRAINED, True))
        )
    return Recount(
        forward=int(forward.work.flop_per_step),
        training=int(training.work.flop_per_step) // TRAINED,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        uncovered=frozenset(one.name for counted in (forward, training) for one in counted.work.uncovered),
    )


def of_name(name: str, size: int | None = None) -> tuple[ModelSpec, Recount]:
    """A model of the suite, of torchvision or of timm.

    :param size: side of the images or tokens of a sequence; None: those the model is published with.
    """
    spec = find(name)
    if size is not None:
        shape = (size,) if spec.input_kind == "tokens" else (*spec.input_shape[:1], size, size)
        spec = replace(spec, input_shape=shape)
    return spec, recount(spec)


def line(name: str, size: int | None = None) -> str:
    """The line of models.toml."""
    spec, counted = of_name(name, size)
    if counted.uncovered:
        raise ValueError(f"{name}: no formula for {', '.join(sorted(counted.uncovered))}")
    *_, last = spec.input_shape
    kind = "tokens" if spec.input_kind == "tokens" else "pixel"
    return (
        f'    {{ name = "{name.removeprefix("timm:")}", {kind} = {last}, forward = {counted.forward},'
        f" training = {counted.training}, parameters = {counted.parameters} }},"
    )


def _counted(spec: ModelSpec, model: torch.nn.Module, batch: int, *, train: bool) -> Counted:
    workload = fake_workload(spec, model, batch=batch, mode="train" if train else "infer", precision=PRECISIONS["fp32"])
    return count_step(Step(workload), model=model, optimizer=workload.optimizer)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(line(argument), flush=True)
