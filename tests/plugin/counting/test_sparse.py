"""Products with sparse matrices: every stored value meets a row or a column of the dense one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pytest_roofline.counting import Counted, count_step

pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* support is in beta state")

LAYOUTS = [torch.sparse_coo, torch.sparse_csr]


def some(rows: int, columns: int, every: int) -> Tensor:
    """A matrix with a value in each ``every``-th place."""
    return (torch.arange(rows * columns) % every == 0).float().reshape(rows, columns)


def pairs(sparse: Tensor, columns: int) -> int:
    """By walking: each value that isn't 0 takes part in one result of every column."""
    return sum(2 * columns for row in sparse.tolist() for value in row if value)


def flop(step: Callable[[], object]) -> float:
    counted = count_step(step, model=nn.Identity())
    assert counted.work.uncovered == ()
    return counted.work.flop_per_step


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@settings(deadline=None, max_examples=10)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))
def test_values_times_columns(layout: Any, rows: int, depth: int, columns: int, every: int) -> None:
    """Zeros that aren't stored are no work, with or without an addend."""
    dense = some(rows, depth, every)
    sparse, right = dense.to_sparse(layout=layout), torch.randn(depth, columns)
    expected = pairs(dense, columns)
    assert flop(lambda: sparse @ right) == expected
    assert flop(lambda: torch.sparse.mm(sparse, right)) == expected
    assert flop(lambda: torch.addmm(torch.randn(rows, columns), sparse, right)) == expected
    assert flop(lambda: sparse @ right[:, 0]) == pairs(dense, 1)


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr], ids=str)
def test_bytes_are_those_of_values_and_their_places(layout: Any, count: Callable[..., Counted]) -> None:
    """An identity of 4 rows: values and places of each (a block's are 2 x 2), and where each row begins."""
    blocks = {"blocksize": (2, 2)} if layout is torch.sparse_bsr else {}
    sparse, right = torch.eye(4).to_sparse(layout=layout, **blocks), torch.randn(4, 3)
    stored = 8 * 4 + 2 * 8 + 3 * 8 if blocks else 4 * 4 + 4 * 8 + 5 * 8
    assert count(lambda: sparse @ right).work.byte_high_per_step == stored + 2 * 48


def test_sparse_gradients_take_what_they_store(count: Callable[..., Counted]) -> None:
    """Each row of the table that was looked up, with its place."""
    table = nn.Embedding(1000, 16, sparse=True)

    def step() -> None:
        table.zero_grad()
        table(torch.tensor([3, 5, 7])).sum().backward()

    assert count(step, model=table).work.gradient_byte == 3 * (64 + 8)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_inference_counts_alike(layout: Any, count: Callable[..., Counted]) -> None:
    """There what is composed of others reaches whoever watches undivided, and is taken apart for sparse tensors too."""
    dense = some(4, 5, 3)
    sparse, right = dense.to_sparse(layout=layout), torch.randn(5, 6)

    def step() -> None:
        with torch.inference_mode():
            torch.sparse.mm(sparse, right)
            sparse @ right
            sparse @ right[:, 0]
            torch.addmm(torch.randn(4, 6), sparse, right)

    counted = count(step)
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == 3 * pairs(dense, 6) + pairs(dense, 1)
    products = {"aten::mm", "aten::mv", "aten::addmm", "aten::_sparse_addmm"}
    assert {one.name for one in counted.operations if one.flop} <= products


def test_dense_times_sparse_and_only_the_results_asked_for() -> None:
    """From the other side each value meets rows. Of a dense product those count that have a place in the sparse one."""
    dense = some(4, 5, 3)
    sparse, left = dense.to_sparse_csr(), torch.randn(7, 4)
    assert flop(lambda: left @ sparse) == pairs(dense, 7)
    assert flop(lambda: torch.sparse.sampled_addmm(sparse, torch.randn(4, 6), torch.randn(6, 5))) == pairs(dense, 6)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("inference", [True, False])
def test_two_sparse_matrices_are_named(inference: bool, layout: Any, count: Callable[..., Counted]) -> None:
    """Which values meet depends on where they stand."""
    sparse = some(4, 4, 3).to_sparse(layout=layout)

    def step() -> None:
        with torch.inference_mode(inference):
            sparse @ sparse

    work = count(step).work
    assert work.flop_per_step == 0
    assert [one.name for one in work.uncovered if "mm" in one.name]


def test_turning_into_sparse_is_no_arithmetic(count: Callable[..., Counted]) -> None:
    """Nor is turning back."""
    dense = some(4, 4, 3)
    work = count(lambda: (dense.to_sparse().to_dense(), dense.to_sparse_csr())).work
    assert work.other_flop_per_step == 0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_asking_what_a_tensor_is_like_is_no_arithmetic(count: Callable[..., Counted]) -> None:
    """Whether duplicates were added up already, or how large the parts of a nested tensor are."""
    sparse, nested = some(4, 4, 3).to_sparse(), torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    work = count(lambda: (sparse.is_coalesced(), nested._nested_tensor_size())).work
    assert (work.uncovered, work.other_flop_per_step) == ((), 0)
