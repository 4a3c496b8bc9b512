"""The least memory of a step: by hand for two linear layers, and never more than the predicted peak of a network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from pytest_roofline.complexity.assessment import Assessment
from pytest_roofline.complexity.least_memory import batch_byte, may_be_large, step_byte
from pytest_roofline.models import ModelSpec, Registry, losses
from pytest_roofline.precision import PRECISIONS
from pytest_roofline.workload import Mode

FP32, BF16 = PRECISIONS["fp32"], PRECISIONS["bf16"]


def _build() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Linear(3, 2))


TWO = ModelSpec(
    name="two",
    build=_build,
    input_shape=(1, 2, 2),
    input_kind="image",
    classes=2,
    sample_unit="image",
    loss=losses.cross_entropy,
    loss_name="cross_entropy",
)
PARAMETERS_BYTE = 4 * (4 * 3 + 3 + 3 * 2 + 2)


@pytest.mark.parametrize(
    ("mode", "batch", "byte"),
    [
        # Saved is the input of the second layer alone: that of the first is the batch.
        ("train", 16, 2 * PARAMETERS_BYTE + 4 * 16 * 3),
        ("train", 1, 3 * PARAMETERS_BYTE),
        ("infer", 16, PARAMETERS_BYTE + 4 * 16 * 2),
    ],
)
def test_two_layers_by_hand(mode: Mode, batch: int, byte: int) -> None:
    """Parameters and momentum with what is saved or the gradients; in inference parameters and the output."""
    assert step_byte(TWO, batch, mode, FP32) == byte


def test_a_batch_by_hand() -> None:
    """Targets are whole numbers of 8 bytes, and there are none in inference."""
    assert batch_byte(TWO, 10, "train", FP32) == 10 * (4 * 4 + 8)
    assert batch_byte(TWO, 10, "infer", BF16) == 10 * 4 * 2


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("precision", ["fp32", "amp_bf16", "bf16"])
def test_never_more_than_the_predicted_peak(mode: Mode, precision: str) -> None:
    """A convolutional network with its batch."""
    spec, chosen = Registry().find("resnet18"), PRECISIONS[precision]
    least = step_byte(spec, 8, mode, chosen) + batch_byte(spec, 8, mode, chosen)
    assert 0 < least < Assessment(spec, mode=mode, precision=chosen).peak_byte(8)


def test_a_model_that_can_not_be_seen_has_no_bound() -> None:
    """One that fails on fake tensors is tried on real ones, and tells itself why."""

    class Fails(nn.Module):
        def forward(self, _: object) -> object:
            raise ValueError("no")

    assert step_byte(replace(TWO, build=Fails), 1, "infer", FP32) == 0


def test_a_small_case_is_not_looked_at() -> None:
    """A hundred images of 224 x 224 are not small for 16 GB; the same number of 2 x 2 is."""
    assert may_be_large(Registry().find("resnet18"), 100, 16 * 10**9)
    assert not may_be_large(TWO, 100, 16 * 10**9)
