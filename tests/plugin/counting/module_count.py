"""A count of a step made a wholly different way: from a model's modules, by hooks.

It sees layers, not operations: what each module's definition says it computes, once forward, and three times over for
training, without the gradients of inputs that want none. It knows nothing of dispatch, of formulas or of fake tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, prod
from typing import Any

import torch
from torch import Tensor, nn
from torchvision.models import maxvit, swin_transformer

from pytest_roofline.workload.models import ModelSpec

FLOP_PER_MAC = 2

Parts = dict[str, int]
"""MACs of a forward pass: of products with ``weights``, of ``attention`` written out, and ``fused attention``."""


class ModuleCount:
    """MACs of one training step of ``model``, added up while it runs forward."""

    def __init__(self, model: nn.Module) -> None:
        self.mac = 0
        for module in model.modules():
            if macs := _COUNTS.get(type(module)):
                module.register_forward_hook(self._hook(macs))

    def _hook(self, macs: Callable[[Any, Tensor, Tensor], Parts]) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
            source = inputs[0]
            parts = macs(module, source, output if isinstance(output, Tensor) else output[0])
            gradients = 2 if source.requires_grad else 1
            self.mac += parts.get("weights", 0) * (1 + gradients)
            self.mac += parts.get("attention", 0) * 3
            # Two products forward and five backward: it computes the scores again.
            self.mac += parts.get("fused attention", 0) * 7 // 2

        return hook


def training_flop(spec: ModelSpec, batch: int) -> int:
    """FLOPs of a step's matrix products and convolutions, on tensors without data."""
    model = without_data(spec).train()
    counted = ModuleCount(model)
    model(torch.zeros(batch, *spec.input_shape, device="meta"))
    return FLOP_PER_MAC * counted.mac


def without_data(spec: ModelSpec) -> nn.Module:
    """The model, made without spending time on random weights. RegNets compute their widths with tensors."""
    with torch.device("cpu" if spec.name.startswith("regnet") else "meta"):
        return spec.build().to("meta")


def _convolution(module: nn.Conv2d, _: Tensor, output: Tensor) -> Parts:
    return {"weights": output.numel() * module.in_channels // module.groups * prod(module.kernel_size)}


def _linear(module: nn.Linear, _: Tensor, output: Tensor) -> Parts:
    return {"weights": output.numel() * module.in_features}


def _self_attention(module: nn.MultiheadAttention, source: Tensor, _: Tensor) -> Parts:
    batch, tokens, width = *source.shape[:2], module.embed_dim
    return {"weights": batch * tokens * 4 * width * width, "fused attention": batch * 2 * tokens * tokens * width}


def _shifted_windows(module: Any, source: Tensor, _: Tensor) -> Parts:
    """Its linear layers are never called: it takes their weights."""
    batch, height, width, channels = source.shape
    rows, columns = module.window_size
    windows, tokens = batch * ceil(height / rows) * ceil(width / columns), rows * columns
    return {"weights": windows * tokens * 4 * channels**2, "attention": windows * 2 * tokens**2 * channels}


def _partitioned_attention(_: nn.Module, source: Tensor, __: Tensor) -> Parts:
    """Attention within partitions; its linear layers are called and count by themselves."""
    batch, partitions, tokens, width = source.shape
    return {"attention": batch * partitions * 2 * tokens**2 * width}


_COUNTS: dict[type, Callable[[Any, Tensor, Tensor], Parts]] = {
    nn.Conv2d: _convolution,
    nn.Linear: _linear,
    nn.MultiheadAttention: _self_attention,
    swin_transformer.ShiftedWindowAttention: _shifted_windows,
    swin_transformer.ShiftedWindowAttentionV2: _shifted_windows,
    maxvit.RelativePositionalMultiHeadAttention: _partitioned_attention,
}
