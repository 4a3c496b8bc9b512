"""Operations without matrix arithmetic: their kind, and the FLOPs of the arithmetic they do have (see `costs`).

These FLOPs stand in a column of their own, apart from matrix arithmetic. What operations with matrix arithmetic do
besides their products costs the same: see `fused`, `attention` and `recurrent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from pytest_roofline.counting import fourier, linear_algebra, losses, movement, optimizers, recurrent, resampling
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import (
    OtherOperation,
    elements,
    entries,
    none,
    per_changed,
    per_input,
    per_result,
)
from pytest_roofline.counting.functions import ACTIVATION, DROPOUT, LAYER_NORM, SOFTMAX, SOFTMAX_BACKWARD


def describe(name: str, *, pointwise: bool) -> OtherOperation | None:
    """What is known of the operation with this qualified name; None: nothing.

    :param pointwise: whether torch tags the operation as pointwise. That gives those that have no entry of their own
        one FLOP per element.
    """
    namespace, _, base = name.partition("::")
    # Derivatives in forward mode are made of ``prims``, which have the same names.
    if namespace not in ("aten", "prims"):
        return None
    each = base.startswith("_foreach_")
    # In-place and foreach forms do the arithmetic of the plain one.
    known = _TABLE.get(base) or _TABLE.get(base.removeprefix("_foreach_").rstrip("_"))
    return known or (_ELEMENTWISE if pointwise or each else None)


def _scaled_sum(call: Call) -> int:
    return (1 if call.arguments.get("alpha", 1) == 1 else 2) * elements(call.targets)


def _added_product(call: Call) -> int:
    """Product or quotient, and the sum; times a factor where that isn't 1 (or there is one for each tensor)."""
    return (2 if call.arguments.get("value", 1) == 1 and "scalars" not in call.arguments else 3) * elements(
        call.targets
    )


def _batch_norm(call: Call) -> int:
    """Mean and variance (1 + 3) where it trains; scale and shift (2) always: they are folded per channel."""
    return (6 if call.arguments["training"] else 2) * call.targets[0].numel()


def _mean(call: Call) -> int:
    return elements(call.inputs[:1]) + call.targets[0].numel()


def _trace(call: Call) -> int:
    return min(call.shape("self"))


def _window(call: Call) -> int:
    size = call.arguments["kernel_size"]
    dimensions = int(next(letter for letter in call.name if letter.isdigit()))
    return prod(size) if len(size) == dimensions else int(size[0]) ** dimensions


def _window_per_result(call: Call) -> int:
    return _window(call) * call.targets[0].numel()


def _window_per_gradient(call: Call) -> int:
    return _window(call) * elements([call.arguments["grad_output"]])


def _gated_cell(cell: recurrent.Cell) -> OtherOperation:
    """Gates of one recurrent cell, per element of the hidden state, which is the first result."""

    def counted(call: Call) -> int:
        biased = call.arguments.get("input_bias") is not None
        return cell.forward(biased=biased) * elements(call.targets[:1])

    return OtherOperation("elementwise", counted)


_ELEMENTWISE = OtherOperation("elementwise", per_changed(1))

