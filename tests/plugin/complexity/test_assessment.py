"""Work and memory of a step: published totals exactly, small models by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from pytest_roofline.complexity.assessment import (
    MOST,
    Assessment,
    CannotAssess,
    largest_batch,
    may_be_large,
    predicted_peak_byte,
)
from pytest_roofline.complexity.fake import Mode, fake_model
from pytest_roofline.workload.models import ModelSpec, Registry, losses
from pytest_roofline.workload.precision import PRECISIONS

FP32 = PRECISIONS["fp32"]


def spec(build: Callable[[], nn.Module], shape: tuple[int, ...]) -> ModelSpec:
    return ModelSpec(
        name="small",
        build=build,
        input_shape=shape,
        input_kind="image",
        classes=2,
        sample_unit="image",
        loss=losses.cross_entropy,
        loss_name="cross_entropy",
    )


def test_published_totals() -> None:
    """GFLOP per image, forward and training, and parameters are those of the literature; layers add up to them."""
    pytest.importorskip("torchvision")
    assessment = Assessment(Registry().find("resnet18"), mode="train", precision=FP32)
    assert sum(layer.parameter_count for layer in assessment.forward.layers) == 11_689_512
    assert assessment.forward.flop / 1e9 == pytest.approx(3.628, rel=1e-4)
    step = assessment.step(4)
    assert step.work.parameter_count == 11_689_512
    assert step.work.flop_per_step / 4e9 == pytest.approx(10.648, rel=1e-4)


def test_a_huge_batch_takes_no_memory() -> None:
    """VGG-16 at batch 4096 would save 300 GB; counts are in proportion to a small batch, no tensor exists."""
    pytest.importorskip("torchvision")
    assessment = Assessment(Registry().find("vgg16"), mode="train", precision=FP32)
    small, huge = assessment.step(2), assessment.step(4096)
    assert huge.work.flop_per_step == 2048 * small.work.flop_per_step
    assert huge.work.saved_for_backward_byte is not None
    assert huge.work.saved_for_backward_byte > 3e11
    assert huge.input_byte == 4096 * (3 * 224 * 224 * 4 + 8)
    assert huge.peak_byte > huge.work.saved_for_backward_byte


def test_memory_of_a_layer_in_inference_by_hand() -> None:
    """A linear 1000 -> 10 at batch 8: weights, the batch, and its output; the last output is let go only after."""
    assessment = Assessment(spec(lambda: nn.Linear(1000, 10), (1000,)), mode="infer", precision=FP32)
    needs = assessment.step(8)
    assert needs.work.parameter_byte == 4 * 10_010
    assert needs.work.optimizer_state_byte is None
    assert needs.input_byte == 4 * 8000
    assert needs.peak_byte == 4 * (10_010 + 8000 + 80)


def test_memory_of_training_by_hand() -> None:
    """A linear layer whose weights outweigh all else: at the end weights, momenta, gradients and the decayed gradients.

    SGD with weight decay adds ``decay * weight`` to a copy of each gradient in turn, so the most is the weight's copy
    beside everything that stays: weight, bias, gradients, momenta, and the batch with its targets.
    """
    assessment = Assessment(spec(lambda: nn.Linear(1000, 10), (1000,)), mode="train", precision=FP32)
    needs = assessment.step(2)
    weights = 4 * 10_010
    assert needs.work.parameter_byte == weights
    assert needs.work.gradient_byte == weights
    assert needs.work.optimizer_state_byte == weights
    assert needs.input_byte == 4 * 2000 + 8 * 2
    # The loss is held until the next one.
    assert needs.peak_byte == pytest.approx(3 * weights + needs.input_byte + 4 * 10_000 + 4, abs=16)


def test_a_model_that_fails_is_named() -> None:
    """What a model raises when it runs is told as the model's, with the batch."""
    assessment = Assessment(spec(lambda: nn.BatchNorm1d(4), (4,)), mode="train", precision=FP32)
    with pytest.raises(CannotAssess, match=r"small can't take a step at batch 1 .*more than 1 value per channel"):
        assessment.step(1)


def test_a_batch_that_fails_leaves_the_next_one_right() -> None:
    """The optimiser has its state in the step that is counted, whatever went before."""
    small = spec(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), (4,))
    after, alone = (Assessment(small, mode="train", precision=FP32) for _ in range(2))
    with pytest.raises(CannotAssess):
        after.step(1)
    assert after.step(2) == alone.step(2)


def test_the_largest_batch_of_a_model_that_refuses_one_sample() -> None:
    """Two are the smallest batch of a batch norm: the search begins there. A model that takes none says so."""
    normed = spec(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), (4,))
    assessment = Assessment(normed, mode="train", precision=FP32)
    memory_byte = assessment.peak_byte(16)
    assert assessment.largest_batch(memory_byte) == 16
    assert assessment.largest_batch(assessment.peak_byte(2) - 1) is None
    broken = Assessment(spec(lambda: nn.Linear(5, 3), (4,)), mode="train", precision=FP32)
    with pytest.raises(CannotAssess, match="can't take a step at batch 2"):
        broken.largest_batch(memory_byte)


def small_maxvit() -> ModelSpec:
    """torchvision's MaxViT with one block."""
    maxvit = pytest.importorskip("torchvision.models.maxvit")
    build = partial(
        maxvit.MaxVit,
        input_size=(32, 32),
        stem_channels=8,
        partition_size=2,
        block_channels=[8],
        block_layers=[1],
        head_dim=4,
        stochastic_depth_prob=0.0,
        num_classes=2,
    )
    return spec(build, (3, 32, 32))


