"""FLOPs beside those of matrix products."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from pytest_roofline.counting import count_step


def other(step: Callable[[], object]) -> float:
    """Of a step that has no others, and all of whose operations have formulas."""
    counted = count_step(step, model=nn.Identity())
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == 0
    assert counted.work.other_flop_per_step is not None
    return counted.work.other_flop_per_step
