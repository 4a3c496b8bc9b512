"""The kernels of one step, as torch's profiler names them. A pass of its own: nothing is timed under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def kernel_names(step: Callable[[], object], device: torch.device) -> tuple[str, ...] | None:
    """Names of the kernels one step launches, in order; None on a device whose kernels the profiler doesn't tell."""
    if device.type != "cuda":
        return None
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.accelerator.synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        torch.accelerator.synchronize(device)
    return tuple(
        event.name
        for event in profiler.events()
        if event.device_type.name == "CUDA" and not event.name.startswith(("Memcpy", "Memset"))
    )
