"""FLOPs of attention in every back end, and of the fused inference paths of ``nn.MultiheadAttention`` and
``nn.TransformerEncoderLayer``.

What they do besides products is counted as torch's attention in plain operations does it (``SDPBackend.MATH``): query
and key are each multiplied with the root of the scale, a mask, causal ones too, is added to every score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from pytest_roofline.counting import formulas
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import Flop
from pytest_roofline.counting.functions import ACTIVATION, DROPOUT, LAYER_NORM, SOFTMAX, SOFTMAX_BACKWARD

_HEADS_FIRST = ("query", "key", "value")


def _forward(call: Call) -> int:
    """Query, key and value are (batch, heads, tokens, width)."""
    query, key, value = (call.shape(name) for name in _HEADS_FIRST)
    return formulas.attention_flop(query, key, value)


def _backward(call: Call) -> int:
    query, key, value = (call.shape(name) for name in _HEADS_FIRST)
    return formulas.attention_backward_flop(query, key, value)


def _tokens_first(
    flop: Callable[[formulas.Shape, formulas.Shape, formulas.Shape], int], lengths: str
) -> Callable[[Call], int | None]:
    """For kernels called with (batch, tokens, heads, width).

    :param lengths: the argument that, where given, says that sequences of different lengths are packed into one. Their
        lengths are data on the device; shapes don't tell the work.
    """

    def counted(call: Call) -> int | None:
        if call.arguments[lengths] is not None:
            return None
        batch_tokens_heads_width = (call.shape(name) for name in _HEADS_FIRST)
        return flop(*((b, h, t, w) for b, t, h, w in batch_tokens_heads_width))

    return counted


def _unless_packed(flop: Callable[[Call], int]) -> Callable[[Call], int | None]:
    """For cuDNN's kernels, which are called with heads first, or with sequences packed into one."""
    return lambda call: flop(call) if call.arguments["cum_seq_q"] is None else None


_MASKS = ("attn_mask", "attn_bias", "bias", "is_causal", "custom_mask_type")
"""Arguments that add something to the scores, where they are given, true or not 0."""

_SCORE_AGAIN = 2
"""Of a softmax whose sum is kept: difference to its logarithm, exponential."""


def _scores(*, backward: bool, tokens_first: bool = False) -> Callable[[Call], int]:
    """Scale, mask, softmax and dropout between the products.

    The backward pass of a fused kernel computes the probabilities again, as its formula of products says too.
    """

    def flop(call: Call) -> int:
        shapes = [call.shape(name) for name in _HEADS_FIRST]
        if tokens_first:
            shapes = [(batch, heads, tokens, width) for batch, tokens, heads, width in shapes]
        query, key, value = shapes
        heads, queries, keys = prod(query[:-2]), query[-2], key[-2]
        scale = heads * (queries + keys) * query[-1]
        masks = sum(_given(call.arguments.get(name)) for name in _MASKS)
        dropout = DROPOUT if call.arguments.get("dropout_p") else 0
        scores = heads * queries * keys
        if not backward:
            return scale + scores * (masks + SOFTMAX + dropout)
        again = scale + scores * (masks + _SCORE_AGAIN + dropout)
        # Each key and value's gradient is a sum over the query heads that share it.
        shared = heads * keys * (key[-1] + value[-1]) if prod(key[:-2]) < heads else 0
        return again + scale + scores * (SOFTMAX_BACKWARD + dropout) + shared

    return flop


def _given(mask: object) -> bool:
    return isinstance(mask, Tensor) or bool(mask)


def _heads_and_biases(
    queries: list[int], keys: list[int], width: int, heads: int, *, masked: bool, weights: bool, averaged: bool
) -> int:
    """Biases of four projections, and attention. Where its weights are asked for, the query alone is scaled."""
    biases = 2 * (sum(queries) + sum(keys)) * width
    scale = (sum(queries) + (0 if weights else sum(keys))) * width
    pairs = sum(query * key for query, key in zip(queries, keys, strict=True))
    mean = (heads + 1) * pairs if weights and averaged else 0
    return biases + scale + heads * pairs * (SOFTMAX + masked) + mean


def _multi_head_attention_other(call: Call) -> int | None:
    given = call.arguments
    queries, keys = lengths(given["query"]), lengths(given["key"])
    if queries is None or keys is None:
        return None
    return _heads_and_biases(
        queries,
        keys,
        given["embed_dim"],
        given["num_head"],
        masked=given["mask"] is not None,
        weights=given.get("need_weights", False),
        averaged=given.get("average_attn_weights", False),
    )


