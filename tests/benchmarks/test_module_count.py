"""The benchmark's own count of a training step, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

module_count = pytest.importorskip("benchmarks.module_count")


def mac(model: nn.Module, source: Tensor) -> int:
    counted = module_count.ModuleCount(model)
    model(source)
    return int(counted.mac)


def test_a_first_layer_needs_no_gradient_of_its_input() -> None:
    """Twice its forward pass in all; the second layer three times."""
    model = nn.Sequential(nn.Conv2d(4, 6, 3, groups=2), nn.Flatten(), nn.Linear(6 * 9, 10))
    convolution, linear = 2 * 6 * 9 * 2 * 9, 2 * 54 * 10
    assert mac(model, torch.randn(2, 4, 5, 5)) == 2 * convolution + 3 * linear


def test_fused_attention_computes_its_scores_again() -> None:
    """Four projections three times; of attention's products two forward and five backward."""
    layer, source = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(3, 5, 8, requires_grad=True)
    counted = module_count.ModuleCount(layer)
    layer(source, source, source, need_weights=False)
    assert counted.mac == 3 * (3 * 5 * 4 * 8 * 8) + 7 * (3 * 5 * 5 * 8)


def test_inference_is_one_pass() -> None:
    """Whether or not somebody wants gradients."""
    layer, source = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(3, 5, 8, requires_grad=True)
    counted = module_count.ModuleCount(layer)
    layer(source, source, source, need_weights=False)
    assert counted.mac == 3 * 5 * 4 * 8 * 8 + 2 * (3 * 5 * 5 * 8)
