"""A model and its workload on fake tensors, which have shapes and no data: counting takes no memory."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.precision import Precision
from pytest_roofline.workload.step import Mode, ReadyBatches, Workload, sgd

Model = TypeVar("Model", bound=nn.Module)

CPU = torch.device("cpu")
"""Where the fake tensors lie: every machine has it."""


def fake_model(spec: ModelSpec, precision: Precision, mode: FakeTensorMode) -> nn.Module:
    """The model with fake parameters in the precision's dtype: built in fp32 and converted, as where a case runs.

    (Built in bf16, a RegNet is another model: it computes its widths in the default dtype.) Built from fake tensors; a
    model whose constructor looks at values is built really, once, and copied.
    """
    try:
        with mode:
            model = spec.build()
    except (DataDependentOutputException, DynamicOutputShapeException):
        model = fake_copy(spec.build(), mode)
    _convert(model, precisions.parameter_dtype(precision))
    return model


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


def _convert(model: nn.Module, dtype: torch.dtype) -> None:
    """Do what ``model.to(dtype)`` does, which torch can't with fake parameters; one that modules share stays one."""
    converted: dict[nn.Parameter, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False, remove_duplicate=False)):
            if parameter.is_floating_point() and parameter.dtype != dtype:
                if parameter not in converted:
                    converted[parameter] = nn.Parameter(parameter.detach().to(dtype), parameter.requires_grad)
                setattr(module, name, converted[parameter])
        for name, buffer in list(module.named_buffers(recurse=False, remove_duplicate=False)):
            if buffer.is_floating_point() and buffer.dtype != dtype:
                setattr(module, name, buffer.to(dtype))


def fake_copy(model: Model, mode: FakeTensorMode) -> Model:
    """Copy ``model`` with fake parameters and buffers of ``mode``, on the devices of the real ones.

    What it is called with has to be fake too (``mode.from_tensor``), and the call has to be made inside ``mode``. A
    model that looks at its data on the way (``item()``) can't run so; it raises torch's
    ``DataDependentOutputException``.
    """
    # Tensors the copy finds already copied are taken as they are.
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        fake = mode.from_tensor(parameter.detach())
        memo[id(parameter)] = nn.Parameter(fake, requires_grad=parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = mode.from_tensor(buffer)
    return copy.deepcopy(model, memo)
