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

    :returns: what this process still holds in bytes, its CUDA context with it; None where NVML doesn't tell that of
        this process, as in containers, whose processes it knows by other numbers. The allocator's own figure is no
        stand-in: it leaves the context out, and would be 0.
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
    try:
        return devices.nvml_of(device).process_byte(os.getpid())
    except NoNvml:
        return None
