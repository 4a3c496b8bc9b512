"""A forward pass by layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pytest_roofline.complexity.layers import ROOT, forward_by_layer


class Shared(nn.Module):
    """A layer used twice, a product between, and a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        middle: Tensor = self.linear(self.linear(x))
        return middle @ self.scale


def test_work_is_charged_to_the_innermost_module() -> None:
    """The layer's two calls are its own; the product in between is the model's."""
    model = Shared()
    forward = forward_by_layer(model, lambda: model(torch.zeros(2, 4)))
    assert [(one.name, one.kind, one.calls, one.flop, one.parameter_count) for one in forward.layers] == [
        (ROOT, "Shared", 1, 2 * 2 * 4 * 4, 16),
        ("linear", "Linear", 2, 2 * (2 * 2 * 4 * 4), 20),
    ]
    assert forward.flop == 192
    assert forward.layers[1].output_shape == (2, 4)
    assert forward.layers[1].output_byte == 2 * (2 * 4 * 4)


def test_containers_without_work_are_left_out() -> None:
    """A Sequential does nothing itself; a layer that is never called has its parameters all the same."""
    model = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
    model.unused = nn.Linear(3, 3)
    run = nn.Sequential(*list(model)[:2])
    forward = forward_by_layer(model, lambda: run(torch.zeros(1, 4)))
    assert [(one.name, one.calls, one.parameter_count) for one in forward.layers] == [
        ("0", 1, 10),
        ("1", 1, 0),
        ("unused", 0, 12),
    ]


def test_tied_weights_count_once() -> None:
    """They are the first layer's."""
    first, second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, second)
    forward = forward_by_layer(model, lambda: model(torch.zeros(1, 4)))
    assert [one.parameter_count for one in forward.layers] == [16, 0]


def test_hooks_are_taken_away() -> None:
    """The model is as before, whether the pass went well or not."""
    model = nn.Linear(4, 4)
    forward_by_layer(model, lambda: model(torch.zeros(1, 4)))
    try:
        forward_by_layer(model, lambda: model(torch.zeros(1, 5)))
    except RuntimeError:
        pass
    else:
        raise AssertionError("the pass should have failed")
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
