"""FLOPs of matrix products, convolutions, attention and recurrent layers as pure functions of shapes.

A multiply-accumulate (MAC) is 2 FLOP. A product with m x n results over k terms is m·n·k MAC; biases, scaling and
masks are not matrix arithmetic and not counted here. Every formula counts dense arithmetic: taps of a convolution that
fall on padding, and the masked half of causal attention, count like any other, as in the literature and whatever the
kernel may skip. So one workload has one number on every back end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = Sequence[int]

FLOP_PER_MAC = 2


def product_flop(rows: int, columns: int, depth: int, batch: int = 1) -> int:
    """``batch`` products of (rows, depth) with (depth, columns)."""
    return FLOP_PER_MAC * batch * rows * columns * depth


def convolution_flop(batch: int, positions: Shape, weight: Shape) -> int:
    """A convolution forward, grouped or not, or either half (input or weight gradient) of its backward.

    Each kernel position meets every weight once: at the *output* positions of a convolution, at the *input* positions
    of a transposed one. Both gradients are made of the same pairs: one multiplies them with the weight, the other
    with the input.

    :param positions: spatial shape of the output; of the input where the convolution is transposed.
    :param weight: shape of the weight, (out, in / groups, \\*kernel), transposed (in, out / groups, \\*kernel). The
        groups are in it already.
    """
    return FLOP_PER_MAC * batch * prod(positions) * prod(weight)


def attention_flop(query: Shape, key: Shape, value: Shape) -> int:
    """Scaled dot product attention: scores = q·kᵀ, result = p·v.

    :param query: (\\*batch, heads, queries, width). Grouped-query attention has fewer heads in key and value; each
        query head still meets all keys.
    :param key: (\\*batch, key heads, keys, width).
    :param value: (\\*batch, key heads, keys, value width).
    """
    *batch, queries, width = query
    return product_flop(queries, key[-2], width, prod(batch)) + product_flop(queries, value[-1], key[-2], prod(batch))


def attention_backward_flop(query: Shape, key: Shape, value: Shape) -> int:
    """Backward of a fused attention kernel; shapes as in `attention_flop`.

    Five products: the scores again (a fused forward doesn't keep them), the gradients of value and probabilities
    (width of the value), of query and key (width of the query). Attention written out as matrix products keeps the
    probabilities and needs only four.
    """
    *batch, queries, width = query
    keys, value_width = key[-2], value[-1]
    per_width = product_flop(queries, keys, width, prod(batch))
    per_value_width = product_flop(queries, keys, value_width, prod(batch))
    return 3 * per_width + 2 * per_value_width


def multi_head_attention_flop(queries: Shape, keys: Shape, width: int) -> int:
    """Projections of query, key and value, attention, and the projection of its result, all ``width`` wide.

    The number of heads does not matter: they share the width between them.

    :param queries: number of queries of each sequence of the batch.
    :param keys: number of keys of each sequence.
    """
    projections = product_flop(sum(queries), width, width) * 2 + product_flop(sum(keys), width, width) * 2
    attention = sum(attention_flop((q, width), (k, width), (k, width)) for q, k in zip(queries, keys, strict=True))
    return projections + attention


def feed_forward_flop(tokens: int, width: int, hidden: int) -> int:
    """Two linear layers, width -> hidden -> width."""
    return product_flop(tokens, hidden, width) + product_flop(tokens, width, hidden)


def recurrent_flop(steps: int, weights: Sequence[Shape]) -> int:
    """Recurrent layers (RNN, GRU, LSTM, with or without projection): every weight matrix meets every time step once.

    :param steps: time steps of all sequences together.
    :param weights: shapes of all weights of all layers and directions; vectors among them are biases and don't count.
    """
    return FLOP_PER_MAC * steps * sum(prod(weight) for weight in weights if len(weight) == 2)


def trilinear_flop(first: Shape, second: Shape, third: Shape, summed_first: Sequence[int]) -> int:
    """Sum over products of three factors (``nn.Bilinear``), taken as two products of pairs.

    :param first: shapes of the three factors, all of one length, 1 where a factor is broadcast.
    :param summed_first: dimensions summed over in the first pair: the third factor doesn't have them.
    """
    pair = [max(sizes) for sizes in zip(first, second, strict=True)]
    left = [1 if dimension in summed_first else size for dimension, size in enumerate(pair)]
    return FLOP_PER_MAC * (prod(pair) + prod(max(sizes) for sizes in zip(left, third, strict=True)))
