"""The operations that do matrix arithmetic, and what each call of one costs.

The table is the single place where an operation's name meets its formula: products, convolutions and recurrent layers
stand here, attention in a module of its own. `MATRIX_OPERATIONS` has them all.

torch has such a registry too (`torch.utils.flop_counter`). It lacks CPU attention, the fused inference paths, recurrent
layers and ``mv``, and its formula for the backward of grouped convolutions ignores the groups; it serves here only for
operations that somebody registered a formula for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor

from pytest_roofline.counting.calls import Call, all_alike, tensors_in
from pytest_roofline.counting.flop import attention, formulas, sparse

Flop = Callable[[Call], int | None]
"""FLOPs of one call; None where its shapes and settings don't tell."""

Switch = Literal["matmul", "convolution"]
"""Which of torch's two TF32 switches governs an operation: that of cuBLAS or that of cuDNN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixOperation:
    """What is known of a matrix-like operation.

    ``flop`` gives the FLOPs of one call's products, or None where shapes alone don't tell; biases, activations and
    scales beside them are not counted. ``switch`` is None where TF32 never applies: matrix-vector products don't run
    on tensor cores. ``takes_nested``: the formulas know nested tensors. Where an operand is sparse another formula
    stands in `sparse.FLOP`.
    """

    kind: Literal["matmul", "convolution", "attention", "rnn"]
    flop: Flop
    switch: Switch | None
    takes_nested: bool = False


COMPLEX_PRODUCT = 4
"""A product of complex numbers is four real multiply-accumulates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tf32:
    """torch's two TF32 switches as they stood while the step ran: cuBLAS's (`torch.backends.cuda.matmul`) and cuDNN's
    (`torch.backends.cudnn`). They act on CUDA devices only.
    """

    matmul: bool = False
    convolution: bool = False

    def applies(self, tensor: Tensor, switch: Switch | None) -> bool:
        """Tell whether an operation on ``tensor`` that ``switch`` governs computes in TF32."""
        if tensor.dtype not in (torch.float32, torch.complex64) or tensor.device.type != "cuda":
            return False
        return self.lets(switch)

    def lets(self, switch: Switch | None) -> bool:
        """Tell whether what ``switch`` governs may compute in TF32."""
        return switch is not None and (self.matmul if switch == "matmul" else self.convolution)


def _product(left: str, right: str) -> Callable[[Call], int]:
    def flop(call: Call) -> int:
        *batch, rows, depth = call.shape(left)
        return formulas.product_flop(rows, call.shape(right)[-1], depth, prod(batch))

    return flop


def _matrix_vector(matrix: str) -> Callable[[Call], int]:
    return lambda call: formulas.FLOP_PER_MAC * prod(call.shape(matrix))


def _linear(source: str, weight: str) -> Callable[[Call], int]:
    """Every weight, (out, in), meets every row of ``source`` (..., in)."""

    def flop(call: Call) -> int:
        out, depth = call.shape(weight)
        return formulas.product_flop(prod(call.shape(source)[:-1]), out, depth)

    return flop


def _into_result(source: str, *, summed: int = -1, stored: int = 1) -> Callable[[Call], int]:
    """For packed weights, whose shape doesn't show: a dimension of ``source`` is summed over for each result.

    :param summed: which one.
    :param stored: one of so many weights is stored and multiplied.
    """
    return lambda call: formulas.product_flop(prod(call.result_shape), 1, call.shape(source)[summed]) // stored


def _scaled_product(call: Call) -> int:
    """Two values of 4 bits share an element."""
    packed = call.arguments["self"].dtype is torch.float4_e2m1fn_x2
    return _product("self", "mat2")(call) * (2 if packed else 1)


def _grouped_product(call: Call) -> int:
    """A product for each group. One that is given in two dimensions is cut into groups of rows, columns or terms.

    Rows that no group takes count as well: where the cuts are is data.
    """
    left, right = call.shape("self"), call.shape("mat2")
    groups = left[0] if len(left) == len(right) == 3 else 1
    packed = call.arguments["self"].dtype is torch.float4_e2m1fn_x2
    return formulas.product_flop(left[-2], right[-1], left[-1], groups) * (2 if packed else 1)


