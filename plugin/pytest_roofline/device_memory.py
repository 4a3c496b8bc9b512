"""A device's memory during the timed rounds: the peak measured, and the one predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofline.record import Memory

if TYPE_CHECKING:
    import torch


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
