from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from pytest_roofline.counting import Counted, count_step


@pytest.fixture
def count() -> Callable[..., Counted]:
    """Count a call that belongs to no model; keywords go to `count_step`."""

    def counted(step: Callable[[], object], **options: Any) -> Counted:
        return count_step(step, **{"model": nn.Identity(), **options})

    return counted


@pytest.fixture
def without_data() -> FakeTensorMode:
    """Tensors without data, on whatever device they name."""
    if torch.__version__ < "2.11" and not torch.cuda.is_available():
        pytest.skip("torch before 2.11 asks CUDA's driver for such tensors, too")
    return FakeTensorMode()


@pytest.fixture
def flop(count: Callable[..., Counted]) -> Callable[[Callable[[], object]], float]:
    """Matrix FLOPs of a call all of whose operations have formulas."""

    def counted(step: Callable[[], object]) -> float:
        result = count(step)
        assert result.work.uncovered == ()
        assert sum(operation.flop for operation in result.operations) == result.work.flop_per_step
        return result.work.flop_per_step

    return counted
