"""Jagged tensors (nested ones in ``torch.jagged`` layout): sequences of different lengths without their padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from pytest_roofline.counting.calls import Call

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
