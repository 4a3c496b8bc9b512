"""The precisions a case can ask for, what each means, and which a device can run natively.

``fp32`` is IEEE single precision (TF32 off), ``tf32`` its own precision, and ``torch_default`` whatever torch does
unasked: on NVIDIA Ampere and later convolutions run in TF32 and matrix products in fp32.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_roofline.device.host import cpu_instructions, cpu_name

if TYPE_CHECKING:
    import torch

    from pytest_roofline.counting.flop.matrix_operations import Tf32

Fp32Mode = Literal["ieee", "tf32"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """One precision.

    :param computes_in: the compute dtypes (as the record names them) its matrix operations may run in.
    :param parameters: dtype of parameters and inputs, as torch names it.
    :param autocast: dtype of autocast, or None.
    :param fp32_mode: how float32 operations compute; None leaves torch's own setting.
    :param other_share: share of the matrix FLOPs that may run in another dtype.
    """

    name: str
    computes_in: frozenset[str]
    parameters: str = "float32"
    autocast: str | None = None
    fp32_mode: Fp32Mode | None = "ieee"
    other_share: float = 0.0


_UPCAST = 0.05
"""torch itself computes parts of a 16-bit model in fp32: attention with dropout on a CPU, 2.7 % of BERT's FLOPs."""

PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision(name="fp32", computes_in=frozenset({"fp32"})),
        Precision(name="tf32", computes_in=frozenset({"tf32"}), fp32_mode="tf32"),
        Precision(name="torch_default", computes_in=frozenset({"fp32", "tf32"}), fp32_mode=None),
        # Autocast leaves no matrix product in fp32; what float32 operations remain must not run in TF32 unseen.
        Precision(name="amp_bf16", computes_in=frozenset({"bf16"}), autocast="bfloat16", other_share=_UPCAST),
        Precision(name="amp_fp16", computes_in=frozenset({"fp16"}), autocast="float16", other_share=_UPCAST),
        Precision(name="bf16", computes_in=frozenset({"bf16"}), parameters="bfloat16", other_share=_UPCAST),
        Precision(name="fp16", computes_in=frozenset({"fp16"}), parameters="float16", other_share=_UPCAST),
    )
}


def unsupported(precision: Precision, device: torch.device) -> str | None:
    """Tell why the device can't run the precision natively, or None if it can."""
    dtypes = {precision.parameters, precision.autocast} - {None, "float32"}
    if precision.fp32_mode == "tf32":
        dtypes.add("tf32")
    for dtype in sorted(str(dtype) for dtype in dtypes):
        reason = _REASONS[device.type](dtype, device)
        if reason:
            return f"{precision.name} is not native on {device}: {reason}"
    return None


def _cpu_reason(dtype: str, _device: torch.device) -> str | None:
    if dtype == "tf32":
        return "a CPU has no TF32"
    wanted = {
        "bfloat16": ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16", "svebf16"),
        "float16": ("avx512_fp16", "amx_fp16", "fp16_arith", "fp16", "asimdhp"),
    }[dtype]
    if not cpu_instructions().isdisjoint(wanted):
        return None
    return f"this CPU ({cpu_name()}) has no {dtype} instructions"


def _cuda_reason(dtype: str, device: torch.device) -> str | None:
    import torch

    major, minor = torch.cuda.get_device_capability(device)
    needed = {"tf32": (8, 0), "bfloat16": (8, 0), "float16": (5, 3)}[dtype]
    if torch.version.hip or (major, minor) >= needed:
        return None
    return f"it needs compute capability {needed[0]}.{needed[1]}, this device has {major}.{minor}"


def _mps_reason(dtype: str, _device: torch.device) -> str | None:
    import torch

    if dtype == "tf32":
        return "Apple GPUs have no TF32"
    if dtype == "bfloat16" and not torch.backends.mps.is_macos_or_newer(14, 0):
        return "it needs macOS 14"
    return None


_REASONS = {"cpu": _cpu_reason, "cuda": _cuda_reason, "mps": _mps_reason}


def parameter_dtype(precision: Precision) -> torch.dtype:
    import torch

    dtype: torch.dtype = getattr(torch, precision.parameters)
    return dtype


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """A context for one forward pass, to be entered again for each."""
    import torch

    if precision.autocast is None:
        return nullcontext()
    return torch.autocast(device.type, dtype=getattr(torch, precision.autocast))


def needs_scaler(precision: Precision, device: torch.device) -> bool:
    """Gradient scaling is for fp16 autocast on CUDA; bf16 has fp32's range, and CPU and MPS train without."""
    return precision.autocast == "float16" and device.type == "cuda"


def tf32_in_use(device: torch.device) -> Tf32:
    """Tell how torch's switches stand now, for the device."""
    import torch

    from pytest_roofline.counting.flop.matrix_operations import Tf32

    if device.type != "cuda" or torch.version.hip or torch.cuda.get_device_capability(device) < (8, 0):
        return Tf32()
    return Tf32(
        matmul=_switch("cuda", "matmul").fp32_precision == "tf32",
        convolution=_switch("cudnn", "conv").fp32_precision == "tf32",
    )


@contextmanager
def applied(precision: Precision) -> Iterator[None]:
    """torch's float32 switches set for the precision, and put back after."""
    if precision.fp32_mode is None:
        yield
        return
    wanted = [
        (_switch(*name), precision.fp32_mode) for name in (("cuda", "matmul"), ("cudnn", "conv"), ("cudnn", "rnn"))
    ]
    # A CPU has no TF32, and oneDNN's other fast modes are not asked for: it stays IEEE.
    wanted += [(_switch("mkldnn", name), "ieee") for name in ("matmul", "conv", "rnn")]
    before = [switch.fp32_precision for switch, _ in wanted]
    try:
        for switch, value in wanted:
            switch.fp32_precision = value
        yield
    finally:
        for (switch, _), value in zip(wanted, before, strict=True):
            switch.fp32_precision = value


def _switch(backend: str, operation: str) -> Any:
    """The object of ``torch.backends`` whose ``fp32_precision`` governs an operation; torch annotates some only."""
    import torch

    return getattr(getattr(torch.backends, backend), operation)
