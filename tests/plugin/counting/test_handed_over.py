"""A step that hands its numbers to another library is told from one that computes in torch."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import Counted, count_step

SQUARE = torch.eye(4)


def halved(tensor: Tensor) -> Tensor:
    return torch.from_numpy(tensor.detach().numpy() / 2)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (lambda: halved(SQUARE), "numpy (the first is fp32, 4x4)"),
        (lambda: np.asarray(SQUARE @ SQUARE), "numpy (the first is fp32, 4x4)"),
        (lambda: np.asarray(SQUARE.double()[0], dtype=np.float32), "numpy (the first is fp64, 4)"),
        (lambda: np.from_dlpack(SQUARE.to(torch.complex64)), "another library (the first is fp32, 4x4)"),
    ],
    ids=["numpy", "asarray", "asarray of a type", "dlpack"],
)
def test_what_other_libraries_get_is_not_all_counted(
    step: Callable[[], object], told: str, count: Callable[..., Counted]
) -> None:
    """By whatever way: nobody knows what they do with it."""
    assert count(step).elsewhere == f"the step hands tensors to {told}: what is computed there can't be seen"


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
    assert count(step).elsewhere is None


def test_other_threads_may_do_what_they_like(count: Callable[..., Counted]) -> None:
    """One that prepares batches is no part of the step."""
    with ThreadPoolExecutor(1) as pool:
        assert count(lambda: pool.submit(SQUARE.numpy).result()).elsewhere is None


def test_an_operation_written_in_numpy_is_named_by_itself(count: Callable[..., Counted]) -> None:
    """It has no formula, which is said of it alone."""
    with torch.library._scoped_library("roofline_handed_over_test", "FRAGMENT") as library:
        library.define("halved(Tensor x) -> Tensor")
        library.impl("halved", halved, "CPU")
        counted = count(lambda: torch.ops.roofline_handed_over_test.halved(SQUARE))
    assert [one.name for one in counted.work.uncovered] == ["roofline_handed_over_test::halved"]
    assert counted.elsewhere is None


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
    assert counted.elsewhere is not None
    assert "numpy (the first is fp32, 4x3)" in counted.elsewhere


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


def test_an_encoder_layer_keeps_its_fast_path() -> None:
    """torch leaves it where modes or subclasses look at its functions: the step counted would be another."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    source = torch.randn(2, 3, 8)

    def step() -> None:
        with torch.no_grad():
            layer(source)

    assert [one.name for one in count_step(step, model=layer).operations] == ["aten::_transformer_encoder_layer_fwd"]