def _each_product(call: Call) -> int:
    pairs = zip(call.arguments["self"], call.arguments["mat2"], strict=True)
    return sum(formulas.product_flop(left.shape[0], right.shape[1], left.shape[1]) for left, right in pairs)


def _euclidean_distance(call: Call) -> int:
    """x² - 2xy + y² for every pair of rows as one product: both sides get a column for their square, one of ones."""
    *batch, rows, width = call.shape("x1")
    return formulas.product_flop(rows, call.shape("x2")[-2], width + 2, prod(batch))


def _affine_grid(call: Call) -> int:
    """Every position, with a 1 for the shift, meets a (d, d + 1) matrix: coordinates x, y (, z)."""
    shape = call.shape("grad") if "grad" in call.arguments else call.result_shape
    return formulas.product_flop(prod(shape), 1, shape[-1] + 1)


def _linear_cross_entropy(call: Call) -> int:
    """Logits, and in the same pass the gradients of input and weight that are asked for."""
    asked = (call.arguments.get(f"compute_{name}_grad", False) for name in ("input", "linear_weight"))
    return (1 + sum(map(bool, asked))) * _linear("input", "linear_weight")(call)


def _gradients(call: Call) -> int:
    """Say how many of the gradients of input and weight are asked for. That of the bias is no matrix arithmetic."""
    return sum(1 for wanted in call.arguments["output_mask"][:2] if wanted)


def _trilinear(call: Call) -> int:
    def factor(number: str) -> list[int]:
        shape = list(call.shape(f"i{number}"))
        for dimension in sorted(call.arguments[f"expand{number}"]):
            shape.insert(dimension, 1)
        return shape

    first_pair = set(call.arguments["sumdim"]) & set(call.arguments["expand3"])
    return formulas.trilinear_flop(factor("1"), factor("2"), factor("3"), sorted(first_pair))


def _convolution(source: str, weight: str = "weight", *, transposed: bool | None = None) -> Callable[[Call], int]:
    """:param transposed: None where the operation has an argument that says so."""

    def flop(call: Call) -> int:
        turned = call.arguments["transposed"] if transposed is None else transposed
        shape = call.shape(source)
        positions = shape if turned else call.result_shape
        return formulas.convolution_flop(shape[0], positions[2:], call.shape(weight))

    return flop


def _convolution_backward(source: str, *, transposed: bool | None = None) -> Callable[[Call], int]:
    """The half for the input's gradient counts only where it is asked for: a model's first layer needs none."""

    def flop(call: Call) -> int:
        turned = call.arguments["transposed"] if transposed is None else transposed
        positions = call.shape(source if turned else "grad_output")
        return _gradients(call) * formulas.convolution_flop(positions[0], positions[2:], call.shape("weight"))

    return flop


def _deformable_backward(call: Call) -> int:
    """The gradients of what was sampled and of the weight are always made."""
    gradient = call.shape("grad")
    return 2 * formulas.convolution_flop(gradient[0], gradient[2:], call.shape("weight"))


def _time_batch_channel_convolution(call: Call) -> int:
    """Weight (kernel, in, out), result (time, batch, out)."""
    time, batch, _ = call.result_shape
    return formulas.convolution_flop(batch, (time,), call.shape("weight"))


def _matmul(flop: Flop, *, switch: Switch | None = "matmul") -> MatrixOperation:
    return MatrixOperation(kind="matmul", flop=flop, switch=switch)


def _conv(flop: Flop) -> MatrixOperation:
    return MatrixOperation(kind="convolution", flop=flop, switch="convolution")


def _alike(operation: MatrixOperation, names: str) -> dict[str, MatrixOperation]:
    """Operations of aten that cost alike; ``names`` without namespace, separated by blanks."""
    return {f"aten::{name}": operation for name in names.split()}


