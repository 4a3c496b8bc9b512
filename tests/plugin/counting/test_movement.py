"""Operations that look up, order and scatter: the little arithmetic they have."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from pytest_roofline.counting import Counted
from pytest_roofline.counting.arithmetic import describe

TABLE = torch.randn(9, 4)
BAGS = [[1, 2, 3], [4, 4], [7]]
INDICES, OFFSETS = torch.tensor([row for bag in BAGS for row in bag]), torch.tensor([0, 3, 5])


def walk(each: int, quotient: int) -> int:
    """FLOPs of bags of rows: ``each`` for every element looked up, ``quotient`` for every element returned."""
    return sum(each for bag in BAGS for _ in bag for _ in range(4)) + quotient * len(BAGS) * 4


@pytest.mark.parametrize(
    ("mode", "weighted", "forward", "backward"),
    [
        ("sum", False, walk(1, 0), walk(1, 0)),
        ("mean", False, walk(1, 1), walk(2, 0)),
        ("max", False, walk(1, 0), walk(0, 1)),
        ("sum", True, walk(2, 0), walk(2, 0) + walk(2, 0)),
    ],
)
def test_bags_of_embeddings(
    mode: str, weighted: bool, forward: int, backward: int, count: Callable[..., Counted]
) -> None:
    """A row is added (or compared) with all its elements, times its weight if it has one; so is its gradient."""
    table = TABLE.clone().requires_grad_()
    weights = torch.rand(len(INDICES), requires_grad=True) if weighted else None

    def bags() -> Tensor:
        return functional.embedding_bag(INDICES, table, OFFSETS, mode=mode, per_sample_weights=weights)

    work = count(bags).work
    assert (work.uncovered, work.other_flop_per_step) == ((), forward)
    result = bags()
    gradient = torch.ones_like(result)
    work = count(lambda: result.backward(gradient)).work
    assert (work.uncovered, work.other_flop_per_step) == ((), backward)


def test_a_bag_reads_the_rows_it_takes(count: Callable[..., Counted]) -> None:
    """Not the table, and more than it returns: 6 rows of 16 bytes, 6 + 3 integers; 3 rows and bookkeeping come back."""
    counted = count(lambda: functional.embedding_bag(INDICES, torch.zeros(9000, 4), OFFSETS, mode="sum"))
    (bag,) = (operation for operation in counted.operations if operation.kind == "indexing")
    assert 6 * 16 + 9 * 8 + 3 * 16 <= bag.byte <= 6 * 16 + 9 * 8 + 3 * 16 + 4 * 6 * 8


CASES: dict[str, tuple[Callable[[], object], int]] = {
    "sort": (TABLE.sort, 0),
    "median": (TABLE.median, 0),
    "rows added": (lambda: TABLE.clone().index_add_(0, torch.tensor([1, 2]), TABLE[:2]), 8),
    "compared in place": (lambda: TABLE.clone().gt_(0), 36),
    "views copied": (lambda: torch.transpose_copy(TABLE, 0, 1), 0),
    "padding": (lambda: functional.pad(TABLE[None], (1, 1), "reflect"), 0),
    "unpooled": (lambda: functional.max_unpool1d(TABLE[None], torch.arange(36).reshape(1, 9, 4) % 4 * 2, 2), 0),
    "random": (lambda: TABLE.clone().exponential_(), 0),
    "renormalised": (lambda: functional.embedding(torch.tensor([1, 2]), TABLE.clone(), max_norm=1.0), 3 * 2 * 4),
}


@pytest.mark.parametrize("name", CASES)
def test_moving_data_is_no_arithmetic(name: str, count: Callable[..., Counted]) -> None:
    """Comparing in order to sort isn't counted; adding and comparing for a result is."""
    step, expected = CASES[name]
    work = count(step).work
    assert (work.uncovered, work.other_flop_per_step) == ((), expected)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_adds_gradients_where_it_copied(dimensions: int, mode: str, count: Callable[..., Counted]) -> None:
    """One sum for each element of the padded gradient."""
    source = torch.randn(1, 2, *[4] * dimensions, requires_grad=True)
    result = functional.pad(source, [1, 2] * dimensions, mode)
    gradient = torch.ones_like(result)
    assert count(lambda: result.backward(gradient)).work.other_flop_per_step == 2 * 7**dimensions


def test_operations_of_others_are_unknown() -> None:
    """A namespace that isn't torch's may mean anything by a name."""
    assert describe("mine::add", pointwise=True) is None
    assert describe("aten::no_such_thing", pointwise=False) is None
