"""What a deformable convolution does besides its products: it samples its input between pixels.

Source of the operation: X. Zhu et al., Deformable ConvNets v2, 2018. Every tap of every position lies somewhere else:
an offset is added to either coordinate, and the value there is interpolated from four pixels (costs as in
`resampling`), for all channels of an offset group with the same weights; a mask is one product more.
"""

from __future__ import annotations

from math import prod

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import elements
from pytest_roofline.counting.resampling import LINEAR, spread_to, weighted_sum

_DIMENSIONS = 2
_PIXELS = LINEAR * LINEAR
_PER_TAP = _DIMENSIONS * (1 + 2) + _PIXELS
"""Either coordinate with its offset and the distances to both pixels; a weight for each of the four."""


def other(call: Call) -> int:
    """Forward. A bias is always given, of zeros where there is none."""
    return _placed(call) + _sampled(call) * (weighted_sum(_PIXELS) + _masked(call)) + elements([call.result])


def backward_other(call: Call) -> int:
    """The values are sampled again; their gradient (times the mask) goes to four pixels and to either offset.

    That of a mask is the product with the value, summed over channels; that of the bias a sum over positions.
    """
    again = weighted_sum(_PIXELS) + _masked(call)
    spread = spread_to(_PIXELS) * (1 + _DIMENSIONS) + _masked(call)
    return (
        2 * _placed(call) + _sampled(call) * (again + spread + 2 * _masked(call)) + elements([call.arguments["grad"]])
    )


def _masked(call: Call) -> int:
    return int(bool(call.arguments["use_mask"]))


def _placed(call: Call) -> int:
    """Of the places where taps are taken, one for each pair of offsets."""
    return _PER_TAP * (elements([call.arguments["offset"]]) // _DIMENSIONS)


def _sampled(call: Call) -> int:
    """Values sampled: for every channel of the input, every tap, every position of every sample."""
    batch, _, *positions = call.shape("offset")
    taps: int = prod(call.shape("weight")[2:])
    return batch * prod(positions) * call.shape("input")[1] * taps
