"""Put together what one dispatched operation is and costs, from the tables of FLOPs, the kinds, and its traffic.

An operation without products has a kind, and one rule counts its arithmetic: one FLOP for each element of the largest
tensor that it reads or makes, whatever it does with an element (of a Fourier transform or a factorisation that is far
too little); moving, making or looking up data is none. These FLOPs stand in a column of their own, and no roof, bound
or proof rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor

from pytest_roofline.counting.calls import Call, dtype_name, has_storage, held_in, shape_text, tensors_in
from pytest_roofline.counting.flop.attention import FUSED_LAYERS
from pytest_roofline.counting.flop.matrix_operations import (
    COMPLEX_PRODUCT,
    MATRIX_OPERATIONS,
    MatrixOperation,
    Tf32,
    may_run_as_winograd,
)
from pytest_roofline.counting.flop.sparse import FLOP as SPARSE_FLOP
from pytest_roofline.counting.flop.sparse import is_sparse, packed
from pytest_roofline.counting.traffic import Traffic

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

MOVES: frozenset[Kind] = frozenset({"copy", "indexing"})
"""Kinds that only move data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedOperation:
    """One operation that was dispatched: plain values, no tensors.

    ``flop`` is matrix arithmetic; ``other_flop`` that of an operation without any, by the one rule. None where
    nothing tells.
    """

    name: str
    kind: Kind
    dtype: str
    shape: str
    flop: int | None
    other_flop: int | None
    winograd: bool
    traffic: Traffic

    @property
    def uncovered(self) -> bool:
        """Tell whether it does arithmetic that isn't counted."""
        return self.flop is None or self.other_flop is None


def counted_operation(
    call: Call,
    traffic: Traffic,
    *,
    tags: frozenset[torch.Tag],
    registered: Callable[[], int] | None,
    in_optimizer: bool,
    tf32: Tf32,
) -> CountedOperation | None:
    """Describe a call that has at least one tensor; None if it neither computes nor moves anything.

    :param tags: torch's tags of the operation.
    :param registered: gives the FLOPs by the formula that somebody registered with `torch.utils.flop_counter`, if any.
    """
    operand = (call.inputs or call.outputs)[0]
    kind: Kind = "other"
    dtype = dtype_name(operand.dtype)
    flop: int | None = 0
    other_flop: int | None = 0
    winograd = False
    if matrix := MATRIX_OPERATIONS.get(call.name):
        kind = matrix.kind
        if _cast_inside(operand, call):
            operand = call.outputs[0]
            dtype = dtype_name(operand.dtype)
        elif _would_cast_inside(operand, call):
            dtype = dtype_name(torch.get_autocast_dtype(operand.device.type))
        dtype = "tf32" if tf32.applies(operand, matrix.switch) else dtype
        flop = _matrix_flop(packed(call), matrix)
        winograd = kind == "convolution" and may_run_as_winograd(call, dtype)
    elif registered:
        flop = registered()
    elif traffic.byte or not (call.metadata_only or _all_dense(call)):
        known = kind_of(call.name, pointwise=torch.Tag.pointwise in tags)
        kind = "optimizer" if in_optimizer else known or "other"
        dtype = dtype_name((*call.targets, operand)[0].dtype)
        if known not in MOVES and _has_real_arithmetic(call) and not (known is None and _is_question(call)):
            # Of sparse and opaque tensors no shape tells how much there is to compute with, if there is anything.
            other_flop = elementwise_flop(call) if known and _all_dense(call) else None
    if flop == 0 and other_flop == 0 and not traffic.byte:
        return None
    return CountedOperation(
        name=call.name,
        kind=kind,
        dtype=dtype,
        shape=shape_text(call),
        flop=flop,
        other_flop=other_flop,
        winograd=winograd,
        traffic=traffic,
    )


def _cast_inside(operand: torch.Tensor, call: Call) -> bool:
    """Tell whether autocast cast what a fused operation is made of: it was given float32 and returns less."""
    halves = (torch.bfloat16, torch.float16)
    return operand.dtype == torch.float32 and bool(call.outputs) and call.outputs[0].dtype in halves


def _would_cast_inside(operand: torch.Tensor, call: Call) -> bool:
    """The same on fake tensors, whose fused layers call nothing in turn. To be asked while the operation runs."""
    fused = call.name in FUSED_LAYERS and operand.dtype == torch.float32
    return fused and isinstance(operand, FakeTensor) and torch.is_autocast_enabled(operand.device.type)


