"""Models by name: the built-in ones and every torchvision classification model, all with random weights.

A name is known without building anything, and without importing torch where it is a built-in one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

Loss = Callable[[Any, "Tensor"], "Tensor"]

BERT_TOKENS = 128
"""Sequence length of the built-in BERT. Report 004 doesn't print its own; 128 is what its A100 times fit: at 384 they
would be 2.4 times the card's fp32 peak."""


class UnknownModel(ValueError):
    """No model of that name. The message lists near matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """How to build and feed one model.

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
        """Why a case of this model makes no sense and is skipped, or None.

        :param data: kind of the data source: ``synthetic``, ``fake``, ``sample`` or ``imagefolder``.
        """
        if mode == "train" and batch < self.min_train_batch:
            return f"{self.name}: train batch must be >= {self.min_train_batch} (a batch norm sees a single value)"
        if self.input_kind == "tokens" and data != "synthetic":
            return f"{self.name} takes tokens and {data} data are images; use synthetic data"
        if self.input_kind == "tokens" and layout != "contiguous":
            return f"{self.name} takes tokens, which have no {layout} layout"
        return None


def find(name: str) -> ModelSpec:
    """The model of that name.

    :raises UnknownModel: there is none.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    check(name)
    return _torchvision_model(name)


def check(name: str) -> None:
    """Make sure that the name is known. Builds nothing, and imports torchvision for names that aren't built in.

    :raises UnknownModel: it isn't.
    """
    if name in _BUILT_IN or name in _torchvision_names():
        return
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names(), n=3)
    hint = f"near matches: {', '.join(near)}" if near else f"built in are {', '.join(_BUILT_IN)}"
    source = (
        f"{len(_torchvision_names())} torchvision classification models are known by name"
        if _torchvision_names()
        else "torchvision is not installed, so its models are missing: pip install torchvision"
    )
    raise UnknownModel(f"unknown model {name!r}; {hint}; {source}")


def names() -> tuple[str, ...]:
    """Every known name, built-in ones first. Builds nothing; imports torchvision."""
    return (*_BUILT_IN, *_torchvision_names())


@cache
def _torchvision_names() -> tuple[str, ...]:
    try:
        from torchvision import models
    except ModuleNotFoundError:
        return ()
    return tuple(models.list_models(module=models))


def _mlp() -> ModelSpec:
    from perftests import losses, small_nets

    return ModelSpec(
        name="mlp",
        build=small_nets.SimpleMLP,
        input_shape=(1, 28, 28),
        input_kind="image",
        classes=10,
        sample_unit="image",
        loss=losses.negative_probability,
        loss_name="negative_probability",
        architecture={"layers": [784, 256, 128, 10]},
    )


def _cnn() -> ModelSpec:
    from perftests import losses, small_nets

    return ModelSpec(
        name="cnn",
        build=small_nets.SimpleCNN,
        input_shape=(1, 28, 28),
        input_kind="image",
        classes=10,
        sample_unit="image",
        loss=losses.negative_probability,
        loss_name="negative_probability",
        architecture={"convolutions": [[1, 1, 5], [1, 1, 5]], "layers": [16, 100, 10]},
    )


def _bert_base() -> ModelSpec:
    from perftests import bert, losses

    config = bert.BertConfig()
    return ModelSpec(
        name="bert_base",
        build=partial(bert.BertForQuestionAnswering, config),
        input_shape=(BERT_TOKENS,),
        input_kind="tokens",
        classes=BERT_TOKENS,
        sample_unit="sequence",
        loss=losses.answer_span,
        loss_name="answer_span",
        target_shape=(2,),
        vocabulary=config.vocabulary,
        architecture=asdict(config),
    )


_BUILT_IN: Mapping[str, Callable[[], ModelSpec]] = {"mlp": _mlp, "cnn": _cnn, "bert_base": _bert_base}


def _torchvision_model(name: str) -> ModelSpec:
    from perftests import losses

    loss, loss_name = {
        "inception_v3": (losses.inception_cross_entropy, "inception_cross_entropy"),
        "googlenet": (losses.googlenet_cross_entropy, "googlenet_cross_entropy"),
    }.get(name, (losses.cross_entropy, "cross_entropy"))
    size = _published_size(name)
    return ModelSpec(
        name=name,
        build=partial(_build_torchvision, name),
        input_shape=(3, size, size),
        input_kind="image",
        classes=1000,
        sample_unit="image",
        loss=loss,
        loss_name=loss_name,
        # Its auxiliary head normalises 1x1 maps.
        min_train_batch=2 if name == "inception_v3" else 1,
    )


def _build_torchvision(name: str) -> nn.Module:
    from torchvision import models

    # Both warn unless told that their slow initialisation is wanted; it is the published one.
    options = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    model: nn.Module = models.get_model(name, weights=None, **options)
    return model


def _published_size(name: str) -> int:
    """Height and width of the crops that torchvision evaluates its ``IMAGENET1K_V1`` weights on; 224 without such.

    Read from the registry's metadata, nothing is downloaded. Later weights of a few models were tuned at other sizes,
    which the architecture without weights does not take.
    """
    from torchvision import models

    weights = {entry.name: entry for entry in models.get_model_weights(name)}
    if "IMAGENET1K_V1" not in weights:
        return 224
    return int(weights["IMAGENET1K_V1"].transforms.keywords["crop_size"])
