"""The least memory that a step takes, whatever kernels run it: what is larger than a device can't be measured on it.

Everything here is held at once in steady state, on each device and in each library: the batches that lie ready,
parameters and buffers, in training the optimiser's momentum, and the inputs of convolutions and linear layers that the
backward pass reads again. What a kernel takes beside that is not known before it runs, and not in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks

from pytest_roofline import precision as precisions
from pytest_roofline.complexity.fake_workload import CPU, fake_model, fake_workload
from pytest_roofline.counting.calls import tensors_in
from pytest_roofline.counting.memory import stored_byte
from pytest_roofline.models import ModelSpec
from pytest_roofline.precision import Precision
from pytest_roofline.workload import Mode

_INT64_BYTE = 8

_IMAGE_FACTOR, _TOKEN_BYTE = 500, 1_000_000
"""More than a step of the known models takes for each byte of an image, and for each token."""

_TAKES_INPUT_AGAIN = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""Layers whose weights' gradients are made of their inputs."""


def batch_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int:
    """One batch with its targets, on the device."""
    element_byte = _INT64_BYTE if spec.input_kind == "tokens" else precisions.parameter_dtype(precision).itemsize
    targets = math.prod(spec.target_shape) * _INT64_BYTE if mode == "train" else 0
    return batch * (math.prod(spec.input_shape) * element_byte + targets)


def may_be_large(spec: ModelSpec, batch: int, memory_byte: int) -> bool:
    """Whether it is worth a second or two to look at a step: most are small beside the memory."""
    per_sample = _IMAGE_FACTOR * 4 * math.prod(spec.input_shape)
    if spec.input_kind == "tokens":
        per_sample = _TOKEN_BYTE * math.prod(spec.input_shape)
    return batch * per_sample > memory_byte


def step_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int:
    """What an uncompiled step takes at least, beside the batches; 0 where that can't be seen on fake tensors."""
    fake = FakeTensorMode()
    try:
        model = fake_model(spec, precision, fake)
        with fake:
            workload = fake_workload(spec, model, batch=batch, mode=mode, precision=precision)
            held = stored_byte((*model.parameters(), *model.buffers()))
            inputs, _ = workload.batches.next()
            with _taken_again(model, inputs) as saved, precisions.autocast(precision, CPU):
                with torch.set_grad_enabled(mode == "train"):
                    output = model(*inputs)
                trained = stored_byte(one for one in model.parameters() if one.requires_grad)
                if mode == "train":
                    # The momentum; then either what is saved, or in the optimiser's step the gradients.
                    return held + trained + max(stored_byte(saved), trained)
                return held + stored_byte(tensors_in(output))
    except Exception:  # noqa: BLE001 - the model is the user's; what it raises, it will raise where it is measured
        return 0


@contextmanager
def _taken_again(model: nn.Module, batch: tuple[Tensor, ...]) -> Iterator[list[Tensor]]:
    """Tensors that layers take as inputs and that are saved for the backward pass, those of the batch left out."""
    taken = {tensor.untyped_storage()._cdata for tensor in batch}
    saved: list[Tensor] = []
    inputs: dict[int, Tensor] = {}

    def note(_module: nn.Module, arguments: tuple[object, ...]) -> None:
        inputs.update((one.untyped_storage()._cdata, one) for one in arguments if isinstance(one, Tensor))

    def save(tensor: Tensor) -> Tensor:
        address = tensor.untyped_storage()._cdata
        if address in inputs and address not in taken:
            taken.add(address)
            saved.append(tensor)
        return tensor

    hooks = [one.register_forward_pre_hook(note) for one in model.modules() if isinstance(one, _TAKES_INPUT_AGAIN)]
    try:
        with saved_tensors_hooks(save, lambda tensor: tensor):
            yield saved
    finally:
        for hook in hooks:
            hook.remove()
