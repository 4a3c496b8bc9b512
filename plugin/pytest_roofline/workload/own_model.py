"""Make a workload of a model and a batch that somebody else's test brings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_roofline.settings import with_near
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.precision import PRECISIONS, Precision
from pytest_roofline.workload.step import MODES, Mode, ReadyBatches, Workload, sgd

if TYPE_CHECKING:
    import torch
    from torch import nn


# pytest leaves these frames out: of a refused call a user needs his own line and the message.
__tracebackhide__ = True


class NotSupported(RuntimeError):
    """The device can't run the precision natively, or the model has no such precision. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What a call of the fixture measures where it doesn't say so itself. ``batch`` None is the first input's."""

    mode: Mode = "infer"
    precision: str = "fp32"
    batch: int | None = None
    sample_unit: str = "sample"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}; use " + with_near(self.mode, MODES))
        if not isinstance(self.precision, str) or self.precision not in PRECISIONS:
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
    :raises TypeError: the model is no module, or an input or the target no tensor.
    :raises ValueError: a tensor without data or without a shape, training without a target or trainable parameters,
        inference with a target, loss or optimiser, or a config that isn't plain values.
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
    if any(tensor.is_nested and tensor.layout is torch.strided for tensor in inputs):
        raise ValueError(
            "roofline(model, *inputs): an input is a nested tensor of the strided layout, which has no shape. Make it "
            "with torch.nested.nested_tensor(..., layout=torch.jagged)"
        )
    if any(tensor.numel() == 0 for tensor in inputs):
        raise ValueError("roofline(model, *inputs): an input is empty, so there is no work to measure")
    training = defaults.mode == "train"
    if not training:
        _refuse_useless(target=target, loss=loss, optimizer=optimizer)
    if target is not None and not isinstance(target, torch.Tensor):
        raise TypeError(f"roofline(model, *inputs, target=...): the target is a {type(target).__name__}; give a tensor")
    _refuse_meta(model, (*inputs, target))
    if training and target is None:
        raise ValueError("roofline(model, *inputs, target=...): training needs a target")
    if training:
        _refuse_untrainable(model)
    try:
        plain = _plain(config, "config")
    except RecursionError as error:
        raise ValueError("roofline(..., config=...): it is nested too deep, or holds itself") from error
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


def _refuse_meta(model: nn.Module, given: tuple[torch.Tensor | None, ...]) -> None:
    lying = [name for name, tensor in _tensors_of(model) if tensor.is_meta]
    if lying:
        raise ValueError(
            f"roofline(model, *inputs): {lying[0]} of the model is on the device meta, where tensors have no data. "
            "Give the model real weights first: model.to_empty(device=...), then initialise them"
        )
    if any(tensor is not None and tensor.is_meta for tensor in given):
        raise ValueError(
            "roofline(model, *inputs): an input or the target is on the device meta, where tensors have no data. "
            "Make it on a real device"
        )


def _plain(value: Any, where: str) -> Any:
    """A value of the config as JSON has it.

    :param where: it stands, for the message.
    :raises ValueError: JSON has no such value.
    """
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str | int)), None)
        if wrong is None:
            return {str(key): _plain(item, f"{where}[{key!r}]") for key, item in value.items()}
        where, value = f"a key of {where}", wrong
    elif isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{number}]") for number, item in enumerate(value)]
    else:
        try:
            found = scalar(value)
        except TypeError:
            pass
        else:
            if not isinstance(found, float) or math.isfinite(found):
                return found
    shown = f"{value!r}" if isinstance(value, float) else f"a {type(value).__name__}"
    raise ValueError(
        f"roofline(..., config=...): {where} is {shown}. Use texts, finite numbers, dtypes, devices, and lists and "
        "dicts of them"
    )


def _refuse_useless(**given: object) -> None:
    """What only training uses was given for something: most likely for training."""
    useless = [name for name, value in given.items() if value is not None]
    if useless:
        raise ValueError(
            f"roofline(model, *inputs, {useless[0]}=...): the mode is 'infer', which has no use for the {useless[0]}. "
            "Give mode='train' in the call or in @pytest.mark.roofline, or leave it out"
        )


def _refuse_untrainable(model: nn.Module) -> None:
    parameters = list(model.parameters())
    if any(parameter.requires_grad for parameter in parameters):
        return
    if not parameters:
        raise ValueError("roofline(model, *inputs): training needs a model with parameters")
    number = sum(parameter.numel() for parameter in parameters)
    raise ValueError(
        f"roofline(model, *inputs): none of its {number} parameters is trainable, so there is nothing to train. Leave "
        "requires_grad of some on, or measure with mode='infer'"
    )


def _in_precision(model: nn.Module, precision: Precision) -> nn.Module:
    """The model with its real parameters and buffers in the precision's dtype; complex ones stay what they are.

    ``Module.to(dtype)`` would drop the imaginary parts of those.

    :raises NotSupported: there are complex ones, and the precision is not that of their parts.
    """
    complex_ones = [name for name, tensor in _tensors_of(model) if tensor.is_complex()]
    if complex_ones and precision.parameters != "float32":
        raise NotSupported(
            f"{precision.name} would need {complex_ones[0]} in {precision.parameters}, but it is complex, and torch "
            "has no complex layers of that precision: use fp32"
        )
    cast = {"float32": model.float, "bfloat16": model.bfloat16, "float16": model.half}[precision.parameters]
    return cast()


def _tensors_of(model: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters and buffers with their names."""
    yield from model.named_parameters()
    yield from model.named_buffers()


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
