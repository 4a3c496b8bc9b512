"""Tell which device was asked for, and whether it can be used.

Everybody's pytest imports this module, so it loads torch only where it is called.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Kind = Literal["cpu", "cuda", "mps"]

KINDS: tuple[Kind, ...] = ("cpu", "cuda", "mps")


class DeviceError(RuntimeError):
    """The device asked for can't be used. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: a kind, or None for the best device present, and an index where one was given."""

    kind: Kind | None
    index: int | None = None

    def __str__(self) -> str:
        return (self.kind or "auto") + ("" if self.index is None else f":{self.index}")


def parse(text: str) -> Wanted:
    """Read ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.

    :raises ValueError: anything else; the text says what is allowed.
    """
    name, colon, number = text.strip().lower().partition(":")
    if name == "auto" and not colon:
        return Wanted(None)
    for kind in KINDS:
        if name == kind and not colon:
            return Wanted(kind)
    if name == "cuda" and re.fullmatch("[0-9]{1,4}", number):
        return Wanted("cuda", int(number))
    raise ValueError("use auto, cpu, cuda, cuda:N or mps")


def kind_of(wanted: Wanted) -> Kind:
    """The kind a run will use, without insisting that it works (so that collecting works anywhere)."""
    if wanted.kind is not None:
        return wanted.kind
    import torch

    if torch.cuda.is_available() and torch.cuda.device_count() > 0:
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def select(wanted: Wanted, *, tried: bool = True) -> torch.device:
    """The device to run on, tried with one allocation.

    :param tried: False leaves its memory alone.
    :raises DeviceError: it can't be used, with the reason.
    """
    import torch

    kind = kind_of(wanted)
    if kind == "cpu":
        return torch.device("cpu")
    device = _select_cuda(wanted.index) if kind == "cuda" else _select_mps()
    if not tried:
        return device
    try:
        torch.zeros(1, device=device)
        torch.accelerator.synchronize(device)
    except RuntimeError as error:
        raise DeviceError(f"{device} is there, but a first allocation on it failed: {_first_line(error)}") from error
    return device


def _select_cuda(index: int | None) -> torch.device:
    import torch

    if not torch.backends.cuda.is_built():
        raise DeviceError(
            f"this torch ({torch.__version__}) was built without CUDA. "
            "Install a CUDA build of torch, or choose the cpu."
        )
    count = torch.cuda.device_count()
    if count == 0:
        raise DeviceError(_why_no_cuda())
    chosen = index if index is not None else 0
    if chosen >= count:
        raise DeviceError(
            f"cuda:{chosen} was asked for, but only {count} CUDA device(s) are visible (cuda:0 to cuda:{count - 1})."
        )
    return torch.device("cuda", chosen)


def _why_no_cuda() -> str:
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        torch.cuda.init()
        reason = "CUDA starts, but counts no device"
    except (RuntimeError, AssertionError) as error:
        reason = _first_line(error)
    if "driver" in reason.lower():
        return f"no usable NVIDIA driver on this machine ({reason}). Install one, or choose the cpu."
    hidden = f" CUDA_VISIBLE_DEVICES is {visible!r}: set it to the device's number." if visible is not None else ""
    return f"no CUDA device is visible ({reason}).{hidden} Check nvidia-smi, or choose the cpu."


def _select_mps() -> torch.device:
    import torch

    if not torch.backends.mps.is_built():
        raise DeviceError(
            f"this torch ({torch.__version__}) was built without MPS, which exists on macOS only. Choose the cpu."
        )
    if not torch.backends.mps.is_available():
        raise DeviceError("MPS needs an Apple GPU and macOS 14 or newer; this machine has none. Choose the cpu.")
    return torch.device("mps")


def _first_line(error: BaseException) -> str:
    """The first sentence of an error: torch goes on with where to download what."""
    text = str(error).strip()
    return text.splitlines()[0].partition(". ")[0].rstrip(".") if text else type(error).__name__
