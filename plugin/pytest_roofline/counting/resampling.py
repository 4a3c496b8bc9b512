"""FLOPs of operations that make a value from its neighbours on a grid: interpolation, grid sampling, adaptive pooling.

A value that is a weighted sum of T neighbours (taps) is T products and T - 1 sums; its gradient goes to T neighbours
with a product and a sum each. Linear interpolation has 2 taps a dimension, cubic 4, Lanczos 6. Weights that depend on
the position alone are shared by all samples and channels and are not counted; those that depend on data (`grid_sample`)
are, once for all channels of a position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, prod

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import OtherOperation, elements, entries, none, per_input, per_result

LINEAR, _CUBIC, _LANCZOS = 2, 4, 6
"""Taps along one dimension."""


def weighted_sum(taps: int) -> int:
    """FLOPs of one value that is made of its neighbours."""
    return 2 * taps - 1


def spread_to(taps: int) -> int:
    """FLOPs of one gradient that goes to its neighbours."""
    return 2 * taps


def _interpolated(taps: int) -> Callable[[Call], int]:
    return per_result(weighted_sum(taps))


def _spread(taps: int) -> Callable[[Call], int]:
    return per_input(spread_to(taps), "grad_output")


def _taps_when_shrunk(source: int, target: int, taps: int, align_corners: bool, scale: float | None) -> list[int]:
    """Taps of each of ``target`` values along a dimension under an anti-aliasing filter.

    The filter grows with the step between two values where that is more than one.
    """
    if align_corners:
        step = (source - 1) / (target - 1) if target > 1 else 0.0
    else:
        step = 1 / scale if scale else source / target
    support = taps / 2 * max(step, 1.0)
    centres = [step * (position + 0.5) for position in range(target)]
    return [min(int(c + support + 0.5), source) - max(int(c - support + 0.5), 0) for c in centres]


def _antialiased(taps: int, *, backward: bool) -> Callable[[Call], int]:
    """One dimension after the other, columns first: the way back makes the same pairs."""

    def flop(call: Call) -> int:
        if backward:
            shape: Sequence[int] = call.arguments["input_size"]
        else:
            shape = call.shape("self")
        *planes, rows, columns = shape
        new_rows, new_columns = map(int, call.arguments["output_size"])
        align, scales = call.arguments["align_corners"], (call.arguments["scales_h"], call.arguments["scales_w"])
        by_row = _taps_when_shrunk(rows, new_rows, taps, align, scales[0])
        by_column = _taps_when_shrunk(columns, new_columns, taps, align, scales[1])
        cost: Callable[[int], int] = spread_to if backward else weighted_sum
        return prod(planes) * (rows * sum(map(cost, by_column)) + new_columns * sum(map(cost, by_row)))

    return flop


_BILINEAR, _NEAREST, _BICUBIC = range(3)
"""torch's numbers of the modes of grid sampling. cuDNN has the first only."""

_PER_COORDINATE = 3
"""From -1 … 1 to pixels: add, multiply, subtract."""

_CUBIC_WEIGHTS = 1 + 4 * 5
"""Distance to the pixel, then four polynomials of degree 3 (Horner's scheme, and a constant factor)."""

_LINEAR_WEIGHTS = 2
"""Distance to the pixel and to the next."""


def _grid_position(mode: int, dimensions: int) -> int:
    """Coordinates and weights of one position."""
    if mode == _NEAREST:
        return dimensions * (_PER_COORDINATE + 1)
    weights = _LINEAR_WEIGHTS if mode == _BILINEAR else _CUBIC_WEIGHTS
    return dimensions * (_PER_COORDINATE + weights) + (dimensions - 1) * _grid_taps(mode, dimensions)


def _grid_taps(mode: int, dimensions: int) -> int:
    """0: the nearest pixel is taken as it is."""
    return prod([{_NEAREST: 0, _BILINEAR: LINEAR, _BICUBIC: _CUBIC}[mode]] * dimensions)


