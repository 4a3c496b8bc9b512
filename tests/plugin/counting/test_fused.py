"""Other FLOPs of matrix operations: what is fused costs as much as the same written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from pytest_roofline.counting import attention, count_step, recurrent
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.matrix import MATRIX_OPERATIONS


def other(step: Callable[[], object]) -> float:
    """Other FLOPs of a call, none of whose operations lacks a formula."""
    work = count_step(step, model=nn.Identity()).work
    assert work.uncovered == ()
    assert work.other_flop_per_step is not None
    return work.other_flop_per_step


A, B, BIAS, FULL = torch.randn(3, 4), torch.randn(4, 5), torch.randn(5), torch.randn(3, 5)
STACK, OTHER_STACK = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
IMAGE, KERNEL, CHANNELS = torch.randn(2, 4, 6, 6), torch.randn(3, 4, 3, 3), torch.randn(3)

SAME: dict[str, tuple[Callable[[], Tensor], Callable[[], Tensor]]] = {
    "addmm": (lambda: torch.addmm(BIAS, A, B), lambda: A @ B + BIAS),
    "addmm, scaled": (lambda: torch.addmm(FULL, A, B, beta=2, alpha=3), lambda: (A @ B) * 3 + FULL * 2),
    "addmm, without a sum": (lambda: torch.addmm(FULL, A, B, beta=0), lambda: A @ B),
    "linear": (lambda: functional.linear(A, B.t(), BIAS), lambda: A @ B + BIAS),
    "baddbmm": (lambda: torch.baddbmm(FULL, STACK, OTHER_STACK), lambda: torch.bmm(STACK, OTHER_STACK) + FULL),
    "addmv": (lambda: torch.addmv(torch.ones(3), A, torch.ones(4)), lambda: A.mv(torch.ones(4)) + torch.ones(3)),
    "ReLU": (lambda: torch._addmm_activation(BIAS, A, B), lambda: functional.relu(A @ B + BIAS)),
    "GELU": (
        lambda: torch._addmm_activation(BIAS, A, B, use_gelu=True),
        lambda: functional.gelu(A @ B + BIAS),
    ),
    "convolution": (
        lambda: functional.conv2d(IMAGE, KERNEL, CHANNELS),
        lambda: functional.conv2d(IMAGE, KERNEL) + CHANNELS[:, None, None],
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_fused_and_written_out_cost_the_same(name: str) -> None:
    """And give the same."""
    fused, written_out = SAME[name]
    torch.testing.assert_close(fused(), written_out())
    assert other(fused) == other(written_out)


def test_the_gradient_of_a_bias_is_a_sum() -> None:
    """Of a convolution's, which is made in the same operation, as of a linear layer's: 2 x 3 x 4 x 4 elements."""
    weight, bias = KERNEL.clone().requires_grad_(), CHANNELS.clone().requires_grad_()
    for given, expected in ((bias, 2 * 3 * 4 * 4), (None, 0)):
        result = functional.conv2d(IMAGE, weight, given)
        gradient = torch.ones_like(result)
        assert other(lambda result=result, gradient=gradient: result.backward(gradient)) == expected
        weight.grad = bias.grad = None


ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "mask": {"attn_mask": torch.zeros(5, 7)},
    "boolean mask": {"attn_mask": torch.ones(5, 7, dtype=torch.bool)},
}

QUERIES, KEYS, WIDTH, HEADS = 5, 7, 8, 2 * 4


@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_costs_the_same_on_every_back_end(name: str, key_heads: int) -> None:
    """But that a fused kernel makes the probabilities again on its way back: scale, mask, difference, exponential."""
    query = torch.randn(2, 4, QUERIES, WIDTH, requires_grad=True)
    key, value = (torch.randn(2, key_heads, KEYS, WIDTH, requires_grad=True) for _ in range(2))
    costs = []
    for back_end in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        query.grad = key.grad = value.grad = None

        def step() -> Tensor:
            return functional.scaled_dot_product_attention(
                query, key, value, enable_gqa=key_heads < 4, **ATTENTION[name]
            )

        with sdpa_kernel(back_end):
            result = step()
            gradient = torch.ones_like(result)
            costs.append((other(step), other(lambda result=result, gradient=gradient: result.backward(gradient))))
    (fused, fused_back), (plain, plain_back) = costs
    again = HEADS * ((QUERIES + KEYS) * WIDTH + QUERIES * KEYS * (2 + bool(ATTENTION[name])))
    assert fused == plain
    assert fused_back - plain_back == again


def test_dropout_in_attention() -> None:
    """A comparison and a factor for every score; twice on the way back, where the probabilities are made again."""
    shape = torch.empty(2, 4, 5, 8, device="meta")
    plain = {"query": shape, "key": shape, "value": shape, "dropout_p": 0.0}
    scores = 2 * 4 * 5 * 5
    for name, times in (("", 1), ("_backward", 2)):
        cost = attention.OTHER[f"aten::_scaled_dot_product_flash_attention{name}"]
        without, dropped = cost(call(**plain)), cost(call(**{**plain, "dropout_p": 0.1}))
        assert without is not None
        assert dropped == without + times * 2 * scores


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("mask", [None, torch.zeros(6, 6)], ids=["plain", "mask"])
def test_the_fast_path_of_an_encoder_layer(activation: str, norm_first: bool, mask: Tensor | None) -> None:
    """Biases, softmax, norms, sums and the activation, as operation by operation."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, activation=activation, norm_first=norm_first, batch_first=True).eval()
    source = torch.randn(2, 6, 16)
    slow = other(lambda: layer(source, src_mask=mask))
    with torch.inference_mode():
        work = count_step(lambda: layer(source, src_mask=mask), model=layer)
    assert [operation.name for operation in work.operations] == ["aten::_transformer_encoder_layer_fwd"]
    assert work.work.other_flop_per_step == slow


