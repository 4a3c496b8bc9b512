"""One dispatched operation with its arguments by name.

A `Call` lives only while the operation is being counted: it is the one place where tensors are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A dispatched operation.

    ``name`` is qualified and without overload (``aten::addmm``), as the profiler prints it. ``arguments`` maps every
    name of the operation's schema to the value given or its default; ``written`` names those it writes into, ``out``
    those of them that only receive a result (``out=``). ``metadata_only``: by its schema it makes a view, or changes
    how a tensor looks at its memory.
    """

    name: str
    arguments: Mapping[str, Any]
    written: frozenset[str]
    out: frozenset[str]
    metadata_only: bool
    result: Any

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of the tensor argument ``name``."""
        return tuple(self.arguments[name].shape)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the result, or of the first of several."""
        return tuple(next(tensors_in(self.result)).shape)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """All tensor arguments in the schema's order, lists flattened."""
        return tuple(tensors_in(tuple(self.arguments.values())))

    @property
    def changed(self) -> tuple[Tensor, ...]:
        """Tensor arguments that are written into."""
        return tuple(tensors_in(tuple(self.arguments[name] for name in self.arguments if name in self.written)))

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Tensors returned. In-place operations return what they changed."""
        return tuple(tensors_in(self.result))

    @property
    def targets(self) -> tuple[Tensor, ...]:
        """What the operation produced: its results, or what it changed where it returns nothing."""
        return self.outputs or self.changed


def bind(func: OpOverload[Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], result: object) -> Call:
    """Give the arguments of one dispatch their names."""
    arguments = {}
    for position, (name, default) in enumerate(_parameters(func)):
        arguments[name] = args[position] if position < len(args) else kwargs.get(name, default)
    return Call(name=func._schema.name, arguments=arguments, result=result, **_schema_facts(func))


def tensors_in(value: object) -> Iterator[Tensor]:
    """The tensors in ``value``: a tensor, or sequences of tensors to any depth."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


@cache
def _parameters(func: OpOverload[Any, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (argument.name, argument.default_value if argument.has_default_value() else None)
        for argument in func._schema.arguments
    )


@cache
def _schema_facts(func: OpOverload[Any, Any]) -> dict[str, Any]:
    changed = [a for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    return {
        "written": frozenset(argument.name for argument in changed),
        "out": frozenset(argument.name for argument in changed if argument.kwarg_only),
        "metadata_only": is_metadata_only(func),
    }


@cache
def is_metadata_only(func: OpOverload[Any, Any]) -> bool:
    """Whether, by its schema, it makes a view, or changes how a tensor looks at its memory."""
    return func.is_view or torch.Tag.inplace_view in func.tags


def is_dense(tensor: Tensor) -> bool:
    """Whether the tensor is an ordinary strided one: its shape and storage say what work and traffic it means."""
    return tensor.layout is torch.strided and not tensor.is_nested
