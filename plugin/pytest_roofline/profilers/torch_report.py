"""``python -m pytest_roofline.profilers.torch_report``: what torch is here and which devices it can use, as JSON.

In a process of its own: a broken torch may fail in any way, and end the process with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_roofline.device.selection import Wanted


def report() -> dict[str, Any]:
    """``torch`` and ``cuda`` are versions, the latter None for a build without it. Each of ``devices`` has its ``name``
    (``cuda:0``), and either what it is or the ``problem`` that it has; so has each of ``libraries`` that is installed.
    ``binding`` tells of CPUs that importing torch took from the main thread; None where it took none.
    """
    import torch

    from pytest_roofline.device import cpus
    from pytest_roofline.device.selection import Wanted
    from pytest_roofline.workload.models import libraries

    wanted = [Wanted("cpu")]
    if torch.version.cuda is not None:
        wanted += [Wanted("cuda", index) for index in range(max(1, torch.cuda.device_count()))]
    if torch.backends.mps.is_built():
        wanted.append(Wanted("mps"))
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


def _described(wanted: Wanted) -> dict[str, Any]:
    from pytest_roofline.device.host import describe_device
    from pytest_roofline.device.selection import DeviceError, select

    try:
        found = describe_device(select(wanted))
    except DeviceError as error:
        return {"problem": str(error)}
    return {
        "is": found.name,
        "memory_byte": found.memory_byte,
        "compute_capability": found.compute_capability,
    }


def main() -> None:
    """Print the report, or the first line of why torch can't be loaded and whether it is installed at all."""
    try:
        found = report()
    except Exception as error:  # noqa: BLE001 - a broken torch may raise anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        found = {"problem": problem, "installed": not missing}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
