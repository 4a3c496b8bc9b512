"""Who looks on while steps are timed: a profiler or a mode of the test's own, which costs time at every operation."""

from __future__ import annotations

from roofline.record import Flag


def onlookers() -> tuple[Flag, ...]:
    """Invalid flags for what is at work now: what is timed beside it is not the time of the step.

    The default device is a mode of torch's as well, but one that programs run with: it is left out.
    """
    import torch
    from torch.overrides import _get_current_function_mode_stack
    from torch.utils._device import DeviceContext
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    flags = []
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
