"""Times steps: a step and a plan in; rounds, their step time and its margin out.

`loop` warms up until steady (`warmup`) and takes `rounds` until the margin or the budget is reached; `host_telemetry`
and `disturbance` mark those that others disturbed; `timing_record` sums up; `benchmark_timer` shows pytest-benchmark
the rounds.
"""

from __future__ import annotations

from pytest_roofline.measuring.loop import measure
from pytest_roofline.measuring.plan import InputEnded, Measured, Pace, Plan

__all__ = ["InputEnded", "Measured", "Pace", "Plan", "measure"]
