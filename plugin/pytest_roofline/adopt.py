"""Make a workload of a model and a batch that somebody else's test brings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_roofline import precision as precisions
from pytest_roofline.precision import PRECISIONS
from pytest_roofline.workload import ReadyBatches, Workload, sgd

if TYPE_CHECKING:
    import torch
    from torch import nn

    from pytest_roofline.fixture import Defaults


class NotSupported(RuntimeError):
    """The device can't run the precision natively. The message says why."""


def adopt(
    model: nn.Module,
    inputs: tuple[torch.Tensor, ...],
    *,
    target: torch.Tensor | None,
    loss: Callable[[Any, Any], torch.Tensor] | None,
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] | None,
    config: Mapping[str, Any],
    name: str,
    defaults: Defaults,
    device: torch.device,
) -> Workload:
    """Move the model and its batch to the device, in the precision and mode of ``defaults``.

    :raises NotSupported: the device can't run the precision natively.
    :raises TypeError: the model is no module, or an input no tensor.
    :raises ValueError: an empty input, training without a target or parameters, or a config that isn't plain values.
    """
    import torch

    precision = PRECISIONS[defaults.precision]
    reason = precisions.unsupported(precision, device)
    if reason:
        raise NotSupported(reason)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"roofline(model, *inputs): the model is a {type(model).__name__}; give a torch.nn.Module")
    if not inputs or not all(isinstance(tensor, torch.Tensor) for tensor in inputs):
        raise TypeError("roofline(model, *inputs): give the inputs as tensors, at least one")
    if any(tensor.numel() == 0 for tensor in inputs):
        raise ValueError("roofline(model, *inputs): an input is empty, so there is no work to measure")
    training = defaults.mode == "train"
    if training and target is None:
        raise ValueError("roofline(model, *inputs, target=...): training needs a target")
    if training and not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("roofline(model, *inputs): training needs a model with parameters")
    try:
        json.dumps(config, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"roofline(..., config=...): use plain values only (texts, numbers, lists, dicts): {error}"
        ) from error
    dtype = precisions.parameter_dtype(precision)
    model = model.to(device=device, dtype=dtype).train(training)

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(device=device, dtype=dtype if tensor.is_floating_point() else tensor.dtype)

    batch = defaults.batch or (inputs[0].shape[0] if inputs[0].dim() else 1)
    on_device = (tuple(moved(tensor) for tensor in inputs), None if target is None else moved(target))
    return Workload(
        model=model,
        batches=ReadyBatches([on_device]),
        mode=defaults.mode,
        precision=precision,
        device=device,
        loss=(loss or torch.nn.functional.cross_entropy) if training else None,
        optimizer=(optimizer or sgd)(model) if training else None,
        name=name,
        batch=batch,
        sample_unit=defaults.sample_unit,
        data="given",
        config={"input_shapes": [list(tensor.shape) for tensor in inputs], "model": type(model).__name__, **config},
    )
