"""Training of torchvision models against a count made a wholly different way: from their modules, by hooks.

`python -m benchmarks agreement` does the same for all of them, in inference and other precisions as well.
"""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from perftests.models import find
from pytest_roofline.counting import count_step
from pytest_roofline.counting.fake import fake_copy

pytest.importorskip("torchvision")
module_count = pytest.importorskip("benchmarks.module_count")

BATCH = 2

MODELS = (
    "alexnet",
    "squeezenet1_1",
    "shufflenet_v2_x0_5",
    "mobilenet_v3_small",
    "efficientnet_b0",
    "googlenet",
    "regnet_y_400mf",
    "resnext50_32x4d",
    "convnext_tiny",
    "vit_b_16",
    "swin_t",
    "swin_v2_t",
)
"""One of every family that is quick to count; transformers and grouped convolutions among them."""


@pytest.mark.parametrize("name", MODELS)
def test_training_agrees_with_a_count_of_modules(name: str) -> None:
    """To the last FLOP."""
    spec = find(name)
    mode = FakeTensorMode()
    model = fake_copy(module_count.without_data(spec).to_empty(device="cpu"), mode)
    with mode:
        source, target = torch.zeros(BATCH, *spec.input_shape), torch.zeros(BATCH, dtype=torch.int64)
        counted = count_step(lambda: spec.loss(model(source), target).backward(), model=model)
    assert counted.work.uncovered == ()
    assert counted.work.flop_per_step == module_count.step_flop(spec, BATCH, train=True)
