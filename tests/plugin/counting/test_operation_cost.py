"""Operations without products: their kind, and one FLOP for each element of their largest tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS
from pytest_roofline.counting.operation_cost import _KINDS, _NAMES, Kind, kind_of, spellings

IMAGE = torch.randn(2, 4, 6, 6)
ELEMENTS = IMAGE.numel()
MATRIX, VECTOR, STEPS = torch.eye(5), torch.ones(5), torch.tensor([1, 2])

CASES: dict[str, tuple[Callable[[], object], str, float]] = {
    "add": (lambda: IMAGE + IMAGE, "elementwise", ELEMENTS),
    "add, broadcast": (lambda: IMAGE[:1, :1] + IMAGE, "elementwise", ELEMENTS),
    "in place": (lambda: IMAGE.clone().relu_(), "elementwise", ELEMENTS),
    "without an entry": (lambda: torch.erf(IMAGE), "elementwise", ELEMENTS),
    "of a list": (lambda: torch._foreach_add([IMAGE, IMAGE], 1.0), "elementwise", 2 * ELEMENTS),
    "of a list, without an entry": (lambda: torch._foreach_erf([IMAGE]), "elementwise", ELEMENTS),
    "norms of a list": (lambda: torch._foreach_norm([IMAGE, IMAGE[0]]), "reduction", 1.5 * ELEMENTS),
    "select": (lambda: torch.where(IMAGE[:1] > IMAGE, IMAGE, 0.0), "elementwise", 2 * ELEMENTS),
    "sum": (IMAGE.sum, "reduction", ELEMENTS),
    "mean": (lambda: IMAGE.mean((2, 3)), "reduction", ELEMENTS),
    "variance": (IMAGE.var, "reduction", ELEMENTS),
    "loss": (lambda: functional.mse_loss(IMAGE, IMAGE), "reduction", ELEMENTS),
    "softmax": (lambda: IMAGE.softmax(1), "softmax", ELEMENTS),
    "batch norm": (lambda: nn.BatchNorm2d(4).eval()(IMAGE), "normalisation", ELEMENTS),
    "layer norm": (lambda: functional.layer_norm(IMAGE, (6, 6)), "normalisation", ELEMENTS),
    "pooling": (lambda: functional.max_pool2d(IMAGE, 3, 3), "pooling", ELEMENTS),
    "interpolation": (lambda: functional.interpolate(IMAGE, (9, 9), mode="bilinear"), "other", 2 * 4 * 81),
    "Fourier transform": (lambda: torch.fft.fft(IMAGE.cfloat()), "other", ELEMENTS),
    "solution": (lambda: torch.linalg.solve(MATRIX, VECTOR), "other", 25),
    "nearest pixel": (lambda: functional.interpolate(IMAGE, (9, 9)), "indexing", 0),
    "embedding": (lambda: functional.embedding(STEPS, MATRIX), "indexing", 0),
    "bag of embeddings": (lambda: functional.embedding_bag(STEPS, MATRIX, STEPS[:1] - 1), "indexing", 0),
    "rows added": (lambda: MATRIX.clone().index_add_(0, STEPS, MATRIX[:2]), "indexing", 0),
    "sort": (IMAGE.sort, "indexing", 0),
    "conversion": (IMAGE.double, "copy", 0),
    "cat": (lambda: torch.cat([IMAGE, IMAGE]), "copy", 0),
    "padding": (lambda: functional.pad(IMAGE, (1, 1)), "copy", 0),
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
    "step",
    [
        lambda: torch.addmm(VECTOR, MATRIX, MATRIX),
        lambda: functional.conv2d(IMAGE, torch.ones(3, 4, 3, 3), torch.ones(3)),
        lambda: functional.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, is_causal=True),
    ],
    ids=["addmm", "convolution", "attention"],
)
def test_what_stands_beside_products_is_not_counted(step: Callable[[], object], count: Callable[..., Counted]) -> None:
    """Biases, masks and a softmax inside of an operation with products."""
    work = count(step).work
    assert work.flop_per_step > 0
    assert (work.other_flop_per_step, work.uncovered) == (0, ())


@pytest.mark.parametrize(
    ("layer", "backward"),
    [
        (nn.BatchNorm2d(4), ELEMENTS),
        (nn.Softmax(1), ELEMENTS),
        (nn.MaxPool2d(2), ELEMENTS),
        (nn.AvgPool2d(2), ELEMENTS),
        (nn.ReflectionPad2d(1), 0),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_backward(layer: nn.Module, backward: float, count: Callable[..., Counted]) -> None:
    """Gradients are counted by the same rule."""
    result = layer(IMAGE.clone().requires_grad_())
    gradient = torch.ones_like(result)
    work = count(lambda: result.backward(gradient)).work
    assert (work.other_flop_per_step, work.uncovered) == (backward, ())


def test_kinds_are_a_closed_set(count: Callable[..., Counted]) -> None:
    """Also of what nobody knows."""
    assert [one.kind for one in count(lambda: torch.linalg.matrix_exp(MATRIX)).operations] == ["other"]
    assert set(_KINDS.values()) <= set(get_args(Kind))


def test_integers_make_no_flop(count: Callable[..., Counted]) -> None:
    """Counting batches is not floating-point arithmetic, known operation or not."""
    numbers = torch.arange(10)
    work = count(lambda: (numbers + 1, torch.bincount(numbers), numbers.sum())).work
    assert (work.other_flop_per_step, work.uncovered) == (0, ())


IN, OUT = 40, 50
OPTIMIZERS = [
    kind
    for name in torch.optim.__all__
    if isinstance(kind := getattr(torch.optim, name), type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind not in (torch.optim.Optimizer, torch.optim.SparseAdam)
]


def update(kind: Any, **options: Any) -> Counted:
    """An optimiser's step in steady state."""
    model = nn.Linear(IN, OUT, bias=False)
    optimizer = kind(model.parameters(), **options)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = model(torch.ones(2, IN)).square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    for _ in range(2):
        closure()
        optimizer.step(closure)
    closure()
    needs_closure = kind is torch.optim.LBFGS
    return count_step(
        lambda: optimizer.step(closure) if needs_closure else optimizer.step(), model=model, optimizer=optimizer
    )


