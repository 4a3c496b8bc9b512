"""One dispatched operation: its arguments by name, its dtype, and what its shapes look like as text.

A `Call` lives only while the operation is being counted: it is the one place where tensors are held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, OpOverload
from torch.utils._python_dispatch import _disable_current_modes


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
        """Name what the operation produced: its results, or what it changed where it returns nothing."""
        return self.outputs or self.changed


def bind(func: OpOverload[Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], result: object) -> Call:
    """Give the arguments of one dispatch their names."""
    arguments = {}
    for position, (name, default) in enumerate(_parameters(func)):
        arguments[name] = args[position] if position < len(args) else kwargs.get(name, default)
    return Call(name=func._schema.name, arguments=arguments, result=result, **_schema_facts(func))


def bind_higher_order(
    func: HigherOrderOperator, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: object
) -> Call:
    """The same of a higher-order operator. It has no schema; its Python signature names the arguments."""
    arguments = signature(func).bind(*args, **kwargs).arguments
    nothing = frozenset[str]()
    return Call(name=func.name(), arguments=arguments, written=nothing, out=nothing, metadata_only=False, result=result)


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


def has_storage(tensor: Tensor) -> bool:
    """Sparse and opaque (oneDNN) tensors keep their data where no storage shows it."""
    return tensor.layout is torch.strided


def held_in(value: object) -> Iterator[Tensor]:
    """The strided tensors that hold the data of the tensors in ``value``.

    Of a sparse tensor those are its values, then their places; of a jagged one its rows, then where each sequence
    begins. An opaque one (oneDNN's) stands for itself: nothing shows what holds its data.
    """
    for tensor in tensors_in(value):
        yield from (tensor,) if has_storage(tensor) else _parts(tensor)


def _parts(tensor: Tensor) -> tuple[Tensor, ...]:
    with _disable_current_modes():  # to ask is no operation of the step
        if tensor.layout is torch.sparse_coo:
            return tensor._values(), tensor._indices()
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
            return tensor.values(), tensor.crow_indices(), tensor.col_indices()
        if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
            return tensor.values(), tensor.ccol_indices(), tensor.row_indices()
        if tensor.layout is torch.jagged:
            return tensor._values, tensor._offsets  # type: ignore[attr-defined,return-value]
    return (tensor,)


def is_dense(tensor: Tensor) -> bool:
    """Tell whether the tensor is an ordinary strided one: its shape and storage say what work and traffic it means."""
    return tensor.layout is torch.strided and not tensor.is_nested


_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0}
"""Arguments of convolutions and poolings that are recorded where they are not this."""


def shape_text(call: Call) -> str:
    """Shapes of the tensor arguments in their order, and the settings of a convolution or pooling that change its work.

    ``32x64x56x56, 64x64x3x3, padding 1`` is a convolution; a list is summed up: ``161 tensors of 25557032``. Without
    tensor arguments the shape of the result stands there.
    """
    tensors = [text for value in call.arguments.values() if (text := _text(value))]
    return ", ".join((*(tensors or [_text(call.result)]), *_settings(call)))


def _settings(call: Call) -> Iterator[str]:
    if "kernel_size" in call.arguments:
        yield f"kernel {_number(call.arguments['kernel_size'])}"
    for name, default in _DEFAULTS.items():
        value = call.arguments.get(name)
        if isinstance(value, int | list | tuple) and value not in ([], ()) and all_alike(value) != default:
            yield f"{name} {_number(value)}"
    if call.arguments.get("transposed") is True:
        yield "transposed"
    if "output_mask" in call.arguments:
        wanted = zip(("input", "weight"), call.arguments["output_mask"][:2], strict=True)
        yield "gradient of " + " and ".join(name for name, asked in wanted if asked)


def _text(value: object) -> str:
    """Empty where ``value`` holds no tensor."""
    if isinstance(value, Tensor):
        return "nested" if value.is_nested else "x".join(map(str, value.shape)) or "scalar"
    tensors = list(tensors_in(value))
    if not tensors:
        return ""
    if len(tensors) == 1:
        return _text(tensors[0])
    return f"{len(tensors)} tensors of {sum(tensor.numel() for tensor in tensors)}"


def all_alike(value: object) -> object:
    """The number all of a sequence are, else the sequence."""
    if isinstance(value, Sequence) and len(set(value)) == 1:
        return value[0]
    return value


def _number(value: object) -> str:
    single = all_alike(value)
    return "x".join(map(str, single)) if isinstance(single, Sequence) else str(single)


_NAMES = {
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.complex32: "fp16",
    torch.complex64: "fp32",
    torch.complex128: "fp64",
    torch.float8_e4m3fn: "fp8",
    torch.float8_e5m2: "fp8",
    torch.float8_e4m3fnuz: "fp8",
    torch.float8_e5m2fnuz: "fp8",
    torch.float4_e2m1fn_x2: "fp4",
}


def dtype_name(dtype: torch.dtype) -> str:
    """``fp32``, ``bf16``, …; complex numbers go by their parts, others by torch's own name (``int64``)."""
    return _NAMES.get(dtype, str(dtype).removeprefix("torch."))
