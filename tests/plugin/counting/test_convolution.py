"""Convolutions as torch dispatches them, against a count made by walking through the definition."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pytest_roofline.counting import Counted

CONVOLVE = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSE = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


@dataclass(frozen=True)
class Setting:
    """A random convolution small enough to walk through."""

    dimensions: int
    transposed: bool
    batch: int
    groups: int
    in_per_group: int
    out_per_group: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        ins, outs = self.groups * self.in_per_group, self.groups * self.out_per_group
        weight = (ins, self.out_per_group) if self.transposed else (outs, self.in_per_group)
        return torch.randn(self.batch, ins, *self.size), torch.randn(*weight, *self.kernel)

    def run(self, source: Tensor, weight: Tensor) -> Tensor:
        function = (TRANSPOSE if self.transposed else CONVOLVE)[self.dimensions]
        options = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}
        return function(source, weight, **options)

    def starts(self, axis: int) -> int:
        """Kernel positions along an axis, found by sliding it until it would stick out of the padded input."""
        if self.transposed:
            return self.size[axis]
        start, count = -self.padding[axis], 0
        while start + self.dilation[axis] * (self.kernel[axis] - 1) < self.size[axis] + self.padding[axis]:
            start, count = start + self.stride[axis], count + 1
        return count

    def macs(self) -> int:
        """Every sample, kernel position, tap, group, input and output channel; taps on padding count as well."""
        positions = product(*(range(self.starts(axis)) for axis in range(self.dimensions)))
        taps = list(product(*map(range, self.kernel)))
        channels = list(product(range(self.groups), range(self.in_per_group), range(self.out_per_group)))
        return sum(1 for _ in product(range(self.batch), positions, taps, channels))


def settings(dimensions: int, transposed: bool) -> list[Setting]:
    drawn = random.Random(f"{dimensions} {transposed}")
    found: list[Setting] = []
    while len(found) < 3:
        each = range(dimensions)
        setting = Setting(
            dimensions=dimensions,
            transposed=transposed,
            batch=drawn.randint(1, 3),
            groups=drawn.randint(1, 3),
            in_per_group=drawn.randint(1, 3),
            out_per_group=drawn.randint(1, 3),
            size=tuple(drawn.randint(3, 6) for _ in each),
            kernel=tuple(drawn.randint(1, 3) for _ in each),
            stride=tuple(drawn.randint(1, 3) for _ in each),
            padding=tuple(drawn.randint(0, 1) for _ in each),
            dilation=tuple(drawn.randint(1, 2) for _ in each),
        )
        # A transposed convolution's padding takes away from its output; nothing must be left over.
        grown = [
            (s - 1) * t + d * (k - 1) + 1 - 2 * p
            for s, t, d, k, p in zip(
                setting.size, setting.stride, setting.dilation, setting.kernel, setting.padding, strict=True
            )
        ]
        if min(grown) > 0 and (transposed or min(setting.starts(axis) for axis in each) > 0):
            found.append(setting)
    return found


EVERY = [
    setting for dimensions in (1, 2, 3) for transposed in (False, True) for setting in settings(dimensions, transposed)
]


@pytest.mark.parametrize("setting", EVERY, ids=str)
def test_forward_counts_every_tap(setting: Setting, flop: Callable[..., float]) -> None:
    """2 FLOP for every multiply-accumulate of the definition."""
    source, weight = setting.tensors
    assert flop(lambda: setting.run(source, weight)) == 2 * setting.macs()


@pytest.mark.parametrize("setting", EVERY, ids=str)
@pytest.mark.parametrize(("of_input", "of_weight"), [(True, True), (False, True), (True, False)])
def test_backward_counts_each_gradient_asked_for(
    setting: Setting, of_input: bool, of_weight: bool, flop: Callable[..., float]
) -> None:
    """Each gradient costs as much as the forward: groups make both smaller, and one not asked for is free."""
    source, weight = setting.tensors
    result = setting.run(source.requires_grad_(of_input), weight.requires_grad_(of_weight))
    counted = flop(lambda: result.backward(torch.ones_like(result)))
    assert counted == 2 * setting.macs() * (of_input + of_weight)


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv1d(4, 6, 3, padding="same"),
        nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"),
        nn.Conv2d(4, 4, 3, groups=4),
        nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
    ],
    ids=str,
)
def test_undivided_convolutions_under_inference_mode_lose_nothing(
    layer: Any, inference: bool, flop: Callable[..., float]
) -> None:
    """Under inference_mode ``conv2d`` reaches the counter whole; it counts as it does outside."""
    source = torch.randn(2, 4, *[7] * len(layer.kernel_size))
    shape = layer(source).shape
    positions = source.shape[2:] if layer.transposed else shape[2:]

    def step() -> None:
        with torch.inference_mode(inference):
            layer(source)

    assert flop(step) == 2 * 2 * positions.numel() * layer.weight.numel()


def test_time_batch_channel_convolution(flop: Callable[..., float]) -> None:
    """``conv_tbc`` has its weight as (kernel, in, out) and its result as (time, batch, out)."""
    source, weight, bias = torch.randn(9, 2, 3), torch.randn(4, 3, 5), torch.zeros(5)
    assert flop(lambda: torch.conv_tbc(source, weight, bias, pad=1)) == 2 * (9 + 2 - 3) * 2 * 4 * 3 * 5


def test_deformable_convolution_counts_like_a_plain_one(flop: Callable[..., float]) -> None:
    """Where the taps are taken from doesn't change how many there are."""
    ops = pytest.importorskip("torchvision.ops")
    layer = ops.DeformConv2d(4, 6, 3)
    offset = torch.randn(2, 18, 5, 5)
    assert flop(lambda: layer(torch.randn(2, 4, 7, 7), offset)) == 2 * 2 * 25 * 6 * 4 * 9


