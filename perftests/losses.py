"""Losses of the built-in models: ``(output, target) -> scalar``. All are means over the batch."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F  # noqa: N812 - the name everybody gives it
from torch import Tensor


def cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Of logits ``(batch, classes)`` and class numbers ``(batch,)``."""
    return F.cross_entropy(output, target)


def negative_probability(output: Tensor, target: Tensor) -> Tensor:
    """Minus the probability of the right class, of probabilities ``(batch, classes)``.

    What report 004 trained its MLP and CNN with: ``nll_loss`` on a softmax, hence its negative losses. Nothing takes
    the logarithm, so it isn't the cross entropy; the arithmetic measured is theirs.
    """
    return F.nll_loss(output, target)


def inception_cross_entropy(output: Any, target: Tensor) -> Tensor:
    """Cross entropy of Inception v3's ``(logits, auxiliary logits)``, the auxiliary head weighted 0.4.

    The weight is that of torchvision's classification reference.
    """
    return F.cross_entropy(output.logits, target) + 0.4 * F.cross_entropy(output.aux_logits, target)


def googlenet_cross_entropy(output: Any, target: Tensor) -> Tensor:
    """Cross entropy of GoogLeNet's ``(logits, auxiliary 2, auxiliary 1)``, each auxiliary head weighted 0.3.

    Szegedy et al., Going deeper with convolutions, section 5.
    """
    auxiliary = F.cross_entropy(output.aux_logits1, target) + F.cross_entropy(output.aux_logits2, target)
    return F.cross_entropy(output.logits, target) + 0.3 * auxiliary


def answer_span(output: tuple[Tensor, Tensor], target: Tensor) -> Tensor:
    """Mean cross entropy of where an answer starts and ends.

    :param output: start and end logits, each ``(batch, tokens)``.
    :param target: first and last token of the answer, ``(batch, 2)``.
    """
    start, end = output
    return (F.cross_entropy(start, target[:, 0]) + F.cross_entropy(end, target[:, 1])) / 2
