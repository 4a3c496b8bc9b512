"""Training of torchvision models against a count made a wholly different way: from their modules, by hooks.

The other count sees layers, not operations: what each module's definition says it computes, three times over for
training, without the gradients of inputs that want none. It knows nothing of dispatch, of formulas or of fake tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from perftests.models import find
from pytest_roofline.counting import count_step
from pytest_roofline.counting.fake import fake_copy

swin = pytest.importorskip("torchvision.models.swin_transformer")

BATCH = 2

MODELS = (
    "alexnet",
    "squeezenet1_1",
    "shufflenet_v2_x0_5",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "regnet_y_400mf",
    "resnext50_32x4d",
    "convnext_tiny",
    "vit_b_16",
    "swin_t",
)
"""One of every family that is quick to count; transformers and grouped convolutions among them."""


class ModuleCount:
    """MACs of a forward pass and of a training step, module by module."""

    def __init__(self, model: nn.Module) -> None:
        self.forward = 0
        self.training = 0
        for module in model.modules():
            if macs := COUNTS.get(type(module)):
                module.register_forward_hook(self._hook(macs))

    def _hook(self, macs: Callable[[Any, Tensor, Tensor], dict[str, int]]) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
            parts = macs(module, inputs[0], output if isinstance(output, Tensor) else output[0])
            gradients = 2 if inputs[0].requires_grad else 1
            self.forward += sum(parts.values())
            # Fused attention makes two products forward and five backward, each half as large as the two.
            self.training += parts.get("weights", 0) * (1 + gradients)
            self.training += parts.get("fused attention", 0) * 7 // 2
            self.training += parts.get("attention", 0) * 3

        return hook


def convolution(module: nn.Conv2d, _: Tensor, output: Tensor) -> dict[str, int]:
    return {"weights": output.numel() * module.in_channels // module.groups * prod(module.kernel_size)}


def linear(module: nn.Linear, _: Tensor, output: Tensor) -> dict[str, int]:
    return {"weights": output.numel() * module.in_features}


def self_attention(module: nn.MultiheadAttention, source: Tensor, _: Tensor) -> dict[str, int]:
    batch, tokens, width = *source.shape[:2], module.embed_dim
    return {"weights": batch * tokens * 4 * width * width, "fused attention": batch * 2 * tokens * tokens * width}


def shifted_windows(module: Any, source: Tensor, _: Tensor) -> dict[str, int]:
    batch, height, width, channels = source.shape
    window = prod(module.window_size)
    windows = batch * ceil(height / module.window_size[0]) * ceil(width / module.window_size[1])
    return {"weights": windows * window * 4 * channels**2, "attention": windows * 2 * window**2 * channels}


COUNTS: dict[type, Callable[[Any, Tensor, Tensor], dict[str, int]]] = {
    nn.Conv2d: convolution,
    nn.Linear: linear,
    nn.MultiheadAttention: self_attention,
    swin.ShiftedWindowAttention: shifted_windows,
}


def by_modules(model: nn.Module, size: int) -> ModuleCount:
    counted = ModuleCount(model)
    model(torch.zeros(BATCH, 3, size, size, device="meta"))
    return counted


def build(name: str) -> nn.Module:
    """Without spending time on random weights: nobody looks at them. RegNets compute their widths with tensors."""
    with torch.device("cpu" if name.startswith("regnet") else "meta"):
        return find(name).build().to("meta")


@pytest.mark.parametrize("name", MODELS)
def test_training_agrees_with_a_count_of_modules(name: str) -> None:
    """To the last FLOP."""
    spec = find(name)
    size = spec.input_shape[-1]
    expected = by_modules(build(name), size)

    mode = FakeTensorMode()
    model = fake_copy(build(name).to_empty(device="cpu"), mode)
    with mode:
        source, target = torch.zeros(BATCH, 3, size, size), torch.zeros(BATCH, dtype=torch.int64)
        counted = count_step(lambda: spec.loss(model(source), target).backward(), model=model)
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == 2 * expected.training
