"""Formulas against counts made by walking through every multiply-accumulate one by one."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_roofline.counting import formulas

SMALL = st.integers(1, 5)


def walk(*sizes: int) -> int:
    """Number of iterations of nested loops."""
    return sum(1 for _ in product(*map(range, sizes)))


@settings(deadline=None, max_examples=40)
@given(SMALL, SMALL, SMALL, SMALL)
def test_product_is_two_flop_for_every_row_column_and_term(batch: int, rows: int, columns: int, depth: int) -> None:
    """1 MAC = 2 FLOP."""
    assert formulas.product_flop(rows, columns, depth, batch) == 2 * walk(batch, rows, columns, depth)


@settings(deadline=None, max_examples=40)
@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL)
def test_attention_is_scores_and_weighted_sum(
    batch: int, heads: int, queries: int, keys: int, width: int, value_width: int
) -> None:
    """Each query meets each key over the width and each value over the value's width."""
    shapes = (batch, heads, queries, width), (batch, heads, keys, width), (batch, heads, keys, value_width)
    macs = walk(batch, heads, queries, keys, width) + walk(batch, heads, queries, keys, value_width)
    assert formulas.attention_flop(*shapes) == 2 * macs


@settings(deadline=None, max_examples=40)
@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL)
def test_attention_backward_is_five_products(
    batch: int, heads: int, queries: int, keys: int, width: int, value_width: int
) -> None:
    """Scores again, then gradients of value, probabilities, query and key."""
    shapes = (batch, heads, queries, width), (batch, heads, keys, width), (batch, heads, keys, value_width)
    scores_query_key = 3 * walk(batch, heads, queries, keys, width)
    value_probabilities = 2 * walk(batch, heads, queries, keys, value_width)
    assert formulas.attention_backward_flop(*shapes) == 2 * (scores_query_key + value_probabilities)


def test_grouped_query_attention_counts_every_query_head() -> None:
    """Sharing keys and values saves memory, not arithmetic."""
    query, shared, own = (2, 8, 5, 4), (2, 2, 7, 4), (2, 8, 7, 4)
    assert formulas.attention_flop(query, shared, shared) == formulas.attention_flop(query, own, own)
    assert formulas.attention_backward_flop(query, shared, shared) == formulas.attention_backward_flop(query, own, own)


@settings(deadline=None, max_examples=40)
@given(SMALL, SMALL, SMALL, st.integers(1, 3), st.booleans())
def test_recurrent_layers_meet_every_weight_once_a_step(
    steps: int, features: int, hidden: int, gates: int, bias: bool
) -> None:
    """Bias vectors are among the weights and don't count."""
    weights: list[tuple[int, ...]] = [(gates * hidden, features), (gates * hidden, hidden)]
    biases = [(gates * hidden,)] * 2 if bias else []
    macs = walk(steps, gates * hidden, features) + walk(steps, gates * hidden, hidden)
    assert formulas.recurrent_flop(steps, weights + biases) == 2 * macs


def test_multi_head_attention_of_unequal_sequences_is_the_sum_over_them() -> None:
    """Padding is no work: each sequence counts with its own length."""
    together = formulas.multi_head_attention_flop([3, 5], [4, 2], 8)
    apart = formulas.multi_head_attention_flop([3], [4], 8) + formulas.multi_head_attention_flop([5], [2], 8)
    assert together == apart


@pytest.mark.parametrize(("tokens", "width", "hidden"), [(6, 4, 16), (1, 3, 2)])
def test_feed_forward_is_two_linear_layers(tokens: int, width: int, hidden: int) -> None:
    """There and back between the widths."""
    assert formulas.feed_forward_flop(tokens, width, hidden) == 2 * 2 * walk(tokens, width, hidden)


def test_trilinear_is_two_pairs_of_factors() -> None:
    """Of (n, o, i, j) the first pair sums over i, the second over j without i."""
    n, o, i, j = 6, 5, 3, 4
    counted = formulas.trilinear_flop((n, 1, i, 1), (1, o, i, j), (n, 1, 1, j), [2])
    assert counted == 2 * (walk(n, o, i, j) + walk(n, o, j))
