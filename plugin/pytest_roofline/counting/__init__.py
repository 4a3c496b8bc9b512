"""Counts one step: a call in; FLOP by dtype, bytes, memory and operations out.

`dispatch` sees every operation, `calls` names its arguments; the folder `flop` has the FLOPs of products,
`operation_cost` the rest of an operation, `traffic` and `step_memory` its bytes; `step_work` adds up what `counter`
saw.
"""

from __future__ import annotations

from pytest_roofline.counting.step_work import Counted, count_step

__all__ = ["Counted", "count_step"]
