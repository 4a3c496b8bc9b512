"""``python -m pytest_roofline.profilers.torch_report``: what torch is here and which devices it can use, as JSON.

In a process of its own: a broken torch may fail in any way, and end the process with it.
"""

from __future__ import annotations

import json
from typing import Any

from pytest_roofline.device import cpus
from pytest_roofline.device import selection as devices
from pytest_roofline.workload.models import libraries


def report() -> dict[str, Any]:
    """``torch`` and ``cuda`` are versions, the latter None for a build without it. Each of ``devices`` has its ``name``
    (``cuda:0``), and either what it is or the ``problem`` that it has; so has each of ``libraries`` that is installed.
    ``binding`` tells of CPUs that importing torch took from the main thread; None where it took none.
    """
    import torch

    wanted = [devices.Wanted("cpu")]
    if torch.version.cuda is not None:
        wanted += [devices.Wanted("cuda", index) for index in range(max(1, torch.cuda.device_count()))]
    if torch.backends.mps.is_built():
        wanted.append(devices.Wanted("mps"))
    return {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "devices": [{"name": str(one), **_described(one)} for one in wanted],
        "binding": cpus.binding(),
        "libraries": [
            {"name": name, "version": libraries.version(name), "problem": libraries.broken(name)}
            for name in libraries.LIBRARIES
            if libraries.is_installed(name)
        ],
    }


def _described(wanted: devices.Wanted) -> dict[str, Any]:
    try:
        found = devices.describe(devices.select(wanted))
    except devices.DeviceError as error:
        return {"problem": str(error)}
    return {
        "is": found.name,
        "memory_byte": found.memory_byte,
        "compute_capability": found.compute_capability,
    }


if __name__ == "__main__":
    print(json.dumps(report()))
