"""FLOPs of loss functions and distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import OtherOperation, elements, entries, per_input, per_result

_LOG_SUM_OF_THREE = 12
"""Maximum of three (2), differences (3), exponentials (3), their sum (2), logarithm, and the maximum again."""


def _aligned_states(call: Call) -> int | None:
    """States of all sequences' alignments with their labels, blanks between, over time; None: lengths are data."""
    times, labels = _lengths(call.arguments["input_lengths"]), _lengths(call.arguments["target_lengths"])
    if times is None or labels is None:
        return None
    return sum(time * (2 * label + 1) for time, label in zip(times, labels, strict=True))


def _lengths(given: Tensor | Sequence[int]) -> list[int] | None:
    """None where they lie on an accelerator, which to ask would mean to wait for it, or have no data."""
    if not isinstance(given, Tensor):
        return list(given)
    if given.device.type != "cpu" or isinstance(given, FakeTensor):
        return None
    with _disable_current_modes():  # to ask is no operation of the step
        return [int(length) for length in given.tolist()]


def _ctc(call: Call) -> int | None:
    """The forward variables: from three predecessors each, and the label's own log-probability.

    A. Graves et al., Connectionist Temporal Classification, 2006, in logarithms.
    """
    states = _aligned_states(call)
    return None if states is None else (_LOG_SUM_OF_THREE + 1) * states


def _ctc_backward(call: Call) -> int | None:
    """The backward variables likewise; their products with the forward ones summed by label (1 + 5), and for each
    class the difference of two exponentials times the loss's gradient (6)."""
    states = _aligned_states(call)
    if states is None:
        return None
    return (_LOG_SUM_OF_THREE + 1 + 6) * states + 6 * elements([call.arguments["log_probs"]])


def _ctc_with_gradient(call: Call) -> int | None:
    """cuDNN and MIOpen make the gradient at once."""
    there, back = _ctc(call), _ctc_backward(call)
    return None if there is None or back is None else there + back


def _per_term(norm: float) -> int:
    """Difference, its absolute value (or square, or power), and the sum or maximum."""
    return 3 if norm in (0, 1, 2, inf) else 4


def _roots(norm: float, results: int) -> int:
    return 0 if norm in (0, 1, inf) else results


def _terms(call: Call) -> int:
    """Pairs of rows times their width."""
    return call.shape("x2")[-2] * elements([call.arguments["x1"]])


def _distances(call: Call) -> int:
    norm = call.arguments["p"]
    return _per_term(norm) * _terms(call) + _roots(norm, call.targets[0].numel())


def _gradient_per_term(norm: float) -> int:
    """Difference, its sign or quotient (or power), times the gradient, and the sum."""
    return 4 if norm in (0, 1, 2, inf) else 6


def _distances_backward(call: Call) -> int:
    return _gradient_per_term(call.arguments["p"]) * _terms(call)


def _own_distances(call: Call) -> int:
    rows, width = call.shape("self")
    pairs, norm = rows * (rows - 1) // 2, call.arguments["p"]
    return _per_term(norm) * pairs * width + _roots(norm, pairs)


def _own_distances_backward(call: Call) -> int:
    """Each pair's gradient goes to both rows, with one sum more."""
    rows, width = call.shape("self")
    return (_gradient_per_term(call.arguments["p"]) + 1) * (rows * (rows - 1) // 2) * width


def _with_power(flop: int) -> Callable[[Call], int]:
    """A hinge raised to ``p`` costs one more where that isn't 1."""
    return lambda call: (flop + (call.arguments["p"] != 1)) * elements([call.arguments["self"]])


TABLE: Mapping[str, OtherOperation] = {
    **entries("reduction", per_input(3), "mse_loss l1_loss smooth_l1_loss huber_loss dist"),
    **entries("reduction", per_input(4, "self"), "mse_loss_backward smooth_l1_loss_backward huber_loss_backward"),
    **entries(
        "reduction",
        per_input(6),
        "binary_cross_entropy binary_cross_entropy_with_logits",
    ),
    **entries("reduction", per_input(6, "self"), "binary_cross_entropy_backward"),
    **entries("reduction", per_input(2, "target"), "nll_loss_forward nll_loss2d_forward"),
    **entries("reduction", per_input(1, "target"), "nll_loss_backward nll_loss2d_backward"),
    # Product with the target, exponential, one more, logarithm (in the gradient a quotient), and the sum.
    **entries("reduction", per_input(5), "soft_margin_loss"),
    **entries("reduction", per_input(5, "self"), "soft_margin_loss_backward"),
    # Margin less the right score plus the other, cut off at 0, and the sum.
    **entries("reduction", _with_power(4), "multi_margin_loss multi_margin_loss_backward"),
    **entries("reduction", _ctc, "_ctc_loss"),
    **entries("reduction", _ctc_backward, "_ctc_loss_backward"),
    **entries("reduction", _ctc_with_gradient, "_cudnn_ctc_loss miopen_ctc_loss"),
    **entries("reduction", _distances, "_cdist_forward"),
    **entries("reduction", _distances_backward, "_cdist_backward"),
    **entries("reduction", _own_distances, "_pdist_forward"),
    **entries("reduction", _own_distances_backward, "_pdist_backward"),
    # Exponential, one more, logarithm, sign; the gradient takes the quotient instead, and a product.
    **entries("elementwise", per_result(4), "log_sigmoid_forward"),
    **entries("elementwise", per_result(4), "log_sigmoid_backward"),
}
"""By name without namespace."""