def regnet() -> ModelSpec:
    pytest.importorskip("torchvision")
    return Registry().find("regnet_x_8gf")


@pytest.mark.parametrize(("model", "mode"), [(regnet, "infer"), (small_maxvit, "train")])
def test_half_precision_makes_no_other_model(model: Callable[[], ModelSpec], mode: Mode) -> None:
    """A RegNet computes its widths in the default dtype, and MaxViT has a table that is fp32 in any: both are built in
    fp32 and converted, as where a case runs."""
    whole, half = (
        Assessment(model(), mode=mode, precision=PRECISIONS[precision]).step(1).work for precision in ("fp32", "bf16")
    )
    assert half.flop_by_dtype == {"bf16": whole.flop_per_step}
    assert half.parameter_byte is not None
    assert 2 * half.parameter_byte == whole.parameter_byte


class Tied(nn.Module):
    """Two layers of one weight, a frozen one, and an LSTM, which keeps its weights in a list as well."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(4, 4, bias=False).requires_grad_(False)
        self.recurrent = nn.LSTM(4, 4, batch_first=True)
        self.register_buffer("scale", torch.zeros(3))
        self.register_buffer("index", torch.zeros(3, dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        sequence: Tensor = self.recurrent(self.second(self.first(self.frozen(x[:, None]))))[0]
        return sequence[:, 0]


def test_a_converted_model_is_as_torch_converts_it() -> None:
    """A shared weight stays one, a frozen one frozen; integers stay as they are."""
    real = Tied().to(torch.bfloat16)
    fake = fake_model(spec(Tied, (4,)), PRECISIONS["bf16"], FakeTensorMode())
    assert fake.get_parameter("first.weight") is fake.get_submodule("second").get_parameter("weight")
    assert [(name, one.dtype, one.requires_grad) for name, one in fake.named_parameters()] == [
        (name, one.dtype, one.requires_grad) for name, one in real.named_parameters()
    ]
    assert {name: one.dtype for name, one in fake.named_buffers()} == {
        "scale": torch.bfloat16,
        "index": torch.int64,
    }
    # Three layers, and the four gates of the LSTM's input and state, of 4 x 4 each.
    assert Assessment(spec(Tied, (4,)), mode="infer", precision=PRECISIONS["bf16"]).step(1).work.flop_by_dtype == {
        "bf16": 2 * (3 * 4 * 4 + 8 * 4 * 4)
    }


class LooksAtData(nn.Module):
    """Its constructor looks at values, which fake tensors don't have."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(int(torch.linspace(4, 8, 2)[0].item()), 2)

    def forward(self, x: object) -> object:
        return self.linear(x)


def test_a_constructor_that_looks_at_values_is_run_really() -> None:
    """Such a model is built once and copied without its data."""
    assert Assessment(spec(LooksAtData, (4,)), mode="infer", precision=FP32).forward.flop == 2 * 4 * 2


@pytest.mark.parametrize("smallest", [1, 2])
@pytest.mark.parametrize("answer", [2, 3, 7, 8, 9, 64, 327, 5000])
@pytest.mark.parametrize("counted", [(), (5,), (2, 10), (40, 6000)])
def test_the_largest_batch_that_fits(smallest: int, answer: int, counted: tuple[int, ...]) -> None:
    """It fits and one more doesn't, where the peak is the larger of two lines; few batches are tried beside those that
    are known.
    """
    tried = []

    def peak(batch: int) -> int:
        tried.append(batch)
        return max(1000 + 3 * batch, 7 * batch - 200)

    assert largest_batch(peak, peak(answer), smallest, {batch: peak(batch) for batch in counted}) == answer
    assert len(tried) < 15


@pytest.mark.parametrize(("growth", "answer"), [(1, None), (0, MOST)])
def test_where_the_search_ends(growth: int, answer: int | None) -> None:
    """At once if even the smallest is too large; at the limit if the peak does not grow."""
    assert largest_batch(lambda batch: 100 + growth * batch, 100) == answer


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
    work = Assessment(spec(Mixed, (2, 4, 4)), mode="infer", precision=PRECISIONS[precision]).step(3).work
    assert work.flop_by_dtype == {dtype: 3 * flop for dtype, flop in expected.items()}
    assert work.flop_per_step == 3 * (CONVOLUTION + LINEAR + VECTOR)


TWO = spec(lambda: nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Linear(3, 2)), (1, 2, 2))


def test_the_peak_that_the_suite_asks_for() -> None:
    """It is that of the step, its batch included; there is none of a model that can't run without data."""
    peak = Assessment(TWO, mode="train", precision=FP32).step(8).peak_byte
    assert peak is not None
    assert predicted_peak_byte(TWO, 8, "train", FP32) == peak
    fails = spec(lambda: nn.Linear(5, 2), (4,))
    assert predicted_peak_byte(fails, 1, "infer", FP32) is None


def test_a_small_case_is_not_looked_at() -> None:
    """A hundred images of 224 x 224 are not small for 16 GB; the same number of 2 x 2 is."""
    assert may_be_large(Registry().find("resnet18"), 100, 16 * 10**9)
    assert not may_be_large(TWO, 100, 16 * 10**9)
