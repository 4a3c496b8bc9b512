"""What has to be known of a model to build and feed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

Loss = Callable[[Any, "Tensor"], "Tensor"]


class UnknownModel(ValueError):
    """No model can be had by that name. The message says why, and lists near matches or what to install."""


class BrokenLibrary(UnknownModel):
    """The model's library is installed and can't be imported. The message says why, and which version would fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """How to build and feed one model.

    :param name: as it stands in ids: of letters, digits, ``_`` and ``.``.
    :param input_shape: one sample: ``(channels, height, width)``, or ``(tokens,)``.
    :param classes: how many values a target takes.
    :param target_shape: one sample's target: ``()`` for a class number, ``(2,)`` for an answer's span.
    :param vocabulary: how many values a token takes; None for images.
    :param min_train_batch: smallest batch that trains: a batch norm over 1x1 maps needs two values.
    :param architecture: what else `config` tells of the model, as JSON values.
    """

    name: str
    build: Callable[[], nn.Module]
    input_shape: tuple[int, ...]
    input_kind: Literal["image", "tokens"]
    classes: int
    sample_unit: str
    loss: Loss
    loss_name: str
    target_shape: tuple[int, ...] = ()
    vocabulary: int | None = None
    min_train_batch: int = 1
    architecture: Mapping[str, Any] = field(default_factory=dict)

    def config(self) -> dict[str, Any]:
        """Everything about the model that changes the work, as JSON values, for the workload's hash."""
        return {
            "model": self.name,
            "input_shape": list(self.input_shape),
            "classes": self.classes,
            "loss": self.loss_name,
            **self.architecture,
        }

    def obstacle(self, *, mode: str, batch: int, layout: str, data: str) -> str | None:
        """Tell why a case of this model makes no sense and is skipped, or None.

        :param data: kind of the data source: ``synthetic``, ``fake``, ``sample`` or ``imagefolder``.
        """
        if mode == "train" and batch < self.min_train_batch:
            return f"{self.name}: train batch must be >= {self.min_train_batch} (a batch norm sees a single value)"
        if self.input_kind == "tokens" and data != "synthetic":
            return f"{self.name} takes tokens and {data} data are images; use synthetic data"
        if self.input_kind == "tokens" and layout != "contiguous":
            return f"{self.name} takes tokens, which have no {layout} layout"
        return None
