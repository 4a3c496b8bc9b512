"""FLOPs of attention in every back end, and of the fused inference paths of ``nn.MultiheadAttention`` and
``nn.TransformerEncoderLayer``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.flop import formulas

_Flop = Callable[[formulas.Shape, formulas.Shape, formulas.Shape], int]
"""Of the shapes of query, key and value, each (batch, heads, tokens, width)."""

_OPERANDS = ("query", "key", "value")


def _heads_first(flop: _Flop) -> Callable[[Call], int]:
    return lambda call: flop(*(call.shape(name) for name in _OPERANDS))


_forward = _heads_first(formulas.attention_flop)
_backward = _heads_first(formulas.attention_backward_flop)


def _tokens_first(flop: _Flop, lengths: str) -> Callable[[Call], int | None]:
    """For kernels called with (batch, tokens, heads, width).

    :param lengths: the argument that, where given, says that sequences of different lengths are packed into one. Their
        lengths are data on the device; shapes don't tell the work.
    """

    def counted(call: Call) -> int | None:
        if call.arguments[lengths] is not None:
            return None
        batch_tokens_heads_width = (call.shape(name) for name in _OPERANDS)
        return flop(*((b, h, t, w) for b, t, h, w in batch_tokens_heads_width))

    return counted


def _unless_packed(flop: Callable[[Call], int]) -> Callable[[Call], int | None]:
    """For cuDNN's kernels, which are called with heads first, or with sequences packed into one."""
    return lambda call: flop(call) if call.arguments["cum_seq_q"] is None else None


def _of_blocks(flop: _Flop) -> Callable[[Call], int | None]:
    """For ``flex_attention``, which leaves out blocks of scores that its mask says are empty."""

    def counted(call: Call) -> int | None:
        pairs = _pairs_in_blocks(call)
        of_one = (1, 1, 1)
        widths = (call.shape(name)[-1] for name in _OPERANDS)
        return None if pairs is None else pairs * flop(*((*of_one, width) for width in widths))

    return counted


def _pairs_in_blocks(call: Call) -> int | None:
    """Pairs of a query and a key that are computed, of all heads; None where the mask is a fake tensor.

    The mask is `torch.nn.attention.flex_attention.BlockMask.as_tuple`: at 2 and 4 the numbers of masked and of full
    blocks, (batch or 1, heads or 1, blocks of queries), and before the last the sizes of a block. Without a mask it is
    one huge block.
    """
    batch, heads, queries, _ = call.shape("query")
    mask = call.arguments["block_mask"]
    numbers = [one for one in (mask[2], mask[4]) if one is not None]
    if any(isinstance(one, FakeTensor) for one in numbers):
        return None
    with _disable_current_modes():  # to ask is no operation of the step
        blocks = sum(one.sum(dim=-1) for one in numbers)
        pairs = (blocks * mask[-3] * mask[-2]).clamp(max=queries * call.shape("key")[-2])
        return int(pairs.expand(batch, heads).sum())


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


_FUSED = (
    *("flash_attention", "flash_attention_for_cpu", "efficient_attention", "cudnn_attention"),
    "fused_attention_overrideable",
)
"""Kernels that are called with heads first, each in a forward and a backward form."""

FLOP: Mapping[str, Callable[[Call], int | None]] = {
    **{f"aten::_scaled_dot_product_{kernel}": _forward for kernel in _FUSED},
    **{f"aten::_scaled_dot_product_{kernel}_backward": _backward for kernel in _FUSED},
    "aten::_scaled_dot_product_attention_math_for_mps": _forward,
    "aten::_flash_attention_forward": _tokens_first(formulas.attention_flop, "cum_seq_q"),
    "aten::_flash_attention_backward": _tokens_first(formulas.attention_backward_flop, "cum_seq_q"),
    "aten::_efficient_attention_forward": _tokens_first(formulas.attention_flop, "cu_seqlens_q"),
    "aten::_efficient_attention_backward": _tokens_first(formulas.attention_backward_flop, "cu_seqlens_q"),
    "aten::_flash_attention_forward_no_dropout_inplace": _tokens_first(formulas.attention_flop, "cum_seq_q"),
    "aten::_cudnn_attention_forward": _unless_packed(_forward),
    "aten::_cudnn_attention_backward": _unless_packed(_backward),
    "flex_attention": _of_blocks(formulas.attention_flop),
    "flex_attention_backward": _of_blocks(formulas.attention_backward_flop),
    "aten::_native_multi_head_attention": _multi_head_attention,
    "aten::_triton_multi_head_attention": _multi_head_attention,
    "aten::_transformer_encoder_layer_fwd": _encoder_layer,
}
"""FLOPs of one call by qualified name; None where shapes alone don't tell."""

FUSED_LAYERS = frozenset({"aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"})
"""Operations whose formula counts sequences of different lengths (nested tensors) without their padding. Autocast
leaves their arguments alone, and casts those of the products they are made of."""
