"""Factorisations and solutions against loops through the textbook algorithms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.counting import count_step
from tests.plugin.counting.other_work import other

ORDER = 120
"""Large enough for the terms of the highest order to be nearly all."""

NEARLY = 0.03


def elimination(rows: int, columns: int) -> int:
    """LU: below each pivot a quotient, and for every element to the lower right a product and a difference."""
    return sum((rows - k - 1) * (1 + 2 * (columns - k - 1)) for k in range(min(rows, columns)))


def cholesky(order: int) -> int:
    """Column by column: each element on or below the diagonal takes the products with all columns before."""
    return sum(2 * column + 1 for column in range(order) for _ in range(column, order))


def substitution(order: int, vectors: int) -> int:
    """Row by row: products with what is known, their differences, and the quotient."""
    return vectors * sum(2 * row + 1 for row in range(order))


def reflect(length: int, columns: int) -> int:
    """A Householder reflection of columns: a product of vectors and an update for each."""
    return columns * 4 * length


def householder(rows: int, columns: int) -> int:
    """QR: each reflection is applied to what is left of the matrix."""
    return sum(reflect(rows - k, columns - k) for k in range(min(rows, columns)))


def orthogonal(rows: int, columns: int, reflectors: int) -> int:
    """The product of reflections, last one first: the k-th touches only what lies to the lower right."""
    return sum(reflect(rows - k, columns - k) for k in range(reflectors))


def matrix(rows: int, columns: int) -> Tensor:
    """Two of them; square ones are symmetric and positive definite."""
    return (torch.eye(rows) * 2 * rows + 1).repeat(2, 1, 1) if rows == columns else torch.rand(2, rows, columns)


SQUARE, TALL, WIDE, FEW = (ORDER, ORDER), (ORDER, 50), (50, ORDER), (ORDER, 7)

CASES: dict[str, tuple[Callable[..., object], list[tuple[int, int]], float]] = {
    "lu": (torch.linalg.lu_factor, [SQUARE], elimination(ORDER, ORDER)),
    "lu, tall": (torch.linalg.lu_factor, [TALL], elimination(ORDER, 50)),
    "lu, wide": (torch.linalg.lu, [WIDE], elimination(50, ORDER)),
    "determinant": (torch.linalg.det, [SQUARE], elimination(ORDER, ORDER)),
    "cholesky": (torch.linalg.cholesky, [SQUARE], cholesky(ORDER)),
    "ldl": (torch.linalg.ldl_factor, [SQUARE], cholesky(ORDER)),
    "triangular": (partial(torch.linalg.solve_triangular, upper=True), [SQUARE, FEW], substitution(ORDER, 7)),
    "solve": (torch.linalg.solve, [SQUARE, FEW], elimination(ORDER, ORDER) + 2 * substitution(ORDER, 7)),
    "solve, a vector": (
        lambda one, to: torch.linalg.solve(one, to[..., 0]),
        [SQUARE, FEW],
        elimination(ORDER, ORDER) + 2 * substitution(ORDER, 1),
    ),
    # A right-hand side for each column; of the first triangle what lies above a unit vector's 1 is skipped.
    "inverse": (
        torch.linalg.inv,
        [SQUARE],
        elimination(ORDER, ORDER) + sum(substitution(k, 1) for k in range(ORDER)) + substitution(ORDER, ORDER),
    ),
    "cholesky, solve": (lambda one, to: torch.cholesky_solve(to, one), [SQUARE, FEW], 2 * substitution(ORDER, 7)),
    "qr": (torch.linalg.qr, [TALL], householder(ORDER, 50) + orthogonal(ORDER, 50, 50)),
    "qr, complete": (
        partial(torch.linalg.qr, mode="complete"),
        [TALL],
        householder(ORDER, 50) + orthogonal(ORDER, ORDER, 50),
    ),
    "qr, only r": (partial(torch.linalg.qr, mode="r"), [TALL], householder(ORDER, 50)),
    "qr, wide": (torch.linalg.qr, [WIDE], householder(50, ORDER) + orthogonal(50, 50, 50)),
    "reflectors": (
        lambda one: torch.linalg.householder_product(one, one[:, 0, :40]),
        [TALL],
        orthogonal(ORDER, 50, 40),
    ),
    "reflections of the left": (
        lambda one, to: torch.ormqr(one[..., :40], one[:, 0, :40], to),
        [TALL, FEW],
        sum(reflect(ORDER - k, 7) for k in range(40)),
    ),
    "reflections of the right": (
        lambda one, to: torch.ormqr(one[..., :40], one[:, 0, :40], to.mT, left=False),
        [TALL, FEW],
        sum(reflect(ORDER - k, 7) for k in range(40)),
    ),
}
"""Function, shapes of what it is given, and FLOPs for each of the two."""


@pytest.mark.parametrize("name", CASES)
def test_leading_terms_are_those_of_the_algorithm(name: str) -> None:
    """What the loops do, to the terms of lower order."""
    function, shapes, expected = CASES[name]
    given = [matrix(*shape) for shape in shapes]
    assert other(lambda: function(*given)) == pytest.approx(2 * expected, rel=NEARLY)


def test_known_counts() -> None:
    """2/3 n³, 1/3 n³, 2 n³ and 4/3 n³, as everybody knows them."""
    one = torch.eye(30)
    assert other(lambda: torch.linalg.lu_factor(one)) == 2 * 30**3 // 3
    assert other(lambda: torch.linalg.cholesky_ex(one, check_errors=False)) == 30**3 // 3
    assert other(lambda: torch.linalg.inv_ex(one)) == 2 * 30**3
    assert other(lambda: torch.linalg.qr(one, "r")) == 4 * 30**3 // 3


def test_complex_numbers_make_four_times_the_arithmetic() -> None:
    """As in products."""
    real = torch.eye(6)
    assert other(lambda: torch.linalg.inv(real.cfloat())) == 4 * other(lambda: torch.linalg.inv(real))


@pytest.mark.parametrize("order", [0, 1])
def test_smallest(order: int) -> None:
    """Nothing to divide by."""
    assert other(lambda: torch.linalg.solve(torch.ones(order, order), torch.ones(order, 2))) >= 0


@pytest.mark.parametrize(
    "iterative",
    [torch.linalg.svd, torch.linalg.eigh, torch.linalg.eig, torch.linalg.pinv, torch.matrix_exp],
    ids=lambda function: function.__name__,
)
def test_iterations_are_named_not_guessed(iterative: Callable[[Tensor], object]) -> None:
    """How many there are depends on the data."""
    (named,) = count_step(lambda: iterative(torch.eye(4)), model=nn.Identity()).work.uncovered
    assert named.name.startswith("aten::")
