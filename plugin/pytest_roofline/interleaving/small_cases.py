"""The cases of ``roofline selftest``: small ones that need no suite and no data, of two kinds of work.

Collected by name (``--pyargs``), and by nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_roofline.fixture import Roofline


@pytest.mark.roofline(mode="train", sample_unit="row")
def test_mlp_train(roofline: Roofline) -> None:
    """A training step of matrix products and of many small operations."""
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    roofline(model, torch.randn(64, 256), target=torch.randint(10, (64,)))


@pytest.mark.roofline(mode="infer", sample_unit="image")
def test_convolutions_infer(roofline: Roofline) -> None:
    """A forward pass of convolutions, whose tensors pass through the caches."""
    import torch
    from torch import nn

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    roofline(model, torch.randn(8, 3, 64, 64))
