"""Attention in its back ends and the fused inference paths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS

KNOWN = 12_582_912
"""Scaled dot product attention of (1, 12, 64, 64) with itself: 2 x 2 x 12 x 64 x 64 x 64."""

BACK_ENDS = ("flash_attention", "efficient_attention", "cudnn_attention", "fused_attention_overrideable")


def heads() -> Tensor:
    return torch.randn(1, 12, 64, 64, requires_grad=True)


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("back_end", [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], ids=lambda one: one.name)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_counts_the_same_on_every_back_end(
    back_end: Any, inference: bool, causal: bool, flop: Callable[..., float]
) -> None:
    """torch alone counts 0 on the CPU. The masked half of causal attention counts: the number is the workload's."""
    query = heads()
    with torch.inference_mode(inference), sdpa_kernel(back_end):
        assert flop(lambda: functional.scaled_dot_product_attention(query, query, query, is_causal=causal)) == KNOWN


def pairs(query: Tensor, key: Tensor) -> int:
    """Every query head of every sample, every query, every key: by walking."""
    batch, heads, queries, _ = query.shape
    return sum(1 for _ in product(range(batch), range(heads), range(queries), range(key.shape[-2])))


SIZE = st.integers(1, 4)


@settings(deadline=None, max_examples=30)
@given(SIZE, SIZE, SIZE, SIZE, st.integers(1, 3), st.booleans(), st.sampled_from(["none", "causal", "mask"]))
def test_attention_of_any_shape(
    batch: int, key_heads: int, queries: int, keys: int, group: int, fused: bool, masked: str
) -> None:
    """Queries and keys of different lengths, shared keys, masks: scores and sums, forward and backward, as walked."""
    width = 4
    query = torch.randn(batch, key_heads * group, queries, width, requires_grad=True)
    key = torch.randn(batch, key_heads, keys, width, requires_grad=True)
    value = torch.randn(batch, key_heads, keys, width, requires_grad=True)
    mask = torch.zeros(queries, keys) if masked == "mask" else None

    def attention() -> Tensor:
        return functional.scaled_dot_product_attention(
            query, key, value, mask, is_causal=masked == "causal", enable_gqa=group > 1
        )

    back_end = SDPBackend.FLASH_ATTENTION if fused else SDPBackend.MATH
    forward, backward = 2 * width, (5 if fused else 4) * width
    with sdpa_kernel(back_end):
        for step, macs in ((attention, forward), (attention().sum().backward, backward)):
            work = count_step(step, model=nn.Identity()).work
            assert work.uncovered == ()
            assert work.flop_per_step == 2 * macs * pairs(query, key)


@pytest.mark.parametrize(
    ("forward", "backward", "packed", "tokens_first"),
    [
        *((f"_scaled_dot_product_{one}", f"_scaled_dot_product_{one}_backward", None, False) for one in BACK_ENDS),
        ("_cudnn_attention_forward", "_cudnn_attention_backward", "cum_seq_q", False),
        ("_flash_attention_forward", "_flash_attention_backward", "cum_seq_q", True),
        ("_efficient_attention_forward", "_efficient_attention_backward", "cu_seqlens_q", True),
    ],
)
def test_back_ends_of_accelerators(forward: str, backward: str, packed: str | None, tokens_first: bool) -> None:
    """Their operations by hand: 8 heads of 5 queries, keys 4 and values 6 wide. Sequences that are packed into one, of
    unknown lengths, are unknown work.
    """
    shapes = {"query": (2, 8, 5, 4), "key": (2, 8, 7, 4), "value": (2, 8, 7, 6)}
    arguments: dict[str, Any] = {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}
    if tokens_first:
        arguments = {name: tensor.transpose(1, 2) for name, tensor in arguments.items()}
    if packed is not None:
        assert counted(f"aten::{forward}", {**arguments, packed: torch.empty(3, device="meta")}) is None
        arguments[packed] = None
    pairs = 2 * 8 * 5 * 7
    assert counted(f"aten::{forward}", arguments) == 2 * pairs * (4 + 6)
    assert counted(f"aten::{backward}", arguments) == 2 * pairs * (3 * 4 + 2 * 6)


