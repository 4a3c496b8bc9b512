"""FLOPs of fused optimisers: what the same update costs written out, per element of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import OtherOperation, elements, entries, per_input

_DECAY_INTO_GRADIENT = 2
"""Weight times its decay, added to the gradient."""

_DECAY_OF_WEIGHT = 1
"""AdamW makes the weight smaller by a factor."""


def _of_parameters(flop: Callable[[Call], int]) -> Callable[[Call], int]:
    """Of each element of the parameters; a scaled gradient is unscaled first, a maximised one turned round."""

    def counted(call: Call) -> int:
        given = call.arguments
        extra = (given["grad_scale"] is not None) + bool(given["maximize"])
        return (flop(call) + extra) * elements([given["self"]])

    return counted


def _sgd(call: Call) -> int:
    """Update 2; momentum 2 (kept as it is in the first step), one more with dampening; Nesterov's look ahead 2."""
    given = call.arguments
    flop = 2 + (_DECAY_INTO_GRADIENT if given["weight_decay"] else 0)
    if given["momentum"]:
        flop += 0 if given["is_first_step"] else 2 + bool(given["dampening"])
        flop += 2 if given["nesterov"] else 0
    return flop


def _adam(decay: int) -> Callable[[Call], int]:
    """First moment 3, second 4; root, two bias corrections, epsilon, quotient and the update 6; AMSGrad's maximum 1."""

    def flop(call: Call) -> int:
        given = call.arguments
        return 13 + (decay if given["weight_decay"] else 0) + bool(given["amsgrad"])

    return flop


def _adagrad(call: Call) -> int:
    """Sum of squares 2, root and epsilon 2, update 3."""
    return 7 + (_DECAY_INTO_GRADIENT if call.arguments["weight_decay"] else 0)


TABLE: Mapping[str, OtherOperation] = {
    **entries("optimizer", _of_parameters(_sgd), "_fused_sgd_"),
    **entries("optimizer", _of_parameters(_adam(_DECAY_INTO_GRADIENT)), "_fused_adam_"),
    **entries("optimizer", _of_parameters(_adam(_DECAY_OF_WEIGHT)), "_fused_adamw_"),
    **entries("optimizer", _of_parameters(_adagrad), "_fused_adagrad_"),
    **entries("optimizer", per_input(2), "_amp_foreach_non_finite_check_and_unscale_"),
}
"""By name without namespace."""
