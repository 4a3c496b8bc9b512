"""Losses of models that come by name: ``(output, target) -> scalar``. All are means over the batch."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F  # noqa: N812 - the name everybody gives it
from torch import Tensor


def cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Of logits ``(batch, classes)`` and class numbers ``(batch,)``."""
    return F.cross_entropy(output, target)


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


def mean_square(output: tuple[Tensor, ...], target: Tensor) -> Tensor:  # noqa: ARG001 (the signature of a loss)
    """Mean square of all values of the outputs: for models that end in features, to which no target belongs."""
    first, *rest = (tensor.float().square().mean() for tensor in output)
    return sum(rest, start=first)
