"""Device memory that this process holds while another one is to have the device."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_roofline import devices
from pytest_roofline.nvml import NoNvml

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
    by_driver = None
    with suppress(NoNvml):
        by_driver = devices.nvml_of(device).process_byte(os.getpid())
    return torch.cuda.memory_reserved(device) if by_driver is None else by_driver