def test_flexible_attention_computes_the_blocks_that_its_mask_has(flop: Callable[..., float]) -> None:
    """Of causal blocks of 128 in 256 tokens three of four; without a mask every pair. 2 samples, 4 heads of 2."""
    query, key, value = torch.randn(2, 4, 256, 16), torch.randn(2, 2, 256, 16), torch.randn(2, 2, 256, 8)
    causal = create_block_mask(lambda _b, _h, i, j: i >= j, None, None, 256, 256, device="cpu")
    of_pair = 2 * (16 + 8)
    for mask, pairs in ((None, 256 * 256), (causal, 3 * 128 * 128)):
        with torch.no_grad():
            assert flop(lambda mask=mask: attend(query, key, value, mask)) == 2 * 4 * pairs * of_pair
    backward = {"query": query, "key": key, "value": value, "block_mask": causal.as_tuple()}
    assert counted("flex_attention_backward", backward) == 2 * 4 * 3 * 128 * 128 * 2 * (3 * 16 + 2 * 8)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask | None) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        return flex_attention(query, key, value, block_mask=mask, enable_gqa=True)


def counted(name: str, arguments: dict[str, Any]) -> int | None:
    call = Call(name=name, arguments=arguments, written=frozenset(), out=frozenset(), metadata_only=False, result=None)
    return MATRIX_OPERATIONS[name].flop(call)


def tokens() -> Tensor:
    return torch.randn(2, 16, 64)


LAYER, ATTENTION = 2_228_224, 1_179_648


@pytest.mark.parametrize("gradients", [False, True], ids=["fast path", "slow path"])
def test_encoder_layer_counts_the_same_fused_or_not(gradients: bool, flop: Callable[..., float]) -> None:
    """Under inference_mode it is one operation; torch alone counts 0 there and misses attention otherwise."""
    layer, source = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval(), tokens()
    with torch.inference_mode(not gradients):
        assert flop(lambda: layer(source)) == LAYER


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("gradients", [False, True], ids=["fast path", "slow path"])
def test_multi_head_attention_counts_the_same_fused_or_not(
    gradients: bool, weights: bool, flop: Callable[..., float]
) -> None:
    """Whether or not it returns its weights."""
    layer, source = nn.MultiheadAttention(64, 4, batch_first=True).eval(), tokens()
    with torch.inference_mode(not gradients):
        assert flop(lambda: layer(source, source, source, need_weights=weights)) == ATTENTION


def test_fused_paths_are_one_operation(count: Callable[..., Counted]) -> None:
    """The fast path is counted as it runs, not by turning it off."""
    layer, source = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval(), tokens()
    with torch.inference_mode():
        (operation,) = count(lambda: layer(source)).operations
    assert (operation.name, operation.kind) == ("aten::_transformer_encoder_layer_fwd", "attention")


def test_fake_tensors_count_the_same(flop: Callable[..., float]) -> None:
    """Whichever way the layer takes on tensors without data."""
    with FakeTensorMode(), torch.inference_mode():
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
        assert flop(lambda: layer(torch.randn(2, 16, 64))) == LAYER


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
def test_padding_is_no_work_where_it_is_left_out(flop: Callable[..., float]) -> None:
    """With a padding mask the encoder's fast path drops the padding; so does the count."""
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2).eval()
    mask = torch.zeros(2, 16, dtype=torch.bool)
    mask[0, 10:] = True

    def layer(length: int) -> int:
        return 2 * (4 * length * 64 * 64 + 2 * length * length * 64 + 2 * length * 64 * 128)

    with torch.inference_mode():
        assert flop(lambda: encoder(tokens(), src_key_padding_mask=mask)) == 2 * (layer(10) + layer(16))