@pytest.mark.parametrize("weights", [False, True])
def test_the_fast_path_of_attention(weights: bool) -> None:
    """With its weights, it is the query alone that is scaled, and the weights are averaged over the heads."""
    layer, source = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.randn(2, 6, 16)
    slow = other(lambda: layer(source, source, source, need_weights=weights))
    with torch.inference_mode():
        assert other(lambda: layer(source, source, source, need_weights=weights)) == slow


STEPS, BATCH, IN, HIDDEN = 3, 2, 8, 16
STATE = BATCH * HIDDEN
MODES: dict[Any, int] = {nn.RNN: 1, nn.LSTM: 2, nn.GRU: 3}
ENDS = {nn.RNN: 1, nn.LSTM: 3, nn.GRU: 2}
"""Sums that the last step's state lacks, per element; of an LSTM's first cell state the gradient isn't needed."""


def call(result: object = None, **arguments: object) -> Call:
    nothing: frozenset[str] = frozenset()
    return Call(name="", arguments=arguments, written=nothing, out=nothing, metadata_only=False, result=result)


@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", MODES, ids=lambda one: one.__name__)
def test_gates_of_fused_layers_cost_what_cells_cost(kind: Any, bias: bool) -> None:
    """One layer, as cuDNN is called. Cells also add up the gradients of their weights, one step after the other."""
    layer, source = kind(IN, HIDDEN, bias=bias), torch.randn(STEPS, BATCH, IN, requires_grad=True)
    with torch.backends.mkldnn.flags(enabled=False):
        cells = other(lambda: layer(source))
        result = layer(source)[0]
        gradient = torch.ones_like(result)
        cells_back = other(lambda: result.backward(gradient))
    made = call(
        input=source,
        weight=list(layer.parameters()),
        mode=MODES[kind],
        hidden_size=HIDDEN,
        num_layers=1,
        bidirectional=False,
        dropout=0.0,
        train=True,
        output_mask=[True, True, True, True],
    )
    added_up = (STEPS - 1) * (layer.weight_hh_l0.numel() + (layer.bias_hh_l0.numel() if bias else 0))
    assert recurrent.OTHER["aten::_cudnn_rnn"](made) == cells
    assert recurrent.OTHER["aten::_cudnn_rnn_backward"](made) == cells_back + ENDS[kind] * STATE - added_up


def test_gates_of_onednn_cost_what_those_of_cudnn_do(flop: Callable[..., float]) -> None:
    """LSTM on a CPU: 21 FLOPs for an element in a step, biases included, and 31 back."""
    layer, source = nn.LSTM(IN, HIDDEN), torch.randn(STEPS, BATCH, IN, requires_grad=True)
    assert flop(lambda: layer(source)) > 0
    names = [operation.name for operation in count_step(lambda: layer(source), model=layer).operations]
    if "aten::mkldnn_rnn_layer" not in names:
        pytest.skip("this build of torch runs an LSTM cell by cell")
    assert other(lambda: layer(source)) == 21 * STEPS * STATE
    result = layer(source)[0]
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == 31 * STEPS * STATE


def test_dropout_between_layers() -> None:
    """Of what each layer but the last hands on, both directions of it, in training only."""
    weights = [torch.empty(4 * HIDDEN, IN, device="meta")]
    given = {"input": torch.empty(STEPS, BATCH, IN, device="meta"), "weight": weights, "mode": 2}
    given |= {"hidden_size": HIDDEN, "num_layers": 3, "bidirectional": True, "dropout": 0.5}
    cost = recurrent.OTHER["aten::_cudnn_rnn"]
    dropped, whole = cost(call(**given, train=True)), cost(call(**given, train=False))
    assert whole == 13 * STEPS * STATE * 3 * 2
    assert dropped == whole + 2 * STEPS * STATE * 2 * 2


def test_fused_forms_of_other_libraries() -> None:
    """Bias, activation, another summand with its factor: each result (2, 3, 4, 4) costs one or more."""
    result, bias = torch.empty(2, 3, 4, 4, device="meta"), torch.empty(3, device="meta")
    each = result.numel()

    def cost(name: str, **given: object) -> int | None:
        return MATRIX_OPERATIONS[name].other(call(result, **given))

    assert cost("aten::cudnn_convolution_relu", bias=bias) == 2 * each
    assert cost("aten::cudnn_convolution_add_relu", bias=None, alpha=1) == 2 * each
    assert cost("aten::cudnn_convolution_add_relu", bias=bias, alpha=0.5) == 4 * each
    assert cost("mkldnn::_convolution_pointwise", B=bias, attr="gelu") == 6 * each
    assert cost("mkldnn::_convolution_pointwise", B=None, binary_attr="add", alpha=None, unary_attr="relu") == 2 * each
    assert cost("mkldnn::_convolution_pointwise", B=None, attr="something new") is None
    assert cost("aten::_scaled_mm", bias=bias) == 3 * each
    assert cost("aten::_sparse_semi_structured_linear", bias=None, activation="silu") == 2 * each
