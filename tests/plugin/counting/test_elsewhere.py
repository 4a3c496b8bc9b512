"""A training step of which another thread runs a part is told from one that is seen whole."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import count_step


def elsewhere(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


MODEL = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
SOURCE = torch.randn(2, 4)


def all_here() -> Tensor:
    result: Tensor = MODEL(SOURCE)
    return result


def partly_elsewhere() -> Tensor:
    result: Tensor = MODEL[1](elsewhere(lambda: MODEL[0](SOURCE)))
    return result


def train(forward: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    forward().sum().backward()  # type: ignore[no-untyped-call]
    optimizer.step()


@pytest.mark.parametrize(
    ("forward", "whole_step_elsewhere", "hidden"),
    [
        (all_here, False, None),
        (partly_elsewhere, False, "2 of 4 parameters (0."),
        (lambda: elsewhere(all_here), False, "4 of 4 parameters ("),
        (all_here, True, "4 of 4 parameters ("),
    ],
    ids=["here", "a layer", "the model", "the step"],
)
def test_parameters_that_no_operation_read(
    forward: Callable[[], Tensor], whole_step_elsewhere: bool, hidden: str | None
) -> None:
    """They got a gradient, so something did. That the optimiser and the backward pass read them doesn't count."""
    optimizer = torch.optim.SGD(MODEL.parameters(), lr=0.1)

    def step() -> None:
        if whole_step_elsewhere:
            elsewhere(lambda: train(forward, optimizer))
        else:
            train(forward, optimizer)

    reason = count_step(step, model=MODEL, optimizer=optimizer).elsewhere
    if hidden is None:
        assert reason is None
    else:
        assert reason is not None
        assert reason.startswith(hidden)
        assert "what other threads run can't be seen" in reason
    assert not any(parameter._post_accumulate_grad_hooks for parameter in MODEL.parameters())


def test_parameters_that_nothing_uses_are_no_sign_of_it() -> None:
    """Without a gradient nobody claims that they were read; frozen ones are not asked."""
    model = nn.ModuleList([nn.Linear(4, 3), nn.Linear(4, 3), nn.Linear(3, 3).requires_grad_(False)])
    counted = count_step(lambda: model[2](model[0](SOURCE)).sum().backward(), model=model)
    assert counted.elsewhere is None


@pytest.mark.parametrize("layer", [nn.LSTM(4, 3), nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))], ids=str)
def test_parameters_read_through_views_and_functions(layer: nn.Module) -> None:
    """What a layer makes of its parameters before it uses them is an operation, too."""

    def step() -> None:
        result = layer(SOURCE)
        (result[0] if isinstance(result, tuple) else result).sum().backward()

    assert count_step(step, model=layer).elsewhere is None
