"""Torch's switches (precision, cuDNN, determinism, NVTX, CUDA's profiler): set for a while, and put back after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from pytest_roofline.options import Options
from pytest_roofline.workload import precision as precisions

if TYPE_CHECKING:
    import torch


@contextmanager
def conditions(precision: precisions.Precision, options: Options, device: torch.device, case: str) -> Iterator[None]:
    """torch's switches as the case and the options ask, and put back after."""
    with ExitStack() as stack:
        stack.enter_context(precisions.applied(precision))
        if options.cudnn_benchmark:
            stack.enter_context(_cudnn_benchmark())
        if options.deterministic:
            stack.enter_context(_deterministic())
        if options.nvtx and device.type == "cuda":
            stack.enter_context(nvtx_range(case))
        yield


@contextmanager
def _cudnn_benchmark() -> Iterator[None]:
    import torch

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def _deterministic() -> Iterator[None]:
    import torch

    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)


@contextmanager
def nvtx_range(name: str) -> Iterator[None]:
    """An NVTX range of exactly this name, ended after an error, too. `torch.cuda.nvtx.range` takes braces for fields of
    a format, and names of cases may have some.
    """
    import torch

    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


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