def test_deformable_convolution_counts_both_gradients(count: Callable[..., Counted]) -> None:
    """Back it has the two products of a plain one; what was sampled between pixels is no product."""
    ops = pytest.importorskip("torchvision.ops")
    layer, source = ops.DeformConv2d(4, 6, 3), torch.randn(2, 4, 7, 7, requires_grad=True)
    result = layer(source, torch.randn(2, 18, 5, 5, requires_grad=True))
    work = count(lambda: result.sum().backward()).work
    assert (work.uncovered, work.flop_per_step) == ((), 2 * 2 * 2 * 25 * 6 * 4 * 9)


def only(counted: Counted) -> Any:
    return next(operation for operation in counted.operations if operation.kind == "convolution")


@pytest.mark.parametrize(
    ("layer", "dtype", "flagged"),
    [
        (nn.Conv2d(4, 4, 3, padding=1), torch.float32, True),
        (nn.Conv2d(4, 4, 3, stride=2), torch.float32, False),
        (nn.Conv2d(4, 4, 3, dilation=2), torch.float32, False),
        (nn.Conv2d(4, 4, 3, groups=2), torch.float32, False),
        (nn.Conv2d(4, 4, 1), torch.float32, False),
        (nn.Conv2d(4, 4, 5), torch.float32, False),
        (nn.Conv1d(4, 4, 3), torch.float32, False),
        (nn.Conv2d(4, 4, 3), torch.bfloat16, False),
    ],
    ids=str,
)
def test_winograd_is_possible_for_plain_fp32_3x3_only(
    layer: Any, dtype: torch.dtype, flagged: bool, count: Callable[..., Counted]
) -> None:
    """fp32, 3x3, stride 1, no dilation, no groups; forward and backward."""
    layer, source = layer.to(dtype), torch.randn(1, 4, *[8] * len(layer.kernel_size), dtype=dtype)
    assert only(count(lambda: layer(source))).winograd is flagged
    result = layer(source).sum()
    assert only(count(result.backward)).winograd is flagged


def test_shape_tells_what_changes_the_work(count: Callable[..., Counted]) -> None:
    """Two convolutions with the same tensors but other settings are different rows; alike ones share one."""
    source, weight = torch.randn(2, 4, 9, 9), torch.randn(6, 2, 3, 3)

    def step() -> None:
        for stride in (1, 2, 1):
            functional.conv2d(source, weight, stride=stride, padding=(1, 0), groups=2)

    first, second = count(step).operations
    assert first.shape == "2x4x9x9, 6x2x3x3, padding 1x0, groups 2"
    assert second.shape == "2x4x9x9, 6x2x3x3, stride 2, padding 1x0, groups 2"
    assert (first.calls, second.calls) == (2, 1)
    assert first.flop == 2 * 2 * (2 * 9 * 7 * 6 * 2 * 9)
