"""Losses of the built-in models: ``(output, target) -> scalar``. All are means over the batch."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812 - the name everybody gives it
from torch import Tensor


def negative_probability(output: Tensor, target: Tensor) -> Tensor:
    """Minus the probability of the right class, of probabilities ``(batch, classes)``.

    What report 004 trained its MLP and CNN with: ``nll_loss`` on a softmax, hence its negative losses. Nothing takes
    the logarithm, so it isn't the cross entropy; the arithmetic measured is theirs.
    """
    return F.nll_loss(output, target)


def answer_span(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    """Mean cross entropy of where an answer starts and ends.

    :param output: start and end logits, each ``(batch, tokens)``.
    :param target: first and last token of the answer, ``(batch, 2)``.
    """
    start, end = output
    return (F.cross_entropy(start, target[:, 0]) + F.cross_entropy(end, target[:, 1])) / 2