def _matrix_flop(call: Call, operation: MatrixOperation) -> int | None:
    """None for operands whose shape doesn't tell the work: nested ones where the formula can't, two sparse ones."""
    if any(map(is_sparse, call.inputs)):
        flop = SPARSE_FLOP[call.name](call) if call.name in SPARSE_FLOP else None
    elif all(_shape_tells(tensor, operation) for tensor in call.inputs):
        flop = operation.flop(call)
    else:
        return None
    return flop * COMPLEX_PRODUCT if flop is not None and call.inputs[0].is_complex() else flop


def _shape_tells(tensor: torch.Tensor, operation: MatrixOperation) -> bool:
    return (has_storage(tensor) or tensor.is_mkldnn) and (operation.takes_nested or not tensor.is_nested)


def _is_question(call: Call) -> bool:
    """Tell whether torch is only asked what a tensor is like (``is_coalesced``, ``sym_size``)."""
    asked = call.name.startswith("aten::") and not call.targets
    return asked and not isinstance(call.result, float | complex)


def _all_dense(call: Call) -> bool:
    """Tell whether every value is stored. A jagged tensor stores its rows in a strided one."""
    return all(tensor.layout in (torch.strided, torch.jagged) for tensor in (*call.inputs, *call.outputs))


def _has_real_arithmetic(call: Call) -> bool:
    """Tell whether floating-point numbers are involved: integers and booleans alone make no FLOP."""
    return any(tensor.is_floating_point() or tensor.is_complex() for tensor in (*call.inputs, *call.outputs))


def kind_of(name: str, *, pointwise: bool) -> Kind | None:
    """The kind of the operation with this qualified name; None where nothing is known of it.

    :param pointwise: whether torch tags the operation as pointwise.
    """
    namespace, _, base = name.partition("::")
    # Derivatives in forward mode are made of ``prims``, which have the same names.
    if namespace not in ("aten", "prims"):
        return None
    known = next((_KINDS[one] for one in spellings(base) if one in _KINDS), None)
    if known is None and base.endswith("_copy"):
        return "copy"
    return known or ("elementwise" if pointwise or base.startswith("_foreach_") else None)


def spellings(base: str) -> tuple[str, str, str]:
    """Under which names an operation may stand in the table: its own, that of its plain form, and that of forward and
    backward together.
    """
    plain = re.sub("[123]d", "Nd", base.removeprefix("_foreach_").rstrip("_"))
    return base, plain, re.sub("_(forward|backward)$", "", plain)


def elementwise_flop(call: Call) -> int:
    """One FLOP for each element of the largest argument or result; a list of tensors counts as one."""
    return max(
        sum(next(held_in(tensor)).numel() for tensor in tensors_in(value))
        for value in (*call.arguments.values(), *call.outputs)
    )


