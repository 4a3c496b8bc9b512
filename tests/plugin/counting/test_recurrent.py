"""Recurrent layers, fused and cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from pytest_roofline.counting import count_step
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS

GATES = {nn.RNN: 1, nn.GRU: 3, nn.LSTM: 4}


def macs(layer: Any, features: int, steps: int) -> int:
    """By gates and widths: layer after layer, each direction with its own weights."""
    gates, hidden, directions = GATES[type(layer)], layer.hidden_size, 2 if layer.bidirectional else 1
    out = layer.proj_size or hidden
    total, width = 0, features
    for _ in range(layer.num_layers):
        one = gates * hidden * (width + out) + (hidden * out if layer.proj_size else 0)
        total, width = total + directions * one, directions * out
    return steps * total


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(list(GATES)), *[st.integers(1, 4)] * 5, st.booleans(), st.booleans(), st.booleans())
def test_layers_of_any_size(
    kind: Any, features: int, hidden: int, layers: int, steps: int, batch: int, both: bool, bias: bool, train: bool
) -> None:
    """Layer after layer, in both directions or one, with biases or without, first in time or in batch."""
    layer = kind(features, hidden, layers, bias=bias, bidirectional=both, batch_first=train).train(train)
    source = torch.randn(batch, steps, features) if train else torch.randn(steps, batch, features)
    with torch.inference_mode(not train):
        work = count_step(lambda: layer(source), model=layer).work
    assert work.uncovered == ()
    assert work.flop_per_step == 2 * macs(layer, features, steps * batch)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
def test_projection_is_a_weight_like_others(flop: Callable[..., float]) -> None:
    """It makes the hidden state narrower too."""
    layer, source = nn.LSTM(8, 16, proj_size=4), torch.randn(5, 2, 8)
    assert flop(lambda: layer(source)) == 2 * macs(layer, 8, 10)


def test_packed_sequences_count_their_own_lengths(flop: Callable[..., float]) -> None:
    """Steps after a sequence's end are no work."""
    layer = nn.LSTM(8, 16)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 8), [5, 2])
    assert flop(lambda: layer(packed)) == 2 * macs(layer, 8, 5 + 2)


@pytest.mark.parametrize("kind", GATES, ids=lambda one: one.__name__)
def test_backward_is_two_more_passes(kind: Any, flop: Callable[..., float]) -> None:
    """Through time, and for the weights. The first step's state needs no gradient, and cell by cell that shows."""
    layer, source = kind(8, 16), torch.randn(5, 2, 8, requires_grad=True)
    loss = layer(source)[0].sum()
    backward, forward = flop(loss.backward), 2 * macs(layer, 8, 10)
    first_state = 2 * 2 * GATES[kind] * 16 * 16
    assert backward in (2 * forward, 2 * forward - first_state)


@pytest.mark.parametrize(("of_weight", "passes"), [(True, 2), (False, 1)])
def test_cudnn(of_weight: bool, passes: int) -> None:
    """Weights in a list, biases among them; the pass through time is made in any case."""
    shapes = [(64, 8), (64, 16), (64,), (64,)]
    arguments = {
        "input": torch.empty(5, 2, 8, device="meta"),
        "weight": [torch.empty(shape, device="meta") for shape in shapes],
        "output_mask": [True, True, True, of_weight],
    }
    call = Call(name="", arguments=arguments, written=frozenset(), out=frozenset(), metadata_only=False, result=None)
    assert MATRIX_OPERATIONS["aten::_cudnn_rnn"].flop(call) == 30_720
    assert MATRIX_OPERATIONS["aten::_cudnn_rnn_backward"].flop(call) == passes * 30_720
