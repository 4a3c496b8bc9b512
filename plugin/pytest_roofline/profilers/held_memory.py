"""Device memory that this process holds while another one is to have the device."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def release(device: torch.device) -> int | None:
    """Give back what can be given back after a test.

    :returns: what this process still holds in bytes, its CUDA context with it where NVML tells that; None elsewhere
        than on CUDA.
    """
    # The last failure's frames hold whatever its test had; pytest forgets them when the next test begins.
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        with suppress(AttributeError):
            delattr(sys, name)
    gc.collect()
    if device.type != "cuda":
        return None
    import torch

    torch.cuda.empty_cache()
    by_driver = _by_driver(device)
    return torch.cuda.memory_reserved(device) if by_driver is None else by_driver


def _by_driver(device: torch.device) -> int | None:
    """What NVML says that this process has on the device; None where it doesn't: in a container a process's number is
    another one outside, and Windows keeps the memory of processes to itself.
    """
    import torch

    try:
        import pynvml  # nvidia-ml-py
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        uuid = torch.cuda.get_device_properties(device).uuid
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
        found = [one for one in pynvml.nvmlDeviceGetComputeRunningProcesses(handle) if one.pid == os.getpid()]
    except pynvml.NVMLError:
        return None
    return next((int(one.usedGpuMemory) for one in found if one.usedGpuMemory is not None), None)
