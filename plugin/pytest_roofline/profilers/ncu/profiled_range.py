"""The stretch of a program that ncu and nsys look at, where they don't look from the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_roofline.workload.switches import nvtx_range

if TYPE_CHECKING:
    import torch


@contextmanager
def profiled_range(device: torch.device, name: str) -> Iterator[None]:
    """cudaProfilerStart, an NVTX range of this name, and the end of all work in it before cudaProfilerStop.

    What was launched before has ended when it begins. Elsewhere than on CUDA there is no such switch: nothing happens.
    """
    if device.type != "cuda":
        yield
        return
    import torch

    torch.cuda.synchronize(device)
    torch.cuda.profiler.start()
    try:
        with nvtx_range(name):
            yield
            torch.cuda.synchronize(device)
    finally:
        torch.cuda.profiler.stop()