_TABLE: Mapping[str, OtherOperation] = {
    **movement.TABLE,
    **resampling.TABLE,
    **losses.TABLE,
    **linear_algebra.TABLE,
    **fourier.TABLE,
    **optimizers.TABLE,
    # Elementwise with other than one FLOP per element.
    **entries(
        "elementwise",
        none,
        "where masked_fill bitwise_not logical_not logical_and logical_or bitwise_and bitwise_or",
    ),
    # Their forms in place lack the tag of a pointwise operation.
    **entries("elementwise", per_changed(1), "abs copysign eq ne ge gt le lt heaviside threshold"),
    **entries("elementwise", _scaled_sum, "add sub rsub"),
    **entries("elementwise", _added_product, "addcmul addcdiv"),
    **entries(
        "elementwise",
        per_changed(2),
        "clamp softshrink polar floor_divide",
    ),
    **entries(
        "elementwise",
        per_changed(3),
        "lerp elu softplus sigmoid_backward tanh_backward hardtanh_backward hardswish_backward",
    ),
    **entries("elementwise", per_changed(4), "mish"),
    **{name: OtherOperation("elementwise", per_changed(flop)) for name, flop in ACTIVATION.items()},
    **entries("elementwise", per_changed(DROPOUT), "native_dropout_backward"),
    **entries("elementwise", per_changed(6), "silu_backward"),
    **entries("elementwise", per_changed(10), "gelu_backward"),
    # A comparison and a product; the gradients of input and slope are a product each.
    **entries("elementwise", per_result(2), "_prelu_kernel rrelu_with_noise rrelu_with_noise_functional"),
    **entries("elementwise", per_result(3), "_prelu_kernel_backward"),
    # A sigmoid and a product; backward a sigmoid, its complement and three products more, shared by both halves.
    **entries("elementwise", per_result(2), "glu"),
    **entries("elementwise", per_input(5, "grad_output"), "glu_backward"),
    **entries("elementwise", per_result(DROPOUT), "native_dropout _fused_dropout _masked_scale"),
    **entries("elementwise", per_result(2), "_add_relu"),
    # Scaled, shifted, rounded and cut off on both sides; a fake quantisation goes back again.
    **entries("elementwise", per_result(5), "quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel"),
    **entries("elementwise", per_result(2), "dequantize"),
    **entries(
        "elementwise",
        per_result(7),
        """fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask
        _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fake_quantize_learnable_per_tensor_affine
        _fake_quantize_learnable_per_channel_affine""",
    ),
    # Windows: cosines of the position, each with a factor, and their sum.
    **entries("elementwise", per_result(4), "hann_window hamming_window bartlett_window"),
    **entries("elementwise", per_result(7), "blackman_window"),
    **entries(
        "elementwise",
        per_changed(1),
        """hardsigmoid_backward leaky_relu_backward threshold_backward hardshrink_backward softshrink_backward
        rrelu_with_noise_backward""",
    ),
    **entries("elementwise", per_changed(4), "elu_backward softplus_backward"),
    **entries("elementwise", per_changed(6), "mish_backward"),
    # Gates whose products are operations of their own.
    "_thnn_fused_lstm_cell": _gated_cell(recurrent.LSTM),
    "_thnn_fused_gru_cell": _gated_cell(recurrent.GRU),
    **entries("elementwise", per_input(recurrent.LSTM.gates_backward, "cx"), "_thnn_fused_lstm_cell_backward_impl"),
    **entries("elementwise", per_input(recurrent.GRU.gates_backward, "grad_hy"), "_thnn_fused_gru_cell_backward"),
    # Normalisation.
    **entries(
        "normalisation", _batch_norm, "native_batch_norm _native_batch_norm_legit cudnn_batch_norm miopen_batch_norm"
    ),
    **entries("normalisation", per_result(6), "_batch_norm_with_update"),
    **entries("normalisation", per_result(2), "_batch_norm_no_update _native_batch_norm_legit_no_training"),
    **entries("normalisation", per_result(LAYER_NORM), "native_layer_norm native_group_norm"),
    **entries("normalisation", per_result(4), "_fused_rms_norm"),
    **entries(
        "normalisation",
        per_input(8),
        "native_batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward batch_norm_backward",
    ),
    **entries(
        "normalisation",
        per_input(13),
        "native_layer_norm_backward native_group_norm_backward _fused_rms_norm_backward",
    ),
    # Of several processes together: statistics, then scale and shift.
    **entries("normalisation", per_input(4), "batch_norm_stats batch_norm_update_stats"),
    **entries("normalisation", per_input(4, "mean"), "batch_norm_gather_stats batch_norm_gather_stats_with_counts"),
    **entries("normalisation", per_result(2), "batch_norm_elemt"),
    **entries("normalisation", per_input(4, "input"), "batch_norm_backward_reduce batch_norm_backward_elemt"),
    # The norm of each slice and the product with its scale; backward the product with the gradient as well.
    **entries("normalisation", per_input(3), "renorm _weight_norm_interface"),
    **entries("normalisation", per_input(5), "_weight_norm_interface_backward"),
    # Reductions.
    **entries(
        "reduction",
        per_input(1),
        """sum nansum prod amax amin max min argmax argmin any all cumsum cumprod cummax cummin count_nonzero
        equal segment_reduce bincount _amp_update_scale""",
    ),
    **entries("reduction", per_input(1, "data"), "_segment_reduce_backward"),
    **entries("reduction", _mean, "mean"),
    **entries("reduction", _trace, "trace"),
    **entries("reduction", per_input(2), "linalg_vector_norm linalg__powsum norm native_norm aminmax _aminmax"),
    # A running logarithm of a sum of exponentials; the bin of a value.
    **entries(
        "reduction",
        per_input(3),
        "logcumsumexp histc histogram _histogramdd_from_bin_cts _histogramdd_from_bin_tensors",
    ),
    **entries("reduction", per_input(2), "_histogramdd_bin_edges"),
    **entries("reduction", per_input(4), "var std var_mean std_mean logsumexp"),
    **entries("softmax", per_result(SOFTMAX), "_softmax _log_softmax _safe_softmax _masked_softmax"),
    **entries(
        "softmax",
        per_result(SOFTMAX_BACKWARD),
        "_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward",
    ),
    # Pooling.
    **entries(
        "pooling",
        _window_per_result,
        """max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d mkldnn_max_pool2d mkldnn_max_pool3d
        _mps_max_pool2d fractional_max_pool2d fractional_max_pool3d""",
    ),
    **entries(
        "pooling",
        per_input(1, "grad_output"),
        """max_pool2d_with_indices_backward max_pool3d_with_indices_backward fractional_max_pool2d_backward
        fractional_max_pool3d_backward mkldnn_max_pool2d_backward mkldnn_max_pool3d_backward max_pool2d_backward""",
    ),
    **entries("pooling", _window_per_gradient, "avg_pool2d_backward avg_pool3d_backward"),
}
"""By name without namespace; in-place and foreach forms are found under the plain name."""
