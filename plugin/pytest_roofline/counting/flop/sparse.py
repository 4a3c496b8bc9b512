"""FLOPs of products whose operands don't store every value: sparse matrices, and jagged tensors.

Of a sparse matrix each stored value meets a row or column of the dense one. A jagged tensor (a nested one in
``torch.jagged`` layout) has sequences of different lengths without their padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.flop import formulas

_COMPRESSED = frozenset({torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc})


def is_sparse(tensor: Tensor) -> bool:
    """Tell whether the tensor stores single values with their places, or blocks of them."""
    return tensor.layout is torch.sparse_coo or tensor.layout in _COMPRESSED


def _stored(matrix: Tensor) -> int:
    """Values stored: a zero among them is multiplied like any other, and so are all values of a block."""
    with _disable_current_modes():  # to ask is no operation of the step
        return (matrix._values() if matrix.layout is torch.sparse_coo else matrix.values()).numel()


def _product(left: str, right: str) -> Callable[[Call], int | None]:
    """Of a sparse and a dense matrix, in either order. With two sparse ones the work depends on where values stand."""

    def flop(call: Call) -> int | None:
        one, other = call.arguments[left], call.arguments[right]
        if is_sparse(one) and is_sparse(other):
            return None
        if is_sparse(one):
            return formulas.product_flop(_stored(one), other.shape[-1] if other.dim() > 1 else 1, 1)
        if is_sparse(other):
            return formulas.product_flop(_stored(other), one.shape[-2], 1)
        return None

    return flop


def _sampled(call: Call) -> int | None:
    """Of a dense product only those results that have a place in the sparse matrix."""
    return formulas.product_flop(_stored(call.arguments["self"]), 1, call.shape("mat1")[-1])


FLOP: Mapping[str, Callable[[Call], int | None]] = {
    "aten::mm": _product("self", "mat2"),
    "aten::bmm": _product("self", "mat2"),
    "aten::mv": _product("self", "vec"),
    "aten::addmm": _product("mat1", "mat2"),
    "aten::addmm_": _product("mat1", "mat2"),
    "aten::_sparse_addmm": _product("mat1", "mat2"),
    "aten::_sparse_mm_reduce_impl": _product("self", "other"),
    "aten::sparse_sampled_addmm": _sampled,
}
"""FLOPs of one call some of whose operands are sparse, by qualified name; None where the number of values doesn't tell.
"""


_ROW_BY_ROW = frozenset({"aten::linear", "aten::linear_backward"})
"""Operations to which it doesn't matter which sequence a row belongs to."""


def packed(call: Call) -> Call:
    """The call as if made with the rows of all sequences in one tensor, where that is the same work; else itself."""
    if call.name not in _ROW_BY_ROW or not any(_is_jagged(tensor) for tensor in (*call.inputs, *call.outputs)):
        return call
    arguments: Mapping[str, Any] = {name: _rows(value) for name, value in call.arguments.items()}
    return replace(call, arguments=arguments, result=_rows(call.result))


def _rows(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_rows, value))
    return value._values if _is_jagged(value) else value


def _is_jagged(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout is torch.jagged
