from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

from pytest_roofline.counting import Counted, count_step


@pytest.fixture
def count() -> Callable[..., Counted]:
    """Count a call that belongs to no model; keywords go to `count_step`."""

    def counted(step: Callable[[], object], **options: Any) -> Counted:
        return count_step(step, **{"model": nn.Identity(), **options})

    return counted


@pytest.fixture
def flop(count: Callable[..., Counted]) -> Callable[[Callable[[], object]], float]:
    """Matrix FLOPs of a call all of whose operations have formulas."""

    def counted(step: Callable[[], object]) -> float:
        result = count(step)
        assert result.work.uncovered == ()
        assert sum(operation.flop for operation in result.operations) == result.work.flop_per_step
        return result.work.flop_per_step

    return counted
