"""The suite's own steps, as the benchmarks time them: fp32 training on the CPU, batches that lie ready."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from perftests import models
from pytest_roofline.workload import precision
from pytest_roofline.workload.workload import ReadyBatches, Step, Workload, sgd

CPU = torch.device("cpu")

Batch = tuple[tuple[Tensor, ...], Tensor]


def random_batches(spec: models.ModelSpec, batch: int, count: int = 4) -> tuple[Batch, ...]:
    """``count`` batches of normal random samples with random labels; for image models."""
    random = torch.Generator().manual_seed(0)
    return tuple(
        (
            (torch.randn(batch, *spec.input_shape, generator=random),),
            torch.randint(spec.classes, (batch,), generator=random),
        )
        for _ in range(count)
    )


def training_step(spec: models.ModelSpec, model: nn.Module, batches: tuple[Batch, ...]) -> Step:
    """The step that the suite times for a training case in fp32."""
    model.train()
    (inputs, _) = batches[0]
    return Step(
        Workload(
            model=model,
            batches=ReadyBatches(batches),
            mode="train",
            precision=precision.PRECISIONS["fp32"],
            device=CPU,
            loss=spec.loss,
            optimizer=sgd(model),
            name=spec.name,
            batch=len(inputs[0]),
        )
    )
