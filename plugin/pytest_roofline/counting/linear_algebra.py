"""FLOPs of factorisations and solutions of linear systems: their textbook counts, the terms of the highest order.

Sources: G. H. Golub and C. F. Van Loan, Matrix Computations, and S. Blackford and J. Dongarra, Installation Guide for
LAPACK (LAPACK Working Note 41), whose appendix counts each routine. They stand in the column of other arithmetic: what
the literature calls a model's FLOPs are its matrix products and convolutions.

Only direct methods are here. Eigenvalues, singular values, and what is made of them (pseudo-inverse, least squares by
default, matrix exponential and roots), are found by iteration: how long depends on the data, so shapes don't tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from pytest_roofline.counting.calls import Call, tensors_in
from pytest_roofline.counting.costs import OtherOperation, entries, none, per_result
from pytest_roofline.counting.dtypes import COMPLEX_PRODUCT


def lu_flop(rows: int, columns: int) -> int:
    """LU with pivoting: 2/3 n³ where square."""
    long, short = max(rows, columns), min(rows, columns)
    return (3 * long * short**2 - short**3) // 3


def cholesky_flop(order: int) -> int:
    """Half of LU. LDL of a symmetric matrix costs as much."""
    return order**3 // 3


def householder_qr_flop(rows: int, columns: int) -> int:
    """R and the reflectors: 2 n² (m - n / 3) for m >= n."""
    long, short = max(rows, columns), min(rows, columns)
    return (6 * long * short**2 - 2 * short**3) // 3


def reflectors_flop(rows: int, columns: int, reflectors: int) -> int:
    """The first ``columns`` of the product of so many reflectors, as a matrix."""
    return 4 * rows * columns * reflectors - 2 * (rows + columns) * reflectors**2 + 4 * reflectors**3 // 3


def apply_reflectors_flop(across: int, other: int, reflectors: int) -> int:
    """Reflectors of length ``across`` applied to ``other`` vectors, one after the other."""
    return 2 * other * reflectors * (2 * across - reflectors)


def triangular_solve_flop(order: int, vectors: int) -> int:
    """n² for each right-hand side."""
    return order**2 * vectors


def _scaled(flop: Callable[[Call], int]) -> Callable[[Call], int]:
    """Complex numbers make four times the arithmetic, as in a product."""

    def counted(call: Call) -> int:
        return flop(call) * (COMPLEX_PRODUCT if call.inputs[0].is_complex() else 1)

    return counted


def _each(matrix: str, flop: Callable[[int, int], int]) -> Callable[[Call], int]:
    def counted(call: Call) -> int:
        *batch, rows, columns = call.shape(matrix)
        return prod(batch) * flop(rows, columns)

    return _scaled(counted)


def _square(flop: Callable[[int], int]) -> Callable[[int, int], int]:
    return lambda rows, _columns: flop(rows)


def _solved(matrix: str, sweeps: int) -> Callable[[Call], int]:
    """Each solution passes through one or two triangles."""

    def counted(call: Call) -> int:
        order = call.shape(matrix)[-1]
        unknowns = next(tensors_in(call.result)).numel()
        return sweeps * triangular_solve_flop(order, unknowns // order) if order else 0

    return _scaled(counted)


def _factorised_and_solved(call: Call) -> int:
    return _each("A", lu_flop)(call) + _solved("A", 2)(call)


def _qr(call: Call) -> int:
    *_, rows, columns = call.shape("A")
    short = min(rows, columns)
    made = {"reduced": short, "complete": rows, "r": 0}[call.arguments["mode"]]
    return _each("A", lambda m, n: householder_qr_flop(m, n) + (reflectors_flop(m, made, short) if made else 0))(call)


def _householder_product(call: Call) -> int:
    reflectors = call.shape("tau")[-1]
    return _each("input", lambda rows, columns: reflectors_flop(rows, columns, reflectors))(call)


def _apply_reflectors(call: Call) -> int:
    reflectors, left = call.shape("input2")[-1], call.arguments["left"]

    def flop(rows: int, columns: int) -> int:
        across, other = (rows, columns) if left else (columns, rows)
        return apply_reflectors_flop(across, other, reflectors)

    return _each("input3", flop)(call)


TABLE: Mapping[str, OtherOperation] = {
    **entries("other", _each("A", lu_flop), "linalg_lu linalg_lu_factor_ex _linalg_det _linalg_slogdet"),
    **entries("copy", none, "lu_unpack"),
    **entries("other", _each("A", _square(lambda n: 2 * n**3)), "linalg_inv_ex"),
    **entries("other", _each("self", _square(cholesky_flop)), "linalg_cholesky_ex cholesky linalg_ldl_factor_ex"),
    **entries("other", _each("self", _square(lambda n: 2 * n**3 // 3)), "cholesky_inverse"),
    **entries("other", _factorised_and_solved, "_linalg_solve_ex"),
    **entries("other", _solved("self", 1), "linalg_solve_triangular"),
    **entries("other", _solved("A", 1), "triangular_solve"),
    **entries("other", _solved("input2", 2), "cholesky_solve"),
    **entries("other", _solved("A", 2), "_cholesky_solve_helper"),
    **entries("other", _solved("LU", 2), "linalg_lu_solve"),
    **entries("other", _solved("LD", 2), "linalg_ldl_solve"),
    **entries("other", _each("self", householder_qr_flop), "geqrf"),
    **entries("other", _qr, "linalg_qr"),
    **entries("other", _householder_product, "linalg_householder_product"),
    **entries("other", _apply_reflectors, "ormqr"),
    **entries("elementwise", per_result(3), "linalg_cross"),
}
"""By name without namespace."""
