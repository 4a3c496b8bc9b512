"""Time steps: warm up until steady, measure rounds until the margin or the budget is reached, hand them over."""

from __future__ import annotations

from pytest_roofline.measuring.loop import measure
from pytest_roofline.measuring.plan import InputEnded, Instruments, Measured, Pace, Plan

__all__ = ["InputEnded", "Instruments", "Measured", "Pace", "Plan", "measure"]
