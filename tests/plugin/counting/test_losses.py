"""Loss functions and distances against loops over their terms."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from pytest_roofline.counting import count_step
from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.losses import TABLE
from tests.plugin.counting.other_work import other

TERM = {0.0: 3, 1.0: 3, 2.0: 3, float("inf"): 3, 1.5: 4}
"""Difference, absolute value or square, and sum; a power is one more."""


def root(norm: float) -> int:
    return 1 if norm in (2.0, 1.5) else 0


@pytest.mark.parametrize("norm", TERM)
def test_distances_of_two_sets(norm: float) -> None:
    """Every pair, every coordinate, and a root for each pair where there is one to take."""
    left, right = torch.randn(2, 3, 5, requires_grad=True), torch.randn(2, 4, 5)
    forward = 0
    for _ in product(range(2), range(3), range(4)):
        forward += sum(TERM[norm] for _ in range(5)) + root(norm)
    assert other(lambda: torch.cdist(left, right, p=norm)) == forward
    result = torch.cdist(left, right, p=norm)
    gradient = torch.ones_like(result)
    per_term = 6 if norm == 1.5 else 4
    assert other(lambda: result.backward(gradient)) == sum(per_term for _ in product(*map(range, (2, 3, 4, 5))))


def test_many_distances_are_a_product(flop: Callable[..., float]) -> None:
    """torch takes x² - 2xy + y² from 26 rows on: the squares are two columns more."""
    left, right = torch.randn(2, 30, 5), torch.randn(2, 40, 5)
    assert flop(lambda: torch.cdist(left, right)) == 2 * 2 * 30 * 40 * (5 + 2)


@pytest.mark.parametrize("norm", [1.0, 2.0, 1.5])
def test_distances_within_a_set(norm: float) -> None:
    """Each pair once; its gradient goes to both."""
    points = torch.randn(6, 5, requires_grad=True)
    pairs = len(list(combinations(range(6), 2)))
    assert other(lambda: functional.pdist(points, p=norm)) == pairs * (5 * TERM[norm] + root(norm))
    result = functional.pdist(points, p=norm)
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == pairs * 5 * ((6 if norm == 1.5 else 4) + 1)


TIMES, LABELS, CLASSES = (7, 5), (3, 2), 4


def ctc(times: Any, labels: Any) -> tuple[Tensor, Callable[[], Tensor]]:
    scores = torch.randn(7, 2, CLASSES, requires_grad=True)
    targets = torch.ones(2, 3, dtype=torch.int64)
    logarithms = scores.log_softmax(2).detach().requires_grad_()
    return logarithms, lambda: functional.ctc_loss(logarithms, targets, times, labels, reduction="none")


@pytest.mark.parametrize("lengths", [list, torch.tensor], ids=["list", "tensor"])
def test_alignments_of_each_sequence_with_its_own_length(lengths: Any) -> None:
    """Every time, every label and the blanks between and around: a logarithm of a sum of three, and a sum."""
    _, loss = ctc(lengths(TIMES), lengths(LABELS))
    forward = backward = 0
    for time, label in zip(TIMES, LABELS, strict=True):
        for _ in product(range(time), range(2 * label + 1)):
            maximum, differences, exponentials, sums, logarithm, back = 2, 3, 3, 2, 1, 1
            forward += maximum + differences + exponentials + sums + logarithm + back + 1
    backward = forward
    for time, label in zip(TIMES, LABELS, strict=True):
        backward += 6 * sum(1 for _ in product(range(time), range(2 * label + 1)))
    backward += 6 * 7 * 2 * CLASSES
    assert other(loss) == forward
    result = loss()
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == backward


def test_lengths_on_a_device_are_unknown() -> None:
    """To ask for them would be to wait for it."""
    lengths = torch.empty(2, dtype=torch.int64, device="meta")
    arguments = {"input_lengths": lengths, "target_lengths": lengths, "log_probs": torch.empty(7, 2, 4)}
    call = Call(name="", arguments=arguments, written=frozenset(), out=frozenset(), metadata_only=False, result=None)
    for name in ("_ctc_loss", "_ctc_loss_backward", "_cudnn_ctc_loss"):
        assert TABLE[name].flop(call) is None


SCORES = torch.randn(4, 5)
ONES = torch.ones(4, 5)
SIGNS = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0]).expand(4, 5).contiguous()

CASES: dict[str, tuple[Callable[[Tensor], Tensor], int, int]] = {
    "soft margin": (lambda x: functional.soft_margin_loss(x, SIGNS), 5, 5),
    "multi margin": (lambda x: functional.multi_margin_loss(x, torch.tensor([0, 1, 2, 3])), 4, 4),
    "multi margin, squared": (lambda x: functional.multi_margin_loss(x, torch.tensor([0, 1, 2, 3]), p=2), 5, 5),
    "log sigmoid": (functional.logsigmoid, 4, 4),
    "mean squared error": (lambda x: functional.mse_loss(x, SIGNS), 3, 4),
    "huber": (lambda x: functional.huber_loss(x, SIGNS), 3, 4),
    "smooth l1": (lambda x: functional.smooth_l1_loss(x, SIGNS), 3, 4),
    "cross entropy of a sigmoid": (lambda x: functional.binary_cross_entropy(x, ONES), 6, 6),
}
"""FLOPs an element, forward and backward."""


@pytest.mark.parametrize("name", CASES)
def test_elements(name: str) -> None:
    """Each counts alike."""
    loss, forward, backward = CASES[name]
    scores = SCORES.sigmoid().requires_grad_()
    assert other(lambda: loss(scores)) == forward * 20
    result = loss(scores)
    gradient = torch.ones_like(result)
    assert other(lambda: result.backward(gradient)) == backward * 20


def test_margins_of_several_labels_are_named() -> None:
    """How many labels a sample has ends with the first -1 among its data."""
    target = torch.tensor([[3, 0, -1, 1, 2]] * 4)
    work = count_step(lambda: functional.multilabel_margin_loss(SCORES, target), model=nn.Identity()).work
    assert [one.name for one in work.uncovered] == ["aten::multilabel_margin_loss_forward"]
