"""A device's memory: given back between cases, and its peak during the timed rounds."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from roofline.record import Memory

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
    gc.collect()
    if device.type != "cpu":
        torch.get_device_module(device).empty_cache()
    reset_peak(device)


def reset_peak(device: torch.device) -> None:
    """Let the next peak be that of what follows."""
    import torch

    if device.type == "cuda":
        torch.accelerator.reset_peak_memory_stats(device)


def peak_memory(device: torch.device, total_byte: int | None) -> tuple[Memory, dict[str, str]]:
    """What the allocator gave out at most since `reset_peak`, and why a value is missing, by its path in the record.

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
