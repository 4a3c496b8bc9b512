"""Which FLOPs of a count without a device would run in TF32 on one."""

from __future__ import annotations

import pytest
from torch import Tensor, nn

from pytest_roofline.complexity.assessment import Assessment
from pytest_roofline.complexity.tf32 import switches
from pytest_roofline.counting.dtypes import Tf32
from pytest_roofline.workload.models import ModelSpec, losses
from pytest_roofline.workload.precision import PRECISIONS


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        ("fp32", Tf32(matmul=False, convolution=False)),
        ("tf32", Tf32(matmul=True, convolution=True)),
        ("torch_default", Tf32(matmul=False, convolution=True)),
        ("amp_bf16", Tf32(matmul=False, convolution=False)),
    ],
)
def test_switches_are_those_that_a_case_sets(precision: str, expected: Tf32) -> None:
    """Untouched, torch lets convolutions alone run in TF32."""
    assert switches(PRECISIONS[precision]) == expected


class Mixed(nn.Module):
    """A 1x1 convolution of 2 to 3 channels on 4 x 4, a linear 48 to 5, and a matrix-vector product of 5 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(2, 3, 1, bias=False)
        self.linear = nn.Linear(48, 5)

    def forward(self, inputs: Tensor) -> Tensor:
        features = self.linear(self.convolution(inputs).flatten(1))
        return features.mv(features[0])


CONVOLUTION, LINEAR, VECTOR = 2 * 2 * 3 * 16, 2 * 48 * 5, 2 * 5
"""FLOP of one image, by hand."""


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        ("fp32", {"fp32": CONVOLUTION + LINEAR + VECTOR}),
        ("tf32", {"tf32": CONVOLUTION + LINEAR, "fp32": VECTOR}),
        ("torch_default", {"tf32": CONVOLUTION, "fp32": LINEAR + VECTOR}),
        ("amp_bf16", {"bf16": CONVOLUTION + LINEAR + VECTOR}),
    ],
)
def test_flops_are_of_the_dtype_that_a_device_would_compute_in(precision: str, expected: dict[str, float]) -> None:
    """A product with a vector doesn't run on tensor cores; the sum stays what it is, and nothing is listed with 0."""
    spec = ModelSpec(
        name="mixed",
        build=Mixed,
        input_shape=(2, 4, 4),
        input_kind="image",
        classes=2,
        sample_unit="image",
        loss=losses.cross_entropy,
        loss_name="cross_entropy",
    )
    work = Assessment(spec, mode="infer", precision=PRECISIONS[precision]).step(3).work
    assert work.flop_by_dtype == {dtype: 3 * flop for dtype, flop in expected.items()}
    assert work.flop_per_step == 3 * (CONVOLUTION + LINEAR + VECTOR)
