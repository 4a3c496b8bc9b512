"""Interpolation, grid sampling and adaptive pooling, against loops over every neighbour and torch's own derivatives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from pytest_roofline.counting import Counted
from tests.plugin.counting.other_work import other

MODES = {"linear": (1, 2), "bilinear": (2, 2), "trilinear": (3, 2), "bicubic": (2, 4)}
"""Dimensions, and neighbours along each."""


def loops(shape: tuple[int, ...], dimensions: int, taps: int) -> tuple[int, int]:
    """Forward and backward, by walking: every value takes every neighbour, with a sum from the second on."""
    forward = backward = 0
    for _ in product(*map(range, shape)):
        for number, _ in enumerate(product(range(taps), repeat=dimensions)):
            forward += 1 + (number > 0)
            backward += 2
    return forward, backward


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(sorted(MODES)), st.lists(st.integers(1, 4), min_size=3, max_size=3), st.booleans())
def test_interpolation_weighs_every_neighbour(mode: str, new: list[int], align: bool) -> None:
    """A product for each and the sums between them; a gradient goes back to each with a product and a sum."""
    dimensions, taps = MODES[mode]
    size = tuple(new[:dimensions])
    source = torch.randn(2, 3, *[3] * dimensions, requires_grad=True)

    def forward() -> Tensor:
        return functional.interpolate(source, size=size, mode=mode, align_corners=align)

    there, back = loops((2, 3, *size), dimensions, taps)
    assert other(forward) == there
    result = forward()
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == back


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_nearest_neighbours_are_looked_up(mode: str, dimensions: int, count: Callable[..., Counted]) -> None:
    """No arithmetic; a gradient is added to where its value came from."""
    source = torch.randn(2, 3, *[3] * dimensions, requires_grad=True)

    def forward() -> Tensor:
        return functional.interpolate(source, scale_factor=2, mode=mode)

    counted = count(forward)
    assert (counted.work.other_flop_per_step, counted.operations[0].kind) == (0, "indexing")
    result = forward()
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == result.numel()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("size", "new"), [((16, 14), (5, 4)), ((11, 22), (4, 7)), ((9, 9), (2, 8))])
def test_anti_aliasing_takes_as_many_neighbours_as_torch_does(mode: str, size: Any, new: Any) -> None:
    """Found by differentiation, one dimension at a time: what a value depends on is what it was made of.

    In none of these sizes does a neighbour lie where the filter is 0.
    """
    source = torch.randn(2, 3, *size, requires_grad=True)

    def shrink(image: Tensor, to: tuple[int, int]) -> Tensor:
        return functional.interpolate(image, size=to, mode=mode, antialias=True, align_corners=False)

    def taps(axis: int) -> list[int]:
        line = torch.randn(1, 1, size[axis], size[axis], dtype=torch.float64)
        to = [size[axis], size[axis]]
        to[axis] = new[axis]
        derivative = torch.autograd.functional.jacobian(lambda x: shrink(x, (to[0], to[1])), line)[0, 0]
        one = derivative[:, 0, 0, 0, :, :] if axis == 0 else derivative[0, :, 0, 0, :, :]
        # All neighbours along the axis, whatever the other dimension is made of.
        return [int((weights.abs().sum(1 - axis) > 1e-12).sum()) for weights in one]

    rows, columns = taps(0), taps(1)
    forward = 6 * (size[0] * sum(2 * t - 1 for t in columns) + new[1] * sum(2 * t - 1 for t in rows))
    backward = 6 * (size[0] * sum(2 * t for t in columns) + new[1] * sum(2 * t for t in rows))
    assert other(lambda: shrink(source, new)) == forward
    result = shrink(source, new)
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == backward


POSITION = {
    # Coordinates 3 a dimension; weights 2 a dimension and a product for each corner and dimension from the second on.
    ("bilinear", 2): 2 * 3 + 2 * 2 + 4,
    ("bilinear", 3): 3 * 3 + 3 * 2 + 2 * 8,
    # Coordinates and rounding.
    ("nearest", 2): 2 * 4,
    ("nearest", 3): 3 * 4,
    # A distance and four polynomials a dimension, 16 products of weights.
    ("bicubic", 2): 2 * 3 + 2 * 21 + 16,
}


@pytest.mark.parametrize(("mode", "dimensions"), POSITION)
@pytest.mark.parametrize("image_too", [False, True])
def test_grid_sampling(mode: str, dimensions: int, image_too: bool) -> None:
    """Coordinates and weights once for a position, the sum over neighbours for every channel."""
    taps = {"bilinear": 2, "bicubic": 4, "nearest": 0}[mode] ** dimensions
    image = torch.randn(2, 3, *[5] * dimensions, requires_grad=image_too)
    grid = torch.rand(2, *[4] * dimensions, dimensions, requires_grad=True)
    positions = 2 * 4**dimensions

    def forward() -> Tensor:
        return functional.grid_sample(image, grid, mode=mode, align_corners=False)

    assert other(forward) == positions * POSITION[mode, dimensions] + 3 * positions * (2 * taps - 1 if taps else 0)
    result = forward()
    gradient = torch.ones_like(result)
    to_image = (2 * taps if taps else 1) if image_too else 0
    to_grid = dimensions * 2 * taps
    expected = positions * POSITION[mode, dimensions] + 3 * positions * (to_image + to_grid)
    assert other(lambda: result.backward(gradient)) == expected


def test_affine_grid_is_a_product(flop: Callable[..., float]) -> None:
    """Each position (x, y, 1) meets two rows of three."""
    theta = torch.randn(2, 2, 3)
    assert flop(lambda: functional.affine_grid(theta, [2, 3, 5, 6], align_corners=False)) == 2 * 2 * 5 * 6 * 2 * 3


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 7), st.integers(2, 7), st.sampled_from(["avg", "max"]))
def test_adaptive_windows_may_overlap(size: int, new: int, kind: str) -> None:
    """A value's window is what torch's average depends on: windows of 3 out of 4 elements share some."""
    line = torch.randn(1, size, dtype=torch.float64)
    derivative = torch.autograd.functional.jacobian(lambda x: functional.adaptive_avg_pool1d(x, new), line)
    windows = int((derivative != 0).sum())
    pool: Any = {"avg": functional.adaptive_avg_pool2d, "max": functional.adaptive_max_pool2d}[kind]
    source = torch.randn(2, 3, size, size, requires_grad=True)
    assert other(lambda: pool(source, new)) == 6 * windows**2
    result = pool(source, new)
    gradient = torch.ones_like(result)
    back = windows**2 if kind == "avg" else new**2
    assert other(lambda: result.backward(gradient)) == 6 * back
