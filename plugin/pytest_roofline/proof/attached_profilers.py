"""Flag what runs beside the timed steps and slows them: a profiler, or a torch mode of the test's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_roofline.device.system import INJECTION
from roofline.schema.record import Flag

_PROFILERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Nsight Systems", ("NSYS_PROFILING_SESSION_ID",)),
    (
        "Nsight Compute",
        (
            "NV_NSIGHT_INJECTION_PORT_BASE",
            "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
            "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
        ),
    ),
    ("nvprof", ("NVPROF_ID",)),
)
"""Profilers, and the variables that each gives to the program it starts (GROMACS looks at the same)."""

_LIBRARIES = {"libToolsInjection": "Nsight Systems", "libcuda-injection": "Nsight Compute"}
"""Whose library it is whose name begins so."""

_MAPS = Path("/proc/self/maps")


def profilers(environment: Mapping[str, str], maps: Path = _MAPS) -> tuple[Flag, ...]:
    """The invalid flag for a process that a profiler was started around, of its environment variables.

    Launches are traced or replayed there, one kernel after the other, and clocks may be held down: times are not the
    step's, and nothing may be compared with them. A library of which it isn't known whether it does that is taken for a
    profiler; one that CUDA has not loaded, as in a process that doesn't use CUDA, does nothing.

    :param maps: what is mapped into the process, as Linux lists it.
    """
    around = ((who, name) for who, variables in _PROFILERS for name in variables if environment.get(name))
    profiler, name = next(around, (None, None))
    evidence = _injected(environment.get(INJECTION), maps) if profiler is None else _under(profiler, f"{name} was set")
    return () if evidence is None else (Flag(name="profiled", evidence=evidence, invalid=True),)


def _under(profiler: str, seen: str) -> str:
    return (
        f"this process ran under {profiler} ({seen}): its times are those of a profiled program. Measure without it;"
        " --roofline-ncu counts in a pass of its own"
    )


def _injected(library: str | None, maps: Path) -> str | None:
    if not library or not _may_be_loaded(library, maps):
        return None
    name = os.path.basename(library)
    owner = next((profiler for begins, profiler in _LIBRARIES.items() if name.startswith(begins)), None)
    if owner is not None:
        return _under(owner, f"{INJECTION} names its {name}")
    return (
        f"CUDA loads {name} into this process ({INJECTION} names it): whether it records or counts kernels isn't known,"
        " and if it does, times are those of a profiled program. Measure with that variable unset"
    )


def _may_be_loaded(library: str, maps: Path) -> bool:
    """Tell whether the process has the library, as far as that can be seen: without a folder, it may be from any."""
    try:
        mapped = maps.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    if os.path.isabs(library):
        return os.path.realpath(library) in mapped
    # The loader follows links: libmonitor.so may be mapped as libmonitor.so.1.
    return f"/{os.path.basename(library)}" in mapped


def attached() -> tuple[Flag, ...]:
    """Invalid flags for what is at work now: what is timed beside it is not the time of the step.

    The default device is a mode of torch's as well, but one that programs run with: it is left out.
    """
    import torch
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._device import DeviceContext
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    flags = [*profilers(os.environ)]
    if torch._C._autograd._profiler_enabled():
        flags.append(
            Flag(
                name="measured_under_profiler",
                evidence="torch's profiler was at work around the measurement: measure outside of it",
                invalid=True,
            )
        )
    modes = [*_get_current_dispatch_mode_stack(), *_get_current_function_mode_stack()]
    names = [type(mode).__name__ for mode in modes if not isinstance(mode, DeviceContext)]
    if names:
        flags.append(
            Flag(
                name="measured_under_mode",
                evidence=f"torch modes were active around the measurement ({', '.join(names)}): measure outside",
                invalid=True,
            )
        )
    return tuple(flags)
