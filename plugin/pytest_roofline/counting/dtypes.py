"""The dtype an operation computed in, by the names the records use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

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

COMPLEX_PRODUCT = 4
"""A product of complex numbers is four real multiply-accumulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tf32:
    """torch's two TF32 switches as they stood while the step ran. They act on CUDA devices only."""

    matmul: bool = False
    convolution: bool = False

    def applies(self, tensor: Tensor, switch: Literal["matmul", "convolution"] | None) -> bool:
        """Whether an operation on ``tensor`` that ``switch`` governs computes in TF32."""
        if switch is None or tensor.dtype not in (torch.float32, torch.complex64) or tensor.device.type != "cuda":
            return False
        return self.matmul if switch == "matmul" else self.convolution


def dtype_name(dtype: torch.dtype) -> str:
    """``fp32``, ``bf16``, …; complex numbers go by their parts, others by torch's own name (``int64``)."""
    return _NAMES.get(dtype, str(dtype).removeprefix("torch."))