def _grid_sample(call: Call) -> int:
    *grid, dimensions = call.shape("grid")
    mode: int = call.arguments.get("interpolation_mode", _BILINEAR)
    taps = _grid_taps(mode, dimensions)
    values = elements([call.result])
    return prod(grid) * _grid_position(mode, dimensions) + (values * weighted_sum(taps) if taps else 0)


def _grid_sample_backward(call: Call) -> int:
    """To the image as in interpolation; to the grid, for each coordinate, a sum over the taps times the gradient."""
    *grid, dimensions = call.shape("grid")
    mode: int = call.arguments.get("interpolation_mode", _BILINEAR)
    taps = _grid_taps(mode, dimensions)
    image_asked, grid_asked = call.arguments.get("output_mask", (True, True))
    to_image = (spread_to(taps) or 1) if image_asked else 0
    to_grid = dimensions * spread_to(taps) if grid_asked else 0
    gradients = elements([call.arguments["grad_output"]])
    return prod(grid) * _grid_position(mode, dimensions) + gradients * (to_image + to_grid)


def _dimensions(call: Call) -> int:
    return int(next(letter for letter in call.name if letter.isdigit()))


def _window_elements(source: tuple[int, ...], target: tuple[int, ...], dimensions: int) -> int:
    """Elements of all windows of an adaptive pooling: they differ in size and may overlap."""
    windows = [
        sum(ceil((position + 1) * size / new) - position * size // new for position in range(new))
        for size, new in zip(source[-dimensions:], target[-dimensions:], strict=True)
    ]
    return prod(source[:-dimensions]) * prod(windows)


def _adaptive(call: Call) -> int:
    return _window_elements(call.shape("self"), call.result_shape, _dimensions(call))


def _adaptive_backward(call: Call) -> int:
    return _window_elements(call.shape("self"), call.shape("grad_output"), _dimensions(call))


TABLE: Mapping[str, OtherOperation] = {
    **entries("indexing", none, "upsample_nearest1d upsample_nearest2d upsample_nearest3d"),
    **entries("indexing", none, "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d"),
    **entries(
        "indexing",
        per_input(1, "grad_output"),
        """upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
        _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward""",
    ),
    **entries("other", _interpolated(LINEAR), "upsample_linear1d"),
    **entries("other", _interpolated(LINEAR**2), "upsample_bilinear2d"),
    **entries("other", _interpolated(LINEAR**3), "upsample_trilinear3d"),
    **entries("other", _interpolated(_CUBIC**2), "upsample_bicubic2d"),
    **entries("other", _spread(LINEAR), "upsample_linear1d_backward"),
    **entries("other", _spread(LINEAR**2), "upsample_bilinear2d_backward"),
    **entries("other", _spread(LINEAR**3), "upsample_trilinear3d_backward"),
    **entries("other", _spread(_CUBIC**2), "upsample_bicubic2d_backward"),
    **entries("other", _antialiased(LINEAR, backward=False), "_upsample_bilinear2d_aa"),
    **entries("other", _antialiased(_CUBIC, backward=False), "_upsample_bicubic2d_aa"),
    **entries("other", _antialiased(_LANCZOS, backward=False), "_upsample_lanczos2d_aa"),
    **entries("other", _antialiased(LINEAR, backward=True), "_upsample_bilinear2d_aa_backward"),
    **entries("other", _antialiased(_CUBIC, backward=True), "_upsample_bicubic2d_aa_backward"),
    **entries("other", _antialiased(_LANCZOS, backward=True), "_upsample_lanczos2d_aa_backward"),
    **entries("other", _grid_sample, "grid_sampler_2d grid_sampler_3d cudnn_grid_sampler"),
    **entries(
        "other", _grid_sample_backward, "grid_sampler_2d_backward grid_sampler_3d_backward cudnn_grid_sampler_backward"
    ),
    **entries(
        "pooling",
        _adaptive,
        """_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
        mkldnn_adaptive_avg_pool2d""",
    ),
    **entries(
        "pooling",
        _adaptive_backward,
        "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward mkldnn_adaptive_avg_pool2d_backward",
    ),
    **entries("pooling", per_input(1, "grad_output"), "adaptive_max_pool2d_backward adaptive_max_pool3d_backward"),
}
"""By name without namespace."""
