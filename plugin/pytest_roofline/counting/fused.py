"""What products and convolutions do besides their products: biases, scales, activations, dequantisation.

The same costs as if it were done by operations of its own, so that one computation has one count, fused or not.
Attention and recurrent layers have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import Flop, elements
from pytest_roofline.counting.functions import ACTIVATION, SOFTMAX, SOFTMAX_BACKWARD

_QUANTISE = 5
"""As `quantize_per_tensor` (see `arithmetic`)."""

_DEQUANTISE = 2
"""Difference to the zero point, product with the scale."""

_POINTWISE: Mapping[str, int] = {
    "none": 0,
    "add": 1,
    "sub": 1,
    "mul": 1,
    "div": 1,
    "swish": ACTIVATION["silu"],
    **ACTIVATION,
}
"""What oneDNN's fused operations append, by the names that torch gives it."""


def results(call: Call) -> int:
    """Elements of the result, the first of several."""
    return elements(call.targets[:1])


def together(*parts: Flop) -> Flop:
    """The sum of several costs; None where one of them isn't known."""

    def flop(call: Call) -> int | None:
        total = 0
        for part in parts:
            if (one := part(call)) is None:
                return None
            total += one
        return total

    return flop


def per_product(flop: int) -> Flop:
    """``flop`` for each element of the result."""
    return lambda call: flop * results(call)


def bias(argument: str = "bias") -> Flop:
    """One sum for each element of the result, where a bias is given."""
    return lambda call: results(call) if call.arguments.get(argument) is not None else 0


def bias_gradient(call: Call) -> int:
    """Sum of the result's gradient over all but the channels, where it is asked for."""
    mask = call.arguments["output_mask"]
    return elements([call.arguments["grad_output"]]) if len(mask) > 2 and mask[2] else 0


def weights_bias_gradient(call: Call) -> int:
    return elements([call.arguments["grad_output"]]) if call.arguments["bias_defined"] else 0


def scaled(call: Call) -> int:
    """Factors of ``beta * self + alpha * product`` that aren't 1, where the sum itself is part of the product."""
    return _factors(call, "self")


def added(summand: str = "self") -> Callable[[Call], int]:
    """``beta * summand + alpha * product``: a sum, unless beta is 0, and the factors that aren't 1."""
    return lambda call: _factors(call, summand) + (0 if call.arguments.get("beta", 1) == 0 else results(call))


def _factors(call: Call, summand: str) -> int:
    beta, alpha = call.arguments.get("beta", 1), call.arguments.get("alpha", 1)
    flop = results(call) if alpha != 1 else 0
    return flop + (0 if beta in (0, 1) else elements([call.arguments[summand]]))


def relu_or_gelu(call: Call) -> int:
    """ReLU, or GELU where that is asked for."""
    return ACTIVATION["gelu" if call.arguments["use_gelu"] else "relu"] * results(call)


def added_and_relu(call: Call) -> int:
    """A convolution plus ``alpha * z``, and ReLU."""
    return (1 + (call.arguments["alpha"] not in (None, 1)) + ACTIVATION["relu"]) * results(call)


def named_activation(call: Call) -> int | None:
    """The activation that the argument of this name asks for; None: one that is not known."""
    each = _POINTWISE.get(call.arguments.get("activation") or "none")
    return None if each is None else each * results(call)


def appended(call: Call) -> int | None:
    """oneDNN: an activation, or another tensor (times ``alpha``) and then an activation; None: one not known."""
    given = call.arguments
    names = [given.get(name) or "none" for name in ("attr", "binary_attr", "unary_attr")]
    if not all(name in _POINTWISE for name in names):
        return None
    factor = given.get("alpha") not in (None, 1)
    return (sum(_POINTWISE[name] for name in names) + factor) * results(call)


def scales_of_both(call: Call) -> int:
    """Operands that are stored scaled: their scales meet every result. Those of blocks count like those of rows."""
    return 2 * results(call)


def dequantised(source: str) -> Callable[[Call], int]:
    """Weights that are packed as small integers, one for each column of the result and each term in ``source``."""
    return lambda call: _DEQUANTISE * call.result_shape[-1] * call.shape(source)[-1]


def quantised_input(call: Call) -> int:
    """Input quantised on the way; a scale on either side of every block of terms."""
    source = call.arguments["inp"]
    blocks: int = max(call.shape("inp")[-1] // call.arguments["block_size"], 1)
    return _QUANTISE * elements([source]) + 2 * blocks * results(call)


def cross_entropy(call: Call) -> int:
    """Logarithm of the softmax of all logits, and its gradient in the same pass where any is asked for."""
    rows, classes = call.shape("input")[0], call.shape("linear_weight")[0]
    asked = [name for name in ("input", "linear_weight", "linear_bias") if call.arguments.get(f"compute_{name}_grad")]
    biased = call.arguments.get("linear_bias") is not None
    gradients = (SOFTMAX_BACKWARD if asked else 0) + ("linear_bias" in asked)
    return rows * classes * (SOFTMAX + biased + gradients)


def euclidean_distance(call: Call) -> int:
    """Squares and their sums on both sides, a factor of -2 on one; maximum with 0 and root of every result."""
    one, other = (elements([call.arguments[name]]) for name in ("x1", "x2"))
    return 3 * one + 2 * other + 2 * results(call)