_PRODUCTS: Mapping[str, MatrixOperation] = {
    **_alike(_matmul(_product("self", "mat2")), "mm bmm _int_mm"),
    **_alike(
        _matmul(_product("mat1", "mat2")),
        "addmm addmm_ _addmm_activation _sparse_semi_structured_mm _sparse_semi_structured_addmm",
    ),
    **_alike(_matmul(_product("batch1", "batch2")), "baddbmm baddbmm_ addbmm addbmm_"),
    **_alike(_matmul(_scaled_product), "_scaled_mm _scaled_mm_v2"),
    **_alike(_matmul(_each_product), "_foreach_mm"),
    **_alike(_matmul(_grouped_product), "_grouped_mm _scaled_grouped_mm _scaled_grouped_mm_v2"),
    **_alike(_matmul(_linear("self", "mat2")), "_weight_int8pack_mm"),
    **_alike(
        _matmul(_into_result("self")),
        "_weight_int4pack_mm _weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros",
    ),
    **_alike(_matmul(_into_result("inp")), "_dyn_quant_matmul_4bit"),
    **_alike(_matmul(_into_result("input")), "_mixed_dtypes_linear"),
    **_alike(_matmul(_into_result("input", stored=2)), "_sparse_semi_structured_linear"),
    **_alike(_matmul(_into_result("dense_B", summed=0, stored=2)), "_cslt_sparse_mm"),
    "torch_nn::_linear_cross_entropy_batch_chunked": _matmul(_linear_cross_entropy),
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction": _matmul(_linear_cross_entropy),
    **_alike(_matmul(_linear("input", "weight")), "linear"),
    **_alike(_matmul(_linear("self", "weight")), "mkldnn_linear"),
    "mkldnn::_linear_pointwise": _matmul(_linear("X", "W")),
    **_alike(
        _matmul(lambda call: _gradients(call) * _linear("self", "weight")(call)),
        "linear_backward mkldnn_linear_backward",
    ),
    **_alike(_matmul(_linear("grad_output", "weight")), "mkldnn_linear_backward_input mkldnn_linear_backward_weights"),
    **_alike(_matmul(_euclidean_distance), "_euclidean_dist"),
    **_alike(_matmul(_affine_grid), "affine_grid_generator affine_grid_generator_backward"),
    **_alike(_matmul(_affine_grid, switch=None), "cudnn_affine_grid_generator cudnn_affine_grid_generator_backward"),
    **_alike(_matmul(_trilinear), "_trilinear"),
    **_alike(_matmul(_matrix_vector("self"), switch=None), "mv dot vdot"),
    **_alike(_matmul(_matrix_vector("mat"), switch=None), "addmv addmv_"),
    **_alike(_matmul(lambda call: formulas.FLOP_PER_MAC * prod(call.result_shape), switch=None), "addr addr_"),
}

_CONVOLUTIONS: Mapping[str, MatrixOperation] = {
    **_alike(_conv(_convolution("input")), "convolution _convolution convolution_overrideable"),
    **_alike(_conv(_convolution("input", transposed=False)), "_nnpack_spatial_convolution"),
    **_alike(
        _conv(_convolution("self", transposed=False)),
        """mkldnn_convolution cudnn_convolution miopen_convolution miopen_depthwise_convolution _mps_convolution
        _slow_conv2d_forward slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d _conv_depthwise2d
        conv_depthwise3d cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution_relu
        miopen_convolution_add_relu""",
    ),
    **_alike(
        _conv(_convolution("self", transposed=True)),
        """cudnn_convolution_transpose miopen_convolution_transpose slow_conv_transpose2d slow_conv_transpose3d
        _mps_convolution_transpose""",
    ),
    **_alike(_conv(_time_batch_channel_convolution), "conv_tbc"),
    **_alike(_conv(_convolution_backward("input")), "convolution_backward convolution_backward_overrideable"),
    **_alike(_conv(_convolution_backward("self", transposed=False)), "_slow_conv2d_backward mps_convolution_backward"),
    **_alike(_conv(_convolution_backward("self", transposed=True)), "mps_convolution_transpose_backward"),
    "mkldnn::_convolution_pointwise": _conv(_convolution("X", "W", transposed=False)),
    "mkldnn::_convolution_pointwise_": _conv(_convolution("X", "W", transposed=False)),
    "mkldnn::_convolution_transpose_pointwise": _conv(_convolution("X", "W", transposed=True)),
    "torchvision::deform_conv2d": _conv(_convolution("input", transposed=False)),
    "torchvision::_deform_conv2d_backward": _conv(_deformable_backward),
}


