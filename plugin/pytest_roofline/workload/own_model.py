"""Make a workload of a model and a batch that somebody else's test brings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_roofline.settings import with_near
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.precision import PRECISIONS, Precision
from pytest_roofline.workload.step import MODES, Mode, ReadyBatches, Workload, sgd

if TYPE_CHECKING:
    import torch
    from torch import nn


# pytest leaves out the frames of such modules: a user needs his own lines and the message.
__tracebackhide__ = True


class NotSupported(RuntimeError):
    """The device can't run the precision natively, or the model has no such precision. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a call of the fixture measures where it doesn't say so itself.

    ``batch`` None is the first input's; ``precision`` None is fp32, and refused of a model in another dtype.
    """

    mode: Mode = "infer"
    precision: str | None = None
    batch: int | None = None
    sample_unit: str = "sample"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}; use " + with_near(self.mode, MODES))
        if self.precision is not None and (not isinstance(self.precision, str) or self.precision not in PRECISIONS):
            raise ValueError(f"precision is {self.precision!r}; use " + with_near(self.precision, PRECISIONS))
        if self.batch is not None and (type(self.batch) is not int or self.batch < 1):
            raise ValueError(f"batch is {self.batch!r}; use a whole number from 1 up")
        if not isinstance(self.sample_unit, str) or not self.sample_unit.strip():
            raise ValueError(f"sample_unit is {self.sample_unit!r}; use a word, such as 'image'")


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

    :raises NotSupported: the device can't run the precision natively, or a complex parameter has no such precision.
    :raises TypeError: the model is no module, an input or the target no tensor, or ``optimizer`` an optimiser.
    :raises ValueError: a tensor without data, a model in another dtype than fp32's without a precision, training
        without a target or trainable parameters, inference with a target, loss or optimiser, or a config that isn't
        plain values.
    """
    import torch

    precision = PRECISIONS[defaults.precision or "fp32"]
    reason = precisions.unsupported(precision, device)
    if reason:
        raise NotSupported(reason)
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"roofline(model, *inputs): the model is a {type(model).__name__}; give a torch.nn.Module")
    if not inputs:
        raise TypeError("roofline(model, *inputs): there is no input; give at least one tensor")
    for number, given in enumerate(inputs, 1):
        if not isinstance(given, torch.Tensor):
            raise TypeError(
                f"roofline(model, *inputs): input {number} is a {type(given).__name__}; give tensors, and a module "
                "around the model that makes of them what its forward takes"
            )
    if defaults.precision is None:
        _refuse_other_dtype(model)
    if any(tensor.numel() == 0 for tensor in inputs):
        raise ValueError("roofline(model, *inputs): an input is empty, so there is no work to measure")
    training = defaults.mode == "train"
    if not training:
        _refuse_useless(target=target, loss=loss, optimizer=optimizer)
    if target is not None and not isinstance(target, torch.Tensor):
        raise TypeError(f"roofline(model, *inputs, target=...): the target is a {type(target).__name__}; give a tensor")
    tensors = (*model.parameters(), *model.buffers(), *inputs, target)
    if any(tensor is not None and tensor.is_meta for tensor in tensors):
        raise ValueError(
            "roofline(model, *inputs): the model, an input or the target is on the device meta, where tensors have no "
            "data. Make it on a real device; a model there by model.to_empty(device=...), then initialise it"
        )
    if training and target is None:
        raise ValueError("roofline(model, *inputs, target=...): training needs a target")
    if training and not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            "roofline(model, *inputs): no parameter of the model is trainable, so there is nothing to train. Leave "
            "requires_grad of some on, or measure with mode='infer'"
        )
    if optimizer is not None:
        _refuse_optimizer(optimizer)
    plain = {str(key): _plain(str(key), value) for key, value in config.items()}
    dtype = precisions.parameter_dtype(precision)
    model = _in_precision(model.to(device=device), precision).train(training)

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
        config={"input_shapes": [list(tensor.shape) for tensor in inputs], "model": type(model).__name__, **plain},
    )


def _plain(key: str, value: Any) -> Any:
    """A value of the config as JSON has it.

    :raises ValueError: JSON has no such value.
    """

    def simpler(value: Any) -> Any:
        return dict(value) if isinstance(value, Mapping) else scalar(value)

    try:
        return json.loads(json.dumps(value, default=simpler, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"roofline(..., config=...): {key!r}: {error}. Use texts, finite numbers, dtypes, devices, and lists and "
            "dicts of them"
        ) from error


def _refuse_useless(**given: object) -> None:
    """Refuse what only training uses: it was most likely meant for training."""
    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise ValueError(
            f"roofline(model, *inputs, {useless[0]}=...): the mode is 'infer', which has no use for the {useless[0]}. "
            "Give mode='train' in the call or in @pytest.mark.roofline, or leave it out"
        )


def _refuse_other_dtype(model: nn.Module) -> None:
    """Without a precision nobody asked for another dtype, and fp32 would convert the model unseen."""
    for name, parameter in model.named_parameters():
        dtype = str(parameter.dtype).removeprefix("torch.")
        if parameter.is_floating_point() and dtype != PRECISIONS["fp32"].parameters:
            kept = [f"precision={own.name!r} to keep it, " for own in PRECISIONS.values() if own.parameters == dtype]
            raise ValueError(
                f"roofline(model, *inputs): {name} of the model is {dtype}, and no precision was given. Give "
                + "".join(kept)
                + "precision='fp32' to convert it"
            )


def _refuse_optimizer(optimizer: object) -> None:
    """An optimiser or its class was given for the function that makes one of the model."""
    import torch

    kind = optimizer if isinstance(optimizer, type) else type(optimizer)
    if issubclass(kind, torch.optim.Optimizer):
        raise TypeError(
            f"roofline(model, *inputs, optimizer=...): {kind.__name__} is an optimiser; give a function that makes it "
            f"of the model: lambda model: {kind.__name__}(model.parameters())"
        )


def _in_precision(model: nn.Module, precision: Precision) -> nn.Module:
    """The model with its real parameters and buffers in the precision's dtype; complex ones stay what they are.

    ``Module.to(dtype)`` would drop the imaginary parts of those.

    :raises NotSupported: there are complex ones, and the precision is not that of their parts.
    """
    named = chain(model.named_parameters(), model.named_buffers())
    complex_ones = [name for name, tensor in named if tensor.is_complex()]
    if complex_ones and precision.parameters != "float32":
        raise NotSupported(
            f"{precision.name} would need {complex_ones[0]} in {precision.parameters}, but it is complex, and torch "
            "has no complex layers of that precision: use fp32"
        )
    if precision.parameters == "float32":
        return model.float()
    return model.to(dtype=precisions.parameter_dtype(precision))


Scalar = None | bool | int | float | str


def scalar(value: object) -> Scalar:
    """A single value as JSON has it: a scalar of numpy or torch is a number, a dtype or a device its name.

    :raises TypeError: it is none of these.
    """
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__.partition(".")[0] in ("torch", "numpy"):
        if kind is value:
            return kind.__name__  # numpy takes its scalars' classes for dtypes
        if kind.__name__ in ("dtype", "device", "memory_format") or kind.__name__.endswith("DType"):
            return str(value).removeprefix("torch.")
    raise TypeError(f"{kind.__name__} is no single plain value")
