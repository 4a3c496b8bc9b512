"""Denormal numbers: smaller than the smallest normal one, and on most CPUs several times slower to compute with.

A step that is slow for them is not slow for its operations: the same network takes a fifth of the time with other
weights or inputs. It is measured as it is, and the reader is warned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_roofline.workload.case import all_tensors
from roofline.schema.record import Flag

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from pytest_roofline.workload.step import Step

MOST = 0.01
"""A larger share of a tensor's elements is reported."""

_AT_ONCE = 2**22
"""Elements looked at together: what is made for it is small beside the model."""


def denormals(step: Step, inputs: object) -> Flag | None:
    """A flag that names what holds denormal numbers after a step, or None.

    Looked at are inputs, parameters, gradients and buffers; what passes between operations isn't. Where the CPU takes
    them for zero (`torch.set_flush_denormal`), it does so here too, and there are none. Other devices lose no time on
    them.

    :param inputs: tensors, or what holds some.
    """
    if step.workload.device.type != "cpu":
        return None
    found = {name: share for name, tensor in _held(step, inputs) if (share := denormal_share(tensor)) > MOST}
    if not found:
        return None
    name, share = max(found.items(), key=lambda item: item[1])
    return Flag(
        name="denormals",
        evidence=f"{share:.0%} of {name} are denormal numbers"
        + (f", and more than {MOST:.0%} of {len(found) - 1} other tensors" if len(found) > 1 else "")
        + ": a CPU computes with them several times slower (torch.set_flush_denormal(True) takes them for zero)",
    )


def denormal_share(tensor: Tensor) -> float:
    """Share of the elements that are denormal; 0 for dtypes that a CPU doesn't compute in, such as fp16, and for
    tensors that aren't dense."""
    import torch

    computed_in = (torch.float32, torch.float64, torch.bfloat16)
    if tensor.dtype not in computed_in or tensor.layout != torch.strided or not tensor.numel():
        return 0.0
    least = torch.finfo(tensor.dtype).tiny
    parts = tensor.detach().reshape(-1).split(_AT_ONCE)
    return sum(int(((part != 0) & (part.abs() < least)).sum()) for part in parts) / tensor.numel()


def _held(step: Step, inputs: object) -> Iterator[tuple[str, torch.Tensor]]:
    for number, tensor in enumerate(all_tensors(inputs)):
        yield f"input {number}", tensor
    for name, parameter in step.workload.model.named_parameters():
        yield f"parameter {name}", parameter
        if parameter.grad is not None:
            yield f"the gradient of {name}", parameter.grad
    for name, buffer in step.workload.model.named_buffers():
        yield f"buffer {name}", buffer