def _layers(*weights: str) -> Callable[[Call], int]:
    """All layers and directions of a call; ``weights`` names the arguments (tensors or lists) that hold weights."""

    def flop(call: Call) -> int:
        # (time, batch, features) in either order, or packed (time steps of all sequences, features).
        steps = prod(call.shape("input")[:-1])
        held = tensors_in([call.arguments[name] for name in weights])
        return formulas.recurrent_flop(steps, [tuple(weight.shape) for weight in held])

    return flop


def _both_gradients(forward: Callable[[Call], int]) -> Callable[[Call], int]:
    """The gradients of input and state take one more pass over the weights, those of the weights another."""
    return lambda call: 2 * forward(call)


def _masked_gradients(forward: Callable[[Call], int]) -> Callable[[Call], int]:
    """cuDNN and MIOpen: the pass through time is always made, the weights' gradients where asked for (last mask)."""
    return lambda call: (2 if call.arguments["output_mask"][3] else 1) * forward(call)


_ONEDNN = _layers("weight0", "weight1")
_ONEDNN_BACKWARD = _layers("weight1", "weight2")
_LIST = _layers("weight")
_MPS = _layers("params")

_RECURRENT: Mapping[str, Flop] = {
    # One layer and direction a call: input weight, hidden weight (then biases).
    "aten::mkldnn_rnn_layer": _ONEDNN,
    "aten::mkldnn_rnn_layer_backward": _both_gradients(_ONEDNN_BACKWARD),
    "aten::_cudnn_rnn": _LIST,
    "aten::_cudnn_rnn_backward": _masked_gradients(_LIST),
    "aten::miopen_rnn": _LIST,
    "aten::miopen_rnn_backward": _masked_gradients(_LIST),
    "aten::_lstm_mps": _MPS,
    "aten::lstm_mps_backward": _both_gradients(_MPS),
}
"""Layers that run as one fused operation. Those that run cell by cell dispatch their products one by one."""

MATRIX_OPERATIONS: Mapping[str, MatrixOperation] = {
    **_PRODUCTS,
    **_CONVOLUTIONS,
    **{
        name: MatrixOperation(
            kind="attention",
            flop=flop,
            switch="matmul",
            takes_nested=name in attention.FUSED_LAYERS,
        )
        for name, flop in attention.FLOP.items()
    },
    **{name: _matmul(flop) for name, flop in sparse.FLOP.items() if name not in _PRODUCTS},
    **{name: MatrixOperation(kind="rnn", flop=flop, switch="convolution") for name, flop in _RECURRENT.items()},
}
"""Every matrix-like operation with a formula, by qualified name."""


def may_run_as_winograd(call: Call, dtype: str) -> bool:
    """Tell whether a convolution, or the backward of one, may run with 1/2.25 of its multiplications.

    So it may in fp32 with a 3x3 kernel, stride 1, no dilation and no groups (Lavin and Gray, 2015, F(2x2, 3x3)).
    """
    given = call.arguments
    weight = given.get("weight", given.get("W"))
    if dtype != "fp32" or weight is None or tuple(weight.shape[2:]) != (3, 3):
        return False
    return all(all_alike(given.get(name, 1)) == 1 for name in ("stride", "dilation", "groups"))
