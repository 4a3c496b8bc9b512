"""The memory that a case is predicted to need."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from pytest_roofline.complexity.assessment import Assessment
from pytest_roofline.complexity.needed_memory import batch_byte, may_be_large, peak_byte
from pytest_roofline.workload.models import ModelSpec, Registry, losses
from pytest_roofline.workload.precision import PRECISIONS

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


def test_a_batch_by_hand() -> None:
    """Targets are whole numbers of 8 bytes, and there are none in inference."""
    assert batch_byte(TWO, 10, "train", FP32) == 10 * (4 * 4 + 8)
    assert batch_byte(TWO, 10, "infer", BF16) == 10 * 4 * 2


def test_the_peak_is_that_of_complexity() -> None:
    """Of the same step, its batch included."""
    spec = Registry().find("resnet18")
    assert peak_byte(spec, 8, "train", FP32) == Assessment(spec, mode="train", precision=FP32).peak_byte(8)


def test_a_model_that_can_not_be_seen_has_no_prediction() -> None:
    """One that fails on fake tensors is tried on real ones, and tells itself why."""

    class Fails(nn.Module):
        def forward(self, _: object) -> object:
            raise ValueError("no")

    assert peak_byte(replace(TWO, build=Fails), 1, "infer", FP32) is None


def test_a_small_case_is_not_looked_at() -> None:
    """A hundred images of 224 x 224 are not small for 16 GB; the same number of 2 x 2 is."""
    assert may_be_large(Registry().find("resnet18"), 100, 16 * 10**9)
    assert not may_be_large(TWO, 100, 16 * 10**9)
