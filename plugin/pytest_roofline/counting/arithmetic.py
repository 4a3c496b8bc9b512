"""Operations without matrix arithmetic: their kind, and the FLOPs of the arithmetic they do have.

The convention: one FLOP per result of an elementary real function (add, multiply, divide, compare, exp, tanh, …) that
the operation's definition needs for an element, whatever instructions a kernel makes of it. Moving and converting data
is none. These FLOPs stand in a column of their own, apart from matrix arithmetic. What a fused matrix-like operation
does besides its products (bias, softmax inside attention, gates of an LSTM) is not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from pytest_roofline.counting.calls import Call, tensors_in

Kind = Literal[
    "matmul",
    "convolution",
    "attention",
    "rnn",
    "normalisation",
    "elementwise",
    "reduction",
    "pooling",
    "softmax",
    "optimizer",
    "copy",
    "indexing",
    "other",
]
"""The closed set of kinds of operations."""


@dataclass(frozen=True, slots=True)
class OtherOperation:
    """``flop`` gives the FLOPs of one call."""

    kind: Kind
    flop: Callable[[Call], int]


def describe(name: str, *, pointwise: bool) -> OtherOperation | None:
    """What is known of the operation with this qualified name; None: nothing.

    :param pointwise: whether torch tags the operation as pointwise. That gives those that have no entry of their own
        one FLOP per element.
    """
    namespace, _, base = name.partition("::")
    if namespace != "aten":
        return None
    each = base.startswith("_foreach_")
    # In-place and foreach forms do the arithmetic of the plain one.
    known = _TABLE.get(base) or _TABLE.get(base.removeprefix("_foreach_").rstrip("_"))
    return known or (_ELEMENTWISE if pointwise or each else None)


def _elements(tensors: Iterable[object]) -> int:
    return sum(tensor.numel() for tensor in tensors_in(tuple(tensors)) if not tensor.is_nested)


def _none(call: Call) -> int:  # noqa: ARG001
    return 0


def _per_result(flop: int) -> Callable[[Call], int]:
    """``flop`` for each element of what the operation produces; of several results the first has the elements."""
    return lambda call: flop * call.targets[0].numel()


def _per_changed(flop: int) -> Callable[[Call], int]:
    return lambda call: flop * _elements(call.targets)


def _per_input(flop: int, argument: str | None = None) -> Callable[[Call], int]:
    def counted(call: Call) -> int:
        tensors = call.inputs[:1] if argument is None else (call.arguments[argument],)
        return flop * _elements(tensors)

    return counted


def _per_parameter(flop: int) -> Callable[[Call], int]:
    """For a fused optimiser, whose first argument lists the parameters. Weight decay costs two more."""

    def counted(call: Call) -> int:
        decay = 2 if call.arguments["weight_decay"] else 0
        return (flop + decay) * _elements(call.arguments["self"])

    return counted


def _scaled_sum(call: Call) -> int:
    return (1 if call.arguments.get("alpha", 1) == 1 else 2) * _elements(call.targets)


def _batch_norm(call: Call) -> int:
    """Mean and variance (1 + 3) where it trains; scale and shift (2) always: they are folded per channel."""
    return (6 if call.arguments["training"] else 2) * call.targets[0].numel()


def _mean(call: Call) -> int:
    return _elements(call.inputs[:1]) + call.targets[0].numel()


def _window(call: Call) -> int:
    size = call.arguments["kernel_size"]
    dimensions = int(next(letter for letter in call.name if letter.isdigit()))
    return prod(size) if len(size) == dimensions else int(size[0]) ** dimensions


def _window_per_result(call: Call) -> int:
    return _window(call) * call.targets[0].numel()


def _window_per_gradient(call: Call) -> int:
    return _window(call) * _elements([call.arguments["grad_output"]])


def _entries(kind: Kind, flop: Callable[[Call], int], names: str) -> dict[str, OtherOperation]:
    return dict.fromkeys(names.split(), OtherOperation(kind, flop))


_ELEMENTWISE = OtherOperation("elementwise", _per_changed(1))

_TABLE: Mapping[str, OtherOperation] = {
    # Data moved, made or converted: no arithmetic.
    **_entries(
        "copy",
        _none,
        """clone copy _to_copy fill zero zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full
        arange linspace scalar_tensor eye cat stack contiguous repeat roll flip constant_pad_nd reflection_pad1d
        reflection_pad2d replication_pad1d replication_pad2d pixel_shuffle pixel_unshuffle channel_shuffle
        native_channel_shuffle slice_backward select_backward unfold_backward split_with_sizes_copy view_copy
        slice_scatter select_scatter diagonal_scatter as_strided_scatter lift_fresh_copy tril triu repeat_interleave
        to_padded_tensor _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _pin_memory
        _local_scalar_dense complex""",
    ),
    # Looked up or scattered by index.
    **_entries(
        "indexing",
        _none,
        """embedding index index_select gather take take_along_dim masked_select masked_scatter nonzero
        index_fill index_copy scatter index_put _index_put_impl _unsafe_index _unsafe_index_put im2col
        upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d searchsorted bucketize sort topk""",
    ),
    **_entries("indexing", _per_input(1, "grad_output"), "embedding_dense_backward upsample_nearest2d_backward"),
    **_entries("indexing", _per_input(1, "source"), "index_add"),
    **_entries("indexing", _per_input(1, "src"), "scatter_add scatter_reduce"),
    **_entries("indexing", _per_input(1), "col2im"),
    # Random numbers: integer arithmetic.
    **_entries(
        "elementwise", _none, "normal uniform bernoulli random randn rand randint randn_like rand_like randperm"
    ),
    # Elementwise with other than one FLOP per element.
    **_entries(
        "elementwise",
        _none,
        "where masked_fill bitwise_not logical_not logical_and logical_or bitwise_and bitwise_or",
    ),
    **_entries("elementwise", _scaled_sum, "add sub rsub"),
    **_entries("elementwise", _per_changed(2), "clamp hardtanh leaky_relu silu native_dropout_backward polar"),
    **_entries(
        "elementwise",
        _per_changed(3),
        "addcmul addcdiv lerp elu softplus sigmoid_backward tanh_backward hardtanh_backward hardswish_backward",
    ),
    **_entries("elementwise", _per_changed(4), "mish hardsigmoid"),
    **_entries("elementwise", _per_changed(5), "gelu hardswish"),
    **_entries("elementwise", _per_changed(6), "silu_backward"),
    **_entries("elementwise", _per_changed(10), "gelu_backward"),
    **_entries("elementwise", _per_result(2), "native_dropout _fused_dropout"),
    **_entries("elementwise", _per_changed(1), "hardsigmoid_backward leaky_relu_backward threshold_backward"),
    **_entries("elementwise", _per_changed(4), "elu_backward softplus_backward"),
    **_entries("elementwise", _per_changed(6), "mish_backward"),
    # Normalisation.
    **_entries(
        "normalisation", _batch_norm, "native_batch_norm _native_batch_norm_legit cudnn_batch_norm miopen_batch_norm"
    ),
    **_entries("normalisation", _per_result(6), "_batch_norm_with_update"),
    **_entries("normalisation", _per_result(2), "_batch_norm_no_update _native_batch_norm_legit_no_training"),
    **_entries("normalisation", _per_result(8), "native_layer_norm native_group_norm"),
    **_entries("normalisation", _per_result(4), "_fused_rms_norm"),
    **_entries(
        "normalisation",
        _per_input(8),
        "native_batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward batch_norm_backward",
    ),
    **_entries(
        "normalisation",
        _per_input(13),
        "native_layer_norm_backward native_group_norm_backward _fused_rms_norm_backward",
    ),
    # Reductions.
    **_entries(
        "reduction",
        _per_input(1),
        """sum nansum prod amax amin max min argmax argmin any all aminmax cumsum cumprod count_nonzero equal
        _amp_update_scale""",
    ),
    **_entries("reduction", _mean, "mean"),
    **_entries("reduction", _per_input(2), "linalg_vector_norm norm"),
    **_entries("reduction", _per_input(4), "var std var_mean std_mean logsumexp"),
    **_entries("reduction", _per_input(3), "mse_loss l1_loss smooth_l1_loss huber_loss"),
    **_entries("reduction", _per_input(4), "mse_loss_backward smooth_l1_loss_backward huber_loss_backward"),
    **_entries("reduction", _per_input(6), "binary_cross_entropy binary_cross_entropy_backward"),
    **_entries("reduction", _per_input(2, "target"), "nll_loss_forward nll_loss2d_forward"),
    **_entries("reduction", _per_input(1, "target"), "nll_loss_backward nll_loss2d_backward"),
    # Softmax: maximum, difference, exponential, sum, quotient (or difference).
    **_entries("softmax", _per_result(5), "_softmax _log_softmax _safe_softmax _masked_softmax"),
    **_entries("softmax", _per_result(4), "_softmax_backward_data _log_softmax_backward_data _masked_softmax_backward"),
    # Pooling.
    **_entries(
        "pooling",
        _window_per_result,
        "max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d mkldnn_max_pool2d _mps_max_pool2d",
    ),
    **_entries(
        "pooling", _per_input(1, "grad_output"), "max_pool2d_with_indices_backward max_pool3d_with_indices_backward"
    ),
    **_entries("pooling", _window_per_gradient, "avg_pool2d_backward avg_pool3d_backward"),
    **_entries(
        "pooling",
        _per_input(1),
        """_adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
        mkldnn_adaptive_avg_pool2d""",
    ),
    **_entries(
        "pooling",
        _per_result(1),
        """_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward
        adaptive_max_pool3d_backward""",
    ),
    # Fused optimisers: momentum 2, update 2; Adam: first moment 3, second moment 4, root, bias, quotient 3, update 2.
    **_entries("optimizer", _per_parameter(4), "_fused_sgd_"),
    **_entries("optimizer", _per_parameter(12), "_fused_adam_ _fused_adamw_"),
    **_entries("optimizer", _per_parameter(6), "_fused_adagrad_"),
    **_entries("optimizer", _per_input(2), "_amp_foreach_non_finite_check_and_unscale_"),
}
"""By name without namespace; in-place and foreach forms are found under the plain name."""
