"""Counts one step: a call in; FLOP by dtype, bytes, memory and operations out.

`dispatch` sees every operation, `calls` names its arguments; `matrix`, `attention` and `sparse` have the FLOPs of
products, `operation_cost` the rest of an operation, `traffic` and `memory` its bytes; `step` adds up.
"""

from __future__ import annotations

from pytest_roofline.counting.step_work import Counted, count_step

__all__ = ["Counted", "count_step"]
