"""TF32 in a count on fake tensors, which lie on a CPU: what a device that has it would compute in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_roofline.counting.dtypes import Tf32
from pytest_roofline.counting.matrix import MATRIX_OPERATIONS
from pytest_roofline.workload.precision import Precision
from roofline.schema.record import Operation, Work


def switches(precision: Precision) -> Tf32:
    """torch's TF32 switches as a case of this precision finds them on a CUDA device that has TF32.

    Left alone (``torch_default``), torch allows it in cuDNN and not in cuBLAS: ``torch.backends.cudnn.allow_tf32`` and
    ``torch.backends.cuda.matmul.allow_tf32`` in "TensorFloat-32 (TF32) on Ampere (and later) devices" of torch's CUDA
    semantics.
    """
    if precision.fp32_mode is None:
        return Tf32(matmul=False, convolution=True)
    return Tf32(matmul=precision.fp32_mode == "tf32", convolution=precision.fp32_mode == "tf32")


def in_tf32(work: Work, operations: Iterable[Operation], tf32: Tf32) -> Work:
    """The work with those fp32 FLOPs as TF32 that a switch lets run in it: the rule that a measured step is counted by.

    :param operations: all that ``work`` is the sum of.
    """
    flop = sum(
        one.flop
        for one in operations
        if one.dtype == "fp32" and (known := MATRIX_OPERATIONS.get(one.name)) and _lets(tf32, known.switch)
    )
    by_dtype = dict(work.flop_by_dtype)
    by_dtype["fp32"] = by_dtype.get("fp32", 0.0) - flop
    by_dtype["tf32"] = by_dtype.get("tf32", 0.0) + flop
    return replace(work, flop_by_dtype={dtype: total for dtype, total in by_dtype.items() if total})


def _lets(tf32: Tf32, switch: str | None) -> bool:
    return switch is not None and (tf32.matmul if switch == "matmul" else tf32.convolution)
