"""Optimisers: the same update costs the same written out, for lists of tensors, and fused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from pytest_roofline.counting import Counted, count_step

IN, OUT = 40, 50
PARAMETERS = IN * OUT


def counted(kind: Any, **options: Any) -> Counted:
    """An optimiser's step in steady state."""
    model = nn.Linear(IN, OUT, bias=False)
    optimizer = kind(model.parameters(), **options)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(torch.ones(2, IN)).square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    for _ in range(2):
        closure()
        optimizer.step(closure)
    closure()
    step: Callable[[], object] = optimizer.step
    if kind is torch.optim.LBFGS:
        step = lambda: optimizer.step(closure)  # noqa: E731
    return count_step(step, model=model, optimizer=optimizer)


UPDATES: dict[str, tuple[Any, dict[str, Any], int]] = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}, 2),
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, 4),
    "momentum, decay": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, 6),
    "nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}, 6),
    "dampening": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}, 5),
    "maximise": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "maximize": True}, 5),
    "adam": (torch.optim.Adam, {}, 13),
    "adam, decay": (torch.optim.Adam, {"weight_decay": 0.1}, 15),
    "amsgrad": (torch.optim.Adam, {"amsgrad": True}, 14),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.1}, 14),
    "adagrad": (torch.optim.Adagrad, {}, 7),
    "adagrad, decay": (torch.optim.Adagrad, {"weight_decay": 0.1}, 9),
}
"""FLOPs a parameter."""


@pytest.mark.parametrize("how", [{"foreach": False}, {"foreach": True}, {"fused": True}], ids=str)
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_costs_the_same_however_it_runs(name: str, how: dict[str, bool]) -> None:
    """The step counter is one more for the one tensor, where there is one."""
    kind, options, each = UPDATES[name]
    work = counted(kind, **options, **how).work
    assert work.uncovered == ()
    assert work.other_flop_per_step in (each * PARAMETERS, each * PARAMETERS + 1)


KINDS = [
    kind
    for name in torch.optim.__all__
    if isinstance(kind := getattr(torch.optim, name), type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind not in (torch.optim.Optimizer, torch.optim.SparseAdam)
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.__name__)
def test_every_optimizer_of_torch_is_counted(kind: Any) -> None:
    """At least the update itself, 2 a parameter; matrix products only where an optimiser has some.

    SparseAdam takes sparse gradients only, and what those hold no shape tells.
    """
    result = counted(kind)
    assert result.work.uncovered == ()
    assert result.work.other_flop_per_step is not None
    assert result.work.other_flop_per_step >= 2 * PARAMETERS
    assert {operation.kind for operation in result.operations if operation.flop} <= {"matmul"}


def test_clipping_takes_the_norm_of_every_gradient(count: Callable[..., Counted]) -> None:
    """A list of tensors counts with all its elements, not with those of the first."""
    parameters = [nn.Parameter(torch.randn(size)) for size in (3, 50, 700)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    norms = count(lambda: torch._foreach_norm([parameter.grad for parameter in parameters])).work
    assert norms.other_flop_per_step == 2 * 753
    clipped = count(lambda: nn.utils.clip_grad_norm_(parameters, 1.0)).work
    assert clipped.other_flop_per_step is not None
    assert clipped.other_flop_per_step >= 3 * 753