_NAMES: Mapping[Kind, str] = {
    "copy": """
        clone copy fill zero zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full
        arange linspace logspace scalar_tensor eye cat stack contiguous repeat roll flip rot90 constant_pad_nd
        reflection_padNd replication_padNd pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle
        slice_backward select_backward unfold_backward diagonal_backward slice_scatter select_scatter
        diagonal_scatter as_strided_scatter tril triu block_diag diag_embed _chunk_cat repeat_interleave
        to_padded_tensor _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _pin_memory
        _local_scalar_dense complex _efficientzerotensor _to_dense to_mkldnn mkldnn_reorder_convNd_weight
        _to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc sparse_mask _cslt_compress _stack
        _lazy_clone resize resize_as set range fft_fftfreq fft_rfftfreq tril_indices triu_indices
        _pack_padded_sequence _nested_from_padded _nested_from_padded_and_nested_example
        _nested_tensor_from_tensor_list _nested_select_backward _nested_tensor_size _nested_tensor_strides
        _nested_tensor_storage_offsets _nested_get_offsets _nested_get_lengths _nested_get_min_seqlen
        _nested_get_max_seqlen _nested_get_jagged_dummy _jagged_to_padded_dense _padded_dense_to_jagged
        _cudnn_rnn_flatten_weight _cudnn_init_dropout_state _convert_weight_to_int4pack
        _convert_weight_to_int4pack_for_cpu lu_unpack""",
    "indexing": """
        embedding index index_select gather take take_along_dim masked_select masked_scatter nonzero
        nonzero_static index_fill index_copy scatter put index_put _index_put_impl _unsafe_index
        _unsafe_index_put _unsafe_masked_index im2col max_unpoolNd searchsorted bucketize isin sort topk
        kthvalue median nanmedian mode unique_dim _unique _unique2 unique_consecutive hash_tensor
        embedding_dense_backward reflection_padNd_backward replication_padNd_backward index_add index_reduce
        scatter_add scatter_reduce _unsafe_masked_index_put_accumulate col2im embedding_renorm _embedding_bag
        _embedding_bag_forward_only _embedding_bag_dense_backward _embedding_bag_per_sample_weights_backward
        upsample_nearestNd _upsample_nearest_exactNd""",
    # Beside those that torch tags as pointwise: random numbers, fused gates, and forms in place that lack the tag.
    "elementwise": """
        normal uniform bernoulli random randn rand randint randint_like randn_like rand_like randperm
        multinomial exponential cauchy geometric log_normal poisson binomial _standard_gamma _sample_dirichlet
        normal_functional _philox_normal _philox_uniform _fill_mem_eff_dropout_mask log_sigmoid linalg_cross
        where masked_fill bitwise_and bitwise_or abs copysign eq ne ge gt le lt heaviside threshold add sub rsub
        softshrink polar floor_divide elu softplus hardswish mish relu tanh hardtanh leaky_relu hardsigmoid gelu
        _prelu_kernel rrelu_with_noise rrelu_with_noise_functional glu native_dropout _fused_dropout
        _masked_scale _add_relu quantize_per_tensor quantize_per_tensor_dynamic quantize_per_channel dequantize
        fake_quantize_per_tensor_affine_cachemask fake_quantize_per_channel_affine_cachemask
        _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fake_quantize_learnable_per_tensor_affine
        _fake_quantize_learnable_per_channel_affine hann_window hamming_window bartlett_window blackman_window
        hardshrink_backward _thnn_fused_lstm_cell _thnn_fused_gru_cell _thnn_fused_lstm_cell_backward_impl""",
    "normalisation": """
        native_batch_norm _native_batch_norm_legit cudnn_batch_norm miopen_batch_norm _batch_norm_with_update
        _batch_norm_no_update _native_batch_norm_legit_no_training native_layer_norm native_group_norm
        _fused_rms_norm batch_norm_backward batch_norm_stats batch_norm_update_stats batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_elemt batch_norm_backward_reduce batch_norm_backward_elemt
        renorm _weight_norm_interface""",
    "reduction": """
        mse_loss l1_loss smooth_l1_loss huber_loss dist binary_cross_entropy binary_cross_entropy_with_logits
        nll_loss nll_lossNd soft_margin_loss multi_margin_loss multilabel_margin_loss _ctc_loss _cudnn_ctc_loss
        miopen_ctc_loss _cdist _pdist sum nansum prod amax amin max min argmax argmin any all cumsum cumprod
        cummax cummin count_nonzero equal segment_reduce bincount _amp_update_scale _segment_reduce_backward mean
        trace linalg_vector_norm linalg__powsum norm native_norm aminmax _aminmax logcumsumexp histc histogram
        _histogramdd_from_bin_cts _histogramdd_from_bin_tensors _histogramdd_bin_edges var std var_mean std_mean
        logsumexp""",
    "pooling": """
        _adaptive_avg_poolNd adaptive_max_poolNd mkldnn_adaptive_avg_poolNd max_poolNd_with_indices avg_poolNd
        mkldnn_max_poolNd _mps_max_poolNd fractional_max_poolNd max_poolNd_backward""",
    "softmax": """
        _softmax _log_softmax _safe_softmax _masked_softmax _softmax_backward_data _log_softmax_backward_data""",
    "optimizer": "_fused_sgd _fused_adam _fused_adamw _fused_adagrad _amp_foreach_non_finite_check_and_unscale",
    # Resampling, Fourier transforms, and linear algebra by direct methods. What iterates has no entry.
    "other": """
        upsample_linearNd upsample_bilinearNd upsample_trilinearNd upsample_bicubicNd _upsample_bilinearNd_aa
        _upsample_bicubicNd_aa _upsample_lanczosNd_aa grid_sampler_Nd cudnn_grid_sampler _fft_c2c _fft_r2c
        _fft_c2r linalg_lu linalg_lu_factor_ex _linalg_det _linalg_slogdet linalg_inv_ex linalg_cholesky_ex
        cholesky linalg_ldl_factor_ex cholesky_inverse _linalg_solve_ex linalg_solve_triangular triangular_solve
        cholesky_solve _cholesky_solve_helper linalg_lu_solve linalg_ldl_solve geqrf linalg_qr
        linalg_householder_product ormqr""",
}
"""Names as in `spellings`: ``Nd`` stands for one to three dimensions. What ends in ``_copy`` copies."""

_KINDS: Mapping[str, Kind] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
