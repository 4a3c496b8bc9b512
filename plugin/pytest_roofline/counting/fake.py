"""A copy of a model that has shapes but no data: counting it takes no memory and next to no time."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

Model = TypeVar("Model", bound=nn.Module)


def fake_copy(model: Model, mode: FakeTensorMode) -> Model:
    """Copy ``model`` with fake parameters and buffers of ``mode``, on the devices of the real ones.

    What it is called with has to be fake too (``mode.from_tensor``), and the call has to be made inside ``mode``. A
    model that looks at its data on the way (``item()``) can't run so; it raises torch's
    ``DataDependentOutputException``.
    """
    # Tensors the copy finds already copied are taken as they are.
    memo: dict[int, Any] = {}
    for parameter in model.parameters():
        fake = mode.from_tensor(parameter.detach())
        memo[id(parameter)] = nn.Parameter(fake, requires_grad=parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = mode.from_tensor(buffer)
    return copy.deepcopy(model, memo)
