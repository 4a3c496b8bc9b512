"""A model's workload on fake tensors: shapes without data, whatever the batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from pytest_roofline import precision as precisions
from pytest_roofline.counting.fake import fake_copy
from pytest_roofline.models import ModelSpec
from pytest_roofline.precision import Precision
from pytest_roofline.workload import ReadyBatches, Workload, sgd

Mode = Literal["train", "infer"]

CPU = torch.device("cpu")
"""Where the fake tensors lie: every machine has it."""


def fake_model(spec: ModelSpec, precision: Precision, mode: FakeTensorMode) -> nn.Module:
    """The model with fake parameters in the precision's dtype.

    Built from fake tensors; a model whose constructor looks at values is built really, once, and copied.
    """
    with _default_dtype(precisions.parameter_dtype(precision)):
        try:
            with mode:
                return spec.build()
        except (DataDependentOutputException, DynamicOutputShapeException):
            return fake_copy(spec.build(), mode)


def fake_workload(spec: ModelSpec, model: nn.Module, *, batch: int, mode: Mode, precision: Precision) -> Workload:
    """Steps of ``model`` on one fake batch, as the suite takes them: SGD with momentum in training.

    To be called, and its steps taken, inside the model's `FakeTensorMode`.
    """
    training = mode == "train"
    model.train(training)
    shape = (batch, *spec.input_shape)
    dtype = torch.int64 if spec.input_kind == "tokens" else precisions.parameter_dtype(precision)
    target = torch.zeros(batch, *spec.target_shape, dtype=torch.int64) if training else None
    return Workload(
        model=model,
        batches=ReadyBatches([((torch.zeros(shape, dtype=dtype),), target)]),
        mode=mode,
        precision=precision,
        device=CPU,
        loss=spec.loss if training else None,
        optimizer=sgd(model) if training else None,
        name=spec.name,
        batch=batch,
        sample_unit=spec.sample_unit,
    )


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Parameters are made in the dtype: those of a fake model can't be converted."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
