"""Who looks on while steps are timed: a profiler, or a mode of the test's own, which costs time at every operation."""

from __future__ import annotations

import os
from collections.abc import Mapping

from roofline.record import Flag

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
    ("a tool that CUDA loads into the process", ("CUDA_INJECTION64_PATH",)),
)
"""Profilers, and the variables that each gives to the program it starts (GROMACS looks at the same).

The last is the CUDA driver's own: the library that it names is loaded when CUDA starts, for CUPTI to record or count.
"""


def profilers(environment: Mapping[str, str]) -> tuple[Flag, ...]:
    """The invalid flag for a process that a profiler was started around, of its environment variables.

    Launches are traced or replayed there, one kernel after the other, and clocks may be held down: times are not the
    step's, and nothing may be compared with them.
    """
    for profiler, variables in _PROFILERS:
        found = next((name for name in variables if environment.get(name)), None)
        if found is not None:
            return (
                Flag(
                    name="profiled",
                    evidence=f"this process ran under {profiler} ({found} was set): its times are those of a profiled"
                    " program. Measure without it; --roofline-ncu counts in a pass of its own",
                    invalid=True,
                ),
            )
    return ()


def onlookers() -> tuple[Flag, ...]:
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
