"""Work of one step, counted from the operations it dispatches."""

from __future__ import annotations

from pytest_roofline.counting.step import Counted, count_step

__all__ = ["Counted", "count_step"]