def _encoder_layer_other(call: Call) -> int | None:
    """Beside attention two norms, two sums with what went round it, two biases and the activation."""
    given = call.arguments
    tokens = lengths(given["src"])
    if tokens is None:
        return None
    hidden, width = call.shape("ffn_weight_1")
    attention = _heads_and_biases(
        tokens, tokens, width, given["num_heads"], masked=given["mask"] is not None, weights=False, averaged=False
    )
    activation = ACTIVATION["gelu" if given["use_gelu"] else "relu"]
    return attention + sum(tokens) * (width * (2 * LAYER_NORM + 2 + 1) + hidden * (1 + activation))


def _multi_head_attention(call: Call) -> int | None:
    queries, keys = lengths(call.arguments["query"]), lengths(call.arguments["key"])
    if queries is None or keys is None:
        return None
    return formulas.multi_head_attention_flop(queries, keys, call.arguments["embed_dim"])


def _encoder_layer(call: Call) -> int | None:
    tokens = lengths(call.arguments["src"])
    if tokens is None:
        return None
    width = call.arguments["embed_dim"]
    hidden = call.shape("ffn_weight_1")[0]
    return formulas.multi_head_attention_flop(tokens, tokens, width) + formulas.feed_forward_flop(
        sum(tokens), width, hidden
    )


def lengths(sequences: Tensor) -> list[int] | None:
    """Length of every sequence of (batch, tokens, width), or of a nested tensor, whose padding is left out.

    None where a nested tensor is a fake one and has no lengths.
    """
    if not sequences.is_nested:
        batch, tokens, _ = sequences.shape
        return [tokens] * batch
    if isinstance(sequences, FakeTensor):
        return None
    with _disable_current_modes():  # to ask is no operation of the step
        return [int(size[0]) for size in sequences._nested_tensor_size().tolist()]


FLOP: Mapping[str, Callable[[Call], int | None]] = {
    "aten::_scaled_dot_product_flash_attention": _forward,
    "aten::_scaled_dot_product_flash_attention_backward": _backward,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _forward,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backward,
    "aten::_scaled_dot_product_efficient_attention": _forward,
    "aten::_scaled_dot_product_efficient_attention_backward": _backward,
    "aten::_scaled_dot_product_cudnn_attention": _forward,
    "aten::_scaled_dot_product_cudnn_attention_backward": _backward,
    "aten::_scaled_dot_product_fused_attention_overrideable": _forward,
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _backward,
    "aten::_scaled_dot_product_attention_math_for_mps": _forward,
    "aten::_flash_attention_forward": _tokens_first(formulas.attention_flop, "cum_seq_q"),
    "aten::_flash_attention_backward": _tokens_first(formulas.attention_backward_flop, "cum_seq_q"),
    "aten::_efficient_attention_forward": _tokens_first(formulas.attention_flop, "cu_seqlens_q"),
    "aten::_efficient_attention_backward": _tokens_first(formulas.attention_backward_flop, "cu_seqlens_q"),
    "aten::_flash_attention_forward_no_dropout_inplace": _tokens_first(formulas.attention_flop, "cum_seq_q"),
    "aten::_cudnn_attention_forward": _unless_packed(_forward),
    "aten::_cudnn_attention_backward": _unless_packed(_backward),
    "aten::_native_multi_head_attention": _multi_head_attention,
    "aten::_triton_multi_head_attention": _multi_head_attention,
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
}
"""FLOPs of one call by qualified name; None where shapes alone don't tell."""

_WITH_TOKENS_FIRST = frozenset(
    {
        "aten::_flash_attention_forward",
        "aten::_flash_attention_backward",
        "aten::_flash_attention_forward_no_dropout_inplace",
        "aten::_efficient_attention_forward",
        "aten::_efficient_attention_backward",
    }
)

OTHER: Mapping[str, Flop] = {
    **{name: _scores(backward=name.endswith("_backward"), tokens_first=name in _WITH_TOKENS_FIRST) for name in FLOP},
    "aten::_native_multi_head_attention": _multi_head_attention_other,
    "aten::_triton_multi_head_attention": _multi_head_attention_other,
    "aten::_transformer_encoder_layer_fwd": _encoder_layer_other,
}
"""FLOPs of one call besides its products, by qualified name; asked for where those are known."""

TAKES_NESTED = frozenset({"aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"})

CASTS_INSIDE = TAKES_NESTED
"""Autocast leaves their arguments alone, and casts those of the products they are made of."""
"""Operations whose formula counts sequences of different lengths (nested tensors) without their padding."""
