"""A step of which another thread or library runs a part is told from one that is seen whole."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import Counted, count_step


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

    reason = count_step(step, model=MODEL, optimizer=optimizer).escaped
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
    assert counted.escaped is None


@pytest.mark.parametrize("layer", [nn.LSTM(4, 3), nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))], ids=str)
def test_parameters_read_through_views_and_functions(layer: nn.Module) -> None:
    """What a layer makes of its parameters before it uses them is an operation, too."""

    def step() -> None:
        result = layer(SOURCE)
        (result[0] if isinstance(result, tuple) else result).sum().backward()

    assert count_step(step, model=layer).escaped is None


SQUARE = torch.eye(4)


def halved(tensor: Tensor) -> Tensor:
    return torch.from_numpy(tensor.detach().numpy() / 2)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (lambda: halved(SQUARE), "numpy (the first is fp32, 4x4)"),
        (lambda: np.asarray(SQUARE @ SQUARE), "numpy (the first is fp32, 4x4)"),
        (lambda: np.asarray(SQUARE.double()[0, :2], dtype=np.float32), "numpy (the first is fp64, 2)"),
        (lambda: np.from_dlpack(SQUARE.to(torch.complex64)), "another library (the first is fp32, 4x4)"),
    ],
    ids=["numpy", "asarray", "asarray of a type", "dlpack"],
)
def test_what_other_libraries_get_is_not_all_counted(
    step: Callable[[], object], told: str, count: Callable[..., Counted]
) -> None:
    """By whatever way: nobody knows what they do with it."""
    assert count(step).escaped == f"the step hands tensors to {told}: what is computed there can't be seen"


@pytest.mark.parametrize(
    "step",
    [
        lambda: (SQUARE @ SQUARE).sum().numpy(),
        lambda: float(SQUARE.mean()),
        lambda: SQUARE.argmax(1).numpy(),
        lambda: (SQUARE > 0).numpy().sum(),
        lambda: torch.from_numpy(np.ones((4, 4), dtype=np.float32)) @ SQUARE,
        lambda: max(SQUARE.tolist()),
    ],
    ids=["loss", "item", "labels", "mask", "given by numpy", "list"],
)
def test_what_is_logged_and_what_is_given_to_the_step_is_no_sign_of_it(
    step: Callable[[], object], count: Callable[..., Counted]
) -> None:
    """Single numbers, integers, and arrays that come in."""
    assert count(step).escaped is None


def test_other_threads_may_do_what_they_like(count: Callable[..., Counted]) -> None:
    """One that prepares batches is no part of the step."""
    with ThreadPoolExecutor(1) as pool:
        assert count(lambda: pool.submit(SQUARE.numpy).result()).escaped is None


def test_an_operation_written_in_numpy_is_named_by_itself(count: Callable[..., Counted]) -> None:
    """It has no formula, which is said of it alone."""
    with torch.library._scoped_library("roofline_handed_over_test", "FRAGMENT") as library:
        library.define("halved(Tensor x) -> Tensor")
        library.impl("halved", halved, "CPU")
        counted = count(lambda: torch.ops.roofline_handed_over_test.halved(SQUARE))
    assert [one.name for one in counted.work.uncovered] == ["roofline_handed_over_test::halved"]
    assert counted.escaped is None


def test_a_training_step_that_computes_in_numpy() -> None:
    """Its parameters are read by an operation before, so their gradients show nothing."""

    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(_context: object, tensor: Tensor) -> Tensor:
            return halved(tensor)

        @staticmethod
        def backward(_context: object, *gradients: Tensor) -> Tensor:
            return gradients[0] / 2

    model = nn.Linear(4, 3)
    counted = count_step(lambda: Halved.apply(model(SQUARE)).sum().backward(), model=model)
    assert counted.escaped is not None
    assert "numpy (the first is fp32, 4x3)" in counted.escaped


def test_the_methods_of_tensors_are_as_before(count: Callable[..., Counted]) -> None:
    """After a step that went well and after one that failed."""
    own = vars(Tensor)["__dlpack__"]

    def fail() -> None:
        raise ValueError("no")

    count(lambda: SQUARE.numpy().sum())
    with pytest.raises(ValueError, match="no"):
        count(fail)
    assert "numpy" not in vars(Tensor)
    assert vars(Tensor)["__dlpack__"] is own
