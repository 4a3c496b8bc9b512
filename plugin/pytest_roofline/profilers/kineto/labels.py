"""Labels in the profiler's trace: which operation of the step each stretch belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.autograd.profiler import record_function

from pytest_roofline.counting.dispatch import LeafMode, leaf_name, may_work

LABEL = "roofline#"
"""Begins the name of every label. The number of the operation follows, or nothing for those that do no work."""


class LabelMode(LeafMode):
    """Puts a label around every operation, numbered as they are counted. ``names`` are those that have a number."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def leaf(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        label = LABEL
        if may_work(func):
            label += str(len(self.names))
            self.names.append(leaf_name(func))
        with record_function(label):
            return func(*args, **kwargs)
