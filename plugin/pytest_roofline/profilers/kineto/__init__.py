"""Time the operations of one step, each by itself: a pass under torch's profiler."""

from __future__ import annotations

from pytest_roofline.profilers.kineto.profile import Profiled, profile_step

__all__ = ["Profiled", "profile_step"]
