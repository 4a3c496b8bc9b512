"""The kernels of one step, as torch's profiler names them. A pass of its own: nothing is timed under it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def kernel_names(step: Callable[[], object], device: torch.device) -> tuple[str, ...] | None:
    """Names of the kernels one step launches, in order; copies and fills are none.

    None where the profiler doesn't tell them: on other devices, beside another profiler, and where its CUPTI is missing
    or not permitted, as a kernel of our own shows.
    """
    if device.type != "cuda":
        return None
    import torch

    from pytest_roofline.profilers.kineto.recording import ProfilerBusyError, record

    turns = iter((partial(torch.ones, 1, device=device), step))

    def take() -> None:
        next(turns)()

    try:
        probe, taken = record(take, device, clock=perf_counter, enough=lambda walls: len(walls) == 2)
    except ProfilerBusyError:
        return None
    if not probe.kernels:
        return None
    return tuple(kernel.name for kernel in taken.kernels if not kernel.name.startswith(("Memcpy", "Memset")))
