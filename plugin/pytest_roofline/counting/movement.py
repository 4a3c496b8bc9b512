"""Operations that move, make, choose or look up data, and the little arithmetic that updates by index have."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import OtherOperation, elements, entries, none, per_input

_MEAN, _MAXIMUM = 1, 2
"""torch's numbers of the modes of a bag of embeddings; 0 is the sum."""


def _looked_up(call: Call) -> int:
    """Elements of all rows that a bag of embeddings takes from its table."""
    return call.shape("indices")[0] * call.shape("weight")[-1]


def _renormalised(call: Call) -> int:
    """The norm of each row looked up, and its product with the scale."""
    return 3 * elements([call.arguments["indices"]]) * call.shape("self")[-1]


def _bag(call: Call) -> int:
    """A sum (or maximum) over the rows, each times its weight where there is one; the mean's quotient."""
    weighted = call.arguments["per_sample_weights"] is not None
    quotients = elements([next(iter(call.outputs))]) if call.arguments["mode"] == _MEAN else 0
    return (1 + weighted) * _looked_up(call) + quotients


def _bag_backward(call: Call) -> int:
    """A bag's gradient is added to each of its rows (of a maximum only to the largest), scaled where that was."""
    gradient = call.arguments["grad"]
    if call.arguments["mode"] == _MAXIMUM:
        return int(gradient.numel())
    scaled = call.arguments["mode"] == _MEAN or call.arguments["per_sample_weights"] is not None
    return (1 + scaled) * call.shape("indices")[0] * int(gradient.shape[-1])


def _bag_weights_backward(call: Call) -> int:
    """The product of each row with its bag's gradient."""
    return 2 * _looked_up(call)


TABLE: Mapping[str, OtherOperation] = {
    # Data moved, made or converted: no arithmetic.
    **entries(
        "copy",
        none,
        """clone copy _to_copy fill zero zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full
        arange linspace logspace scalar_tensor eye cat stack contiguous repeat roll flip rot90 constant_pad_nd
        reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
        pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle slice_backward select_backward
        unfold_backward diagonal_backward split_with_sizes_copy view_copy view_as_real_copy view_as_complex_copy
        alias_copy as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy slice_copy
        split_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy slice_scatter
        select_scatter diagonal_scatter as_strided_scatter lift_fresh_copy tril triu block_diag diag_embed _chunk_cat
        repeat_interleave to_padded_tensor _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _pin_memory
        _local_scalar_dense complex _efficientzerotensor _to_dense to_mkldnn mkldnn_reorder_conv2d_weight
        mkldnn_reorder_conv3d_weight _to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc
        sparse_mask _cslt_compress _stack _reshape_copy _reshape_alias_copy _neg_view_copy _conj_copy _lazy_clone resize
        resize_as set range fft_fftfreq fft_rfftfreq tril_indices triu_indices _pack_padded_sequence
        _nested_from_padded _nested_from_padded_and_nested_example _nested_tensor_from_tensor_list
        _nested_select_backward _nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets
        _nested_get_offsets _nested_get_lengths _nested_get_min_seqlen _nested_get_max_seqlen _nested_get_jagged_dummy
        _jagged_to_padded_dense_forward _padded_dense_to_jagged_forward
        _cudnn_rnn_flatten_weight _cudnn_init_dropout_state _convert_weight_to_int4pack
        _convert_weight_to_int4pack_for_cpu""",
    ),
    # Looked up, scattered, chosen or put in order by index. Comparing in order to sort is not counted.
    **entries(
        "indexing",
        none,
        """embedding index index_select gather take take_along_dim masked_select masked_scatter masked_scatter_backward
        nonzero nonzero_static index_fill index_copy scatter put index_put _index_put_impl _unsafe_index
        _unsafe_index_put _unsafe_masked_index im2col max_unpool2d max_unpool3d searchsorted bucketize isin sort topk
        kthvalue median nanmedian mode unique_dim _unique _unique2 unique_consecutive hash_tensor""",
    ),
    **entries("indexing", per_input(1, "grad_output"), "embedding_dense_backward"),
    **entries(
        "indexing",
        per_input(1, "grad_output"),
        """reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
        replication_pad2d_backward replication_pad3d_backward""",
    ),
    **entries("indexing", per_input(1, "source"), "index_add index_reduce"),
    **entries("indexing", per_input(1, "src"), "scatter_add scatter_reduce"),
    **entries("indexing", per_input(1, "values"), "_unsafe_masked_index_put_accumulate"),
    **entries("indexing", per_input(1), "col2im"),
    **entries("indexing", _renormalised, "embedding_renorm"),
    **entries("indexing", _bag, "_embedding_bag _embedding_bag_forward_only"),
    **entries("indexing", _bag_backward, "_embedding_bag_backward _embedding_bag_dense_backward"),
    **entries("indexing", _bag_weights_backward, "_embedding_bag_per_sample_weights_backward"),
    # Random numbers: integer arithmetic.
    **entries(
        "elementwise",
        none,
        """normal uniform bernoulli random randn rand randint randint_like randn_like rand_like randperm multinomial
        exponential cauchy geometric log_normal poisson binomial _standard_gamma _sample_dirichlet
        normal_functional _philox_normal _philox_uniform _fill_mem_eff_dropout_mask""",
    ),
}
"""By name without namespace."""
