"""The cases of ``roofline selftest``: small ones that need no suite and no data, of two kinds of work.

No tensor is larger than 64 KiB: larger ones may get fresh pages from the kernel in every step or in none, as it falls
out for a process (glibc's malloc): with 4 MB tensors a step had 3,000 page faults in one process, 5,800 in the next.

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

    layers = [layer for _ in range(6) for layer in (nn.Linear(128, 128), nn.ReLU())]
    roofline(nn.Sequential(*layers), torch.randn(128, 128), target=torch.randint(128, (128,)))


@pytest.mark.roofline(mode="infer", sample_unit="image")
def test_convolutions_infer(roofline: Roofline) -> None:
    """A forward pass of convolutions."""
    import torch
    from torch import nn

    layers = [layer for _ in range(6) for layer in (nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())]
    roofline(nn.Sequential(*layers), torch.randn(1, 16, 32, 32))
