"""What one dispatched operation is and costs, put together from the tables and models of the other modules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensor

from pytest_roofline.counting.attention import CASTS_INSIDE
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.dtypes import COMPLEX_PRODUCT, Tf32, dtype_name
from pytest_roofline.counting.jagged import packed
from pytest_roofline.counting.kinds import MOVES, Kind, elementwise_flop, kind_of
from pytest_roofline.counting.matrix import MATRIX_OPERATIONS, MatrixOperation
from pytest_roofline.counting.shapes import may_run_as_winograd, shape_text
from pytest_roofline.counting.sparse import FLOP as SPARSE_FLOP
from pytest_roofline.counting.sparse import is_sparse
from pytest_roofline.counting.storages import has_storage
from pytest_roofline.counting.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One operation that was dispatched: plain values, no tensors.

    ``flop`` is matrix arithmetic; ``other_flop`` that of an operation without any, by the rule of `kinds`. None where
    nothing tells.
    """

    name: str
    kind: Kind
    dtype: str
    shape: str
    flop: int | None
    other_flop: int | None
    winograd: bool
    traffic: Traffic

    @property
    def uncovered(self) -> bool:
        """Whether it does arithmetic that isn't counted."""
        return self.flop is None or self.other_flop is None


def observe(
    call: Call,
    traffic: Traffic,
    *,
    tags: frozenset[torch.Tag],
    registered: Callable[[], int] | None,
    in_optimizer: bool,
    tf32: Tf32,
) -> Seen | None:
    """Describe a call that has at least one tensor; None if it neither computes nor moves anything.

    :param tags: torch's tags of the operation.
    :param registered: gives the FLOPs by the formula that somebody registered with `torch.utils.flop_counter`, if any.
    """
    operand = (call.inputs or call.outputs)[0]
    kind: Kind = "other"
    dtype = dtype_name(operand.dtype)
    flop: int | None = 0
    other_flop: int | None = 0
    winograd = False
    if matrix := MATRIX_OPERATIONS.get(call.name):
        kind = matrix.kind
        if _cast_inside(operand, call):
            operand = call.outputs[0]
            dtype = dtype_name(operand.dtype)
        elif _would_cast_inside(operand, call):
            dtype = dtype_name(torch.get_autocast_dtype(operand.device.type))
        dtype = "tf32" if tf32.applies(operand, matrix.switch) else dtype
        flop = _matrix_flop(packed(call), matrix)
        winograd = kind == "convolution" and may_run_as_winograd(call, dtype)
    elif registered:
        flop = registered()
    elif traffic.byte or not (call.metadata_only or _all_strided(call)):
        known = kind_of(call.name, pointwise=torch.Tag.pointwise in tags)
        kind = "optimizer" if in_optimizer else known or "other"
        dtype = dtype_name((*call.targets, operand)[0].dtype)
        if known not in MOVES and _has_real_arithmetic(call) and not (known is None and _is_question(call)):
            # Of sparse and opaque tensors no shape tells how much there is to compute with, if there is anything.
            other_flop = elementwise_flop(call) if known and _all_strided(call) else None
    if flop == 0 and other_flop == 0 and not traffic.byte:
        return None
    return Seen(
        name=call.name,
        kind=kind,
        dtype=dtype,
        shape=shape_text(call),
        flop=flop,
        other_flop=other_flop,
        winograd=winograd,
        traffic=traffic,
    )


def _cast_inside(operand: torch.Tensor, call: Call) -> bool:
    """Whether autocast cast what a fused operation is made of: it was given float32 and returns less."""
    halves = (torch.bfloat16, torch.float16)
    return operand.dtype == torch.float32 and bool(call.outputs) and call.outputs[0].dtype in halves


def _would_cast_inside(operand: torch.Tensor, call: Call) -> bool:
    """The same on fake tensors, whose fused layers call nothing in turn. To be asked while the operation runs."""
    fused = call.name in CASTS_INSIDE and operand.dtype == torch.float32
    return fused and isinstance(operand, FakeTensor) and torch.is_autocast_enabled(operand.device.type)


def _matrix_flop(call: Call, operation: MatrixOperation) -> int | None:
    """None for operands whose shape doesn't tell the work: nested ones where the formula can't, two sparse ones."""
    if any(map(is_sparse, call.inputs)):
        flop = SPARSE_FLOP[call.name](call) if call.name in SPARSE_FLOP else None
    elif all(_shape_tells(tensor, operation) for tensor in call.inputs):
        flop = operation.flop(call)
    else:
        return None
    return flop * COMPLEX_PRODUCT if flop is not None and call.inputs[0].is_complex() else flop


def _shape_tells(tensor: torch.Tensor, operation: MatrixOperation) -> bool:
    return (has_storage(tensor) or tensor.is_mkldnn) and (operation.takes_nested or not tensor.is_nested)


def _is_question(call: Call) -> bool:
    """Whether torch is only asked what a tensor is like (``is_coalesced``, ``sym_size``): no numbers come of it."""
    asked = call.name.startswith("aten::") and not call.targets
    return asked and not isinstance(call.result, float | complex)


def _all_strided(call: Call) -> bool:
    return all(has_storage(tensor) for tensor in (*call.inputs, *call.outputs))


def _has_real_arithmetic(call: Call) -> bool:
    """Whether floating-point numbers are involved: integers and booleans alone make no FLOP."""
    return any(tensor.is_floating_point() or tensor.is_complex() for tensor in (*call.inputs, *call.outputs))
