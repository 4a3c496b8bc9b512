"""Building blocks of the tables that tell what an operation without matrix arithmetic costs.

The convention: one FLOP per result of an elementary real function (add, multiply, divide, compare, exp, tanh, …) that
the operation's definition needs for an element, whatever instructions a kernel makes of it. Moving and converting data
is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_roofline.counting.calls import Call, tensors_in

Kind = Literal[
    "matmul",
    "convolution",
    "attention",
    "rnn",
    "normalisation",
    "elementwise",
    "reduction",
    "pooling",
    "softmax",
    "optimizer",
    "copy",
    "indexing",
    "other",
]
"""The closed set of kinds of operations."""

Flop = Callable[[Call], int | None]
"""FLOPs of one call; None where its shapes and settings don't tell."""


@dataclass(frozen=True, slots=True)
class OtherOperation:
    """An operation without matrix arithmetic."""

    kind: Kind
    flop: Flop


def entries(kind: Kind, flop: Flop, names: str) -> dict[str, OtherOperation]:
    """Operations that cost alike; ``names`` without namespace, separated by blanks."""
    return dict.fromkeys(names.split(), OtherOperation(kind, flop))


def elements(tensors: Iterable[object]) -> int:
    """Elements of all tensors together."""
    return sum(tensor.numel() for tensor in tensors_in(tuple(tensors)) if not tensor.is_nested)


def none(call: Call) -> int:  # noqa: ARG001
    """No arithmetic."""
    return 0


def per_result(flop: int) -> Callable[[Call], int]:
    """``flop`` for each element of what the operation produces; of several results the first has the elements."""
    return lambda call: flop * call.targets[0].numel()


def per_changed(flop: int) -> Callable[[Call], int]:
    """``flop`` for each element of all that the operation produces or changes."""
    return lambda call: flop * elements(call.targets)


def per_input(flop: int, argument: str | None = None) -> Callable[[Call], int]:
    """``flop`` for each element of ``argument``, a tensor or a list of them; None: of the first that has tensors."""

    def counted(call: Call) -> int:
        given = call.arguments.values() if argument is None else [call.arguments[argument]]
        return flop * next((elements(tensors) for value in given if (tensors := list(tensors_in(value)))), 0)

    return counted
