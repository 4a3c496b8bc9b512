"""Device memory that this process holds while another one is to have the device."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_roofline.device import memory as device_memory
from pytest_roofline.device import selection as devices
from pytest_roofline.device.nvml import NoNvml

if TYPE_CHECKING:
    import torch


_NOT_TOLD = "NVML has no figure of this process: in a container it has another number, and Windows keeps it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Memory on a device that this process holds, its CUDA context with it.

    :param why: there is no figure, where ``byte`` is None.
    """

    byte: int | None = None
    why: str | None = None


def release(device: torch.device) -> Held:
    """Give back what can be given back after a test.

    What is left is what NVML tells of this process. The allocator's own figure is no stand-in: it leaves the context
    out, and would be 0.
    """
    device_memory.release(device)
    if device.type != "cuda":
        return Held(why=f"not read for {device.type}")
    try:
        nvml = devices.nvml_of(device)
    except NoNvml as error:
        return Held(why=str(error))
    byte = nvml.process_byte(os.getpid())
    if byte is None:
        return Held(why=nvml.missing.get("process_byte", _NOT_TOLD))
    return Held(byte=byte)
