"""Arithmetic beside matrix products: what kind an operation is, and its FLOPs in a column of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pytest_roofline.counting import Counted, fourier, linear_algebra, losses, movement, optimizers, resampling
from pytest_roofline.counting.arithmetic import _TABLE
from pytest_roofline.counting.costs import Kind
from pytest_roofline.counting.matrix import MATRIX_OPERATIONS

IMAGE = torch.randn(2, 4, 6, 6)
ELEMENTS = IMAGE.numel()


def image() -> Tensor:
    return IMAGE


CASES: dict[str, tuple[Callable[[], object], str, float]] = {
    "add": (lambda: image() + image(), "elementwise", ELEMENTS),
    "add, scaled": (lambda: torch.add(image(), image(), alpha=2), "elementwise", 2 * ELEMENTS),
    "relu in place": (lambda: image().relu_(), "elementwise", ELEMENTS),
    "no entry of its own": (lambda: torch.erf(image()), "elementwise", ELEMENTS),
    "gelu": (lambda: functional.gelu(image()), "elementwise", 5 * ELEMENTS),
    "foreach": (lambda: torch._foreach_add([image(), image()], 1.0), "elementwise", 2 * ELEMENTS),
    "foreach without an entry": (lambda: torch._foreach_erf([image()]), "elementwise", ELEMENTS),
    "compare and select": (lambda: torch.where(image() > 0, image(), 0.0), "elementwise", ELEMENTS),
    "conversion": (lambda: image().double(), "copy", 0),
    "cat": (lambda: torch.cat([image(), image()]), "copy", 0),
    "sum": (lambda: image().sum(), "reduction", ELEMENTS),
    "mean": (lambda: image().mean((2, 3)), "reduction", ELEMENTS + 8),
    "variance": (lambda: image().var(), "reduction", 4 * ELEMENTS),
    "softmax": (lambda: image().softmax(1), "softmax", 5 * ELEMENTS),
    "batch norm, training": (lambda: nn.BatchNorm2d(4, affine=False)(image()), "normalisation", 6 * ELEMENTS),
    "batch norm": (lambda: nn.BatchNorm2d(4).eval()(image()), "normalisation", 2 * ELEMENTS),
    "layer norm": (lambda: functional.layer_norm(image(), (6, 6)), "normalisation", 8 * ELEMENTS),
    "group norm": (lambda: functional.group_norm(image(), 2), "normalisation", 8 * ELEMENTS),
    "max pooling": (lambda: functional.max_pool2d(image(), 3, 3), "pooling", 9 * 2 * 4 * 2 * 2),
    "average pooling": (lambda: functional.avg_pool2d(image(), 2), "pooling", 4 * 2 * 4 * 3 * 3),
    "global pooling": (lambda: functional.adaptive_avg_pool2d(image(), 2), "pooling", ELEMENTS),
    "embedding": (lambda: functional.embedding(torch.tensor([1]), torch.randn(9, 3)), "indexing", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_kind_and_flop(name: str, count: Callable[..., Counted]) -> None:
    """Never part of the matrix FLOPs. The last operation of the case gives the kind."""
    step, kind, flop = CASES[name]
    counted = count(step)
    assert counted.work.flop_per_step == 0
    assert counted.work.uncovered == ()
    assert counted.operations[-1].kind == kind
    assert counted.work.other_flop_per_step == flop


@pytest.mark.parametrize(
    ("layer", "source", "backward"),
    [
        (nn.BatchNorm2d(4), IMAGE, 8 * ELEMENTS),
        (nn.LayerNorm((6, 6)), IMAGE, 13 * ELEMENTS),
        (nn.Softmax(1), IMAGE, 4 * ELEMENTS),
        (nn.ReLU(), IMAGE, ELEMENTS),
        (nn.MaxPool2d(2), IMAGE, ELEMENTS / 4),
        (nn.AvgPool2d(2), IMAGE, ELEMENTS),
        (nn.AdaptiveAvgPool2d(2), IMAGE, ELEMENTS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_backward(layer: nn.Module, source: Tensor, backward: float, count: Callable[..., Counted]) -> None:
    """Backward operations have formulas as well."""
    result = layer(source.clone().requires_grad_())
    gradient = torch.ones_like(result)
    counted = count(lambda: result.backward(gradient))
    assert counted.work.uncovered == ()
    assert counted.work.other_flop_per_step == backward


def test_kinds_are_a_closed_set(count: Callable[..., Counted]) -> None:
    """Also of what nobody knows."""
    counted = count(lambda: torch.linalg.matrix_exp(image()))
    assert [operation.kind for operation in counted.operations] == ["other"]
    assert all(operation.kind in get_args(Kind) for operation in counted.operations)


def test_integers_make_no_flop(count: Callable[..., Counted]) -> None:
    """Counting batches is not floating-point arithmetic, known operation or not."""
    numbers = torch.arange(10)
    work = count(lambda: (numbers + 1, torch.bincount(numbers), numbers.sum())).work
    assert (work.other_flop_per_step, work.uncovered) == (0, ())


@pytest.mark.parametrize("module", [nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Embedding(9, 3)], ids=str)
def test_models_without_matrix_arithmetic_count_zero(module: nn.Module, count: Callable[..., Counted]) -> None:
    """0 is a right value: bytes are what they are made of."""
    source = torch.tensor([1, 2]) if isinstance(module, nn.Embedding) else image()
    counted = count(lambda: module(source), model=module)
    assert (counted.work.flop_per_step, counted.flop_by_dtype, counted.work.uncovered) == (0, {}, ())
    assert counted.work.byte_high_per_step > 0


ELSEWHERE = {
    "cholesky",
    "_mps_max_pool2d",
    "_philox_normal",
    "_philox_uniform",
    "_upsample_lanczos2d_aa",
    "_upsample_lanczos2d_aa_backward",
}
"""Operations that only older or newer torch has, or another build of it."""


def test_every_name_in_the_table_is_one_of_torch() -> None:
    """A misspelt name would leave its operation without a formula. Plain form or in place, one of the two is there."""
    names = {schema.name for schema in torch._C._jit_get_all_schemas()}
    strangers = {name for name in _TABLE if not {f"aten::{name}", f"aten::{name}_"} & names}
    assert strangers <= ELSEWHERE


def test_no_operation_stands_in_two_tables() -> None:
    """Which of two costs held would depend on the order in which the tables are put together."""
    parts = (fourier, linear_algebra, losses, movement, optimizers, resampling)
    together = [name for part in parts for name in part.TABLE]
    assert len(together) == len(set(together))
    assert not {name.partition("::")[2] for name in MATRIX_OPERATIONS} & set(_TABLE)