@pytest.mark.parametrize("kind", OPTIMIZERS, ids=lambda one: one.__name__)
def test_every_optimizer_of_torch_is_counted(kind: Any) -> None:
    """One FLOP a parameter at least; products only where an optimiser has some.

    SparseAdam takes sparse gradients only, and what those hold no shape tells.
    """
    result = update(kind)
    assert result.work.uncovered == ()
    assert result.work.other_flop_per_step is not None
    assert result.work.other_flop_per_step >= IN * OUT
    assert {operation.kind for operation in result.operations if operation.flop} <= {"matmul"}


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad])
def test_a_fused_update_is_one_operation(kind: Any) -> None:
    """Of kind optimizer, and one FLOP a parameter. The step counter is one more, where there is one."""
    result = update(kind, fused=True)
    assert {operation.kind for operation in result.operations} == {"optimizer"}
    assert result.work.other_flop_per_step in (IN * OUT, IN * OUT + 1)


def test_a_jagged_tensor_has_the_elements_of_its_rows(count: Callable[..., Counted]) -> None:
    """Of sequences of different lengths, without padding."""
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(5, 3)], layout=torch.jagged)
    counted = count(lambda: functional.layer_norm(torch.relu(jagged), [3]))
    assert [operation.kind for operation in counted.operations] == ["elementwise", "normalisation"]
    assert (counted.work.uncovered, counted.work.other_flop_per_step) == ((), 2 * 7 * 3)


OTHER_BUILDS = {
    "cholesky",
    "_mps_max_poolNd",
    "_philox_normal",
    "_philox_uniform",
    "_upsample_lanczosNd_aa",
    "linalg__powsum",
    "miopen_ctc_loss",
}
"""Operations that only older or newer torch has, or another build of it."""


def test_every_name_in_the_table_is_one_of_torch() -> None:
    """A misspelt name would leave its operation unknown. Plain form or in place, one of the two is there."""
    bases = {schema.name.partition("::")[2] for schema in torch._C._jit_get_all_schemas()}
    assert _KINDS.keys() - {name for base in bases for name in spellings(base)} <= OTHER_BUILDS


def test_no_operation_stands_in_the_table_twice() -> None:
    """Nor in that of products."""
    names = [name for names in _NAMES.values() for name in names.split()]
    assert len(names) == len(set(names))
    assert not {name.partition("::")[2] for name in MATRIX_OPERATIONS} & set(names)


@pytest.mark.parametrize(("name", "pointwise"), [("mine::add", True), ("aten::no_such_thing", False)])
def test_operations_of_others_are_unknown(name: str, pointwise: bool) -> None:
    """A namespace that isn't torch's may mean anything by a name."""
    assert kind_of(name, pointwise=pointwise) is None
