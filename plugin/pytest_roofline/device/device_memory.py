"""A device's memory: what is free, what is given back between cases, its peak, and errors for want of it."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_roofline.device import cgroup
from roofline.schema.record import Memory

if TYPE_CHECKING:
    import torch


def release(device: torch.device) -> None:
    """Give the device back what no test holds any more, and let the next peak be that of what follows.

    Done before a case is built: what the one before leaves, in cycles or in the allocator's cache, would count as its
    peak, and may be the memory that it lacks.
    """
    import torch

    # The last failure's frames hold whatever its test had; pytest forgets them only once the next test is set up.
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        with suppress(AttributeError):
            delattr(sys, name)
    gc.unfreeze()
    gc.collect()
    # What is alive now is set aside until the case is measured, whose own collections are short then.
    gc.freeze()
    if device.type != "cpu":
        torch.get_device_module(device).empty_cache()
    reset_peak(device)


def free_byte(device: torch.device) -> int | None:
    """The most memory that a case can get on the device, swap of the host with it; None where nobody tells.

    Unified memory, and drivers that lend the host's, give more than they say is free.
    """
    import torch

    if device.type == "cpu":
        import psutil

        available = int(psutil.virtual_memory().available)
        room = cgroup.memory_room_byte()
        return int(psutil.swap_memory().free) + (available if room is None else min(available, room))
    if device.type != "cuda" or sys.platform == "win32":
        return None
    if torch.cuda.get_device_properties(device).is_integrated:
        return None
    return int(torch.cuda.mem_get_info(device)[0])


_ALLOCATORS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUDA error: out of memory",
    "MPS backend out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)
"""How allocators and libraries say it whose error has no type of its own."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether it was raised for want of memory, of the host or of the device."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _ALLOCATORS)


def reset_peak(device: torch.device) -> None:
    """Let the next peak be that of what follows."""
    import torch

    if device.type == "cuda":
        torch.accelerator.reset_peak_memory_stats(device)


def peak_memory(device: torch.device, total_byte: int | None) -> tuple[Memory, dict[str, str]]:
    """Read what the allocator gave out at most since `reset_peak`; also why values are missing, by path in the record.

    :param total_byte: memory of the device, where it is known.
    """
    import torch

    if device.type != "cuda":
        why = f"torch keeps no peak of {device.type} memory"
        missing = {"memory.peak_allocated_byte": why, "memory.peak_reserved_byte": why}
        if total_byte is None:
            missing["memory.device_total_byte"] = f"the memory of this {device.type} is not known"
        return Memory(device_total_byte=total_byte), missing
    return (
        Memory(
            peak_allocated_byte=torch.accelerator.max_memory_allocated(device),
            peak_reserved_byte=torch.accelerator.max_memory_reserved(device),
            device_total_byte=torch.cuda.get_device_properties(device).total_memory,
        ),
        {},
    )
