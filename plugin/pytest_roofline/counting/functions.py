"""FLOPs per element of functions that are operations of their own as well as parts of fused ones (see `costs`)."""

from __future__ import annotations

from collections.abc import Mapping

ACTIVATION: Mapping[str, int] = {
    "relu": 1,
    "sigmoid": 1,
    "tanh": 1,
    "hardtanh": 2,
    "leaky_relu": 2,
    "silu": 2,
    "hardsigmoid": 4,
    "gelu": 5,
    "hardswish": 5,
}
"""By torch's name. A sigmoid is taken as one function, like the exponential."""

SOFTMAX = 5
"""Maximum, difference, exponential, sum, quotient (or, of a logarithm, difference)."""

SOFTMAX_BACKWARD = 4
"""Product with the gradient, its sum, difference, product."""

DROPOUT = 2
"""Comparison of the random number (or the product with what was kept) and the scale; the way back likewise."""

LAYER_NORM = 8
"""Mean and variance (1 + 3), difference and quotient, scale and shift."""
