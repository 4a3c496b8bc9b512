"""Models by name: the built-in ones beside every one that the plugin knows, all with random weights.

A name is known without building anything, and without importing torch where it is a built-in one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from pytest_roofline.workload.models import BrokenLibrary, ModelSpec, Registry, UnknownModel, label

if TYPE_CHECKING:
    from torch import nn

    from perftests.nets import SequenceConfig

__all__ = ["MODELS", "BrokenLibrary", "ModelSpec", "UnknownModel", "check", "find", "label"]

BERT_TOKENS = 128
"""Sequence length of the built-in BERT. Report 004 doesn't print its own; 128 is what its A100 times fit: at 384 they
would be 2.4 times the card's fp32 peak."""

SEQUENCE_TOKENS = 64
"""Sequence length of the LSTM and the Transformer encoder."""


def _mlp() -> ModelSpec:
    from perftests import nets

    return ModelSpec(
        name="mlp",
        build=nets.SimpleMLP,
        input_shape=(1, 28, 28),
        input_kind="image",
        classes=10,
        sample_unit="image",
        loss=nets.negative_probability,
        loss_name="negative_probability",
        architecture={"layers": [784, 256, 128, 10]},
    )


def _cnn() -> ModelSpec:
    from perftests import nets

    return ModelSpec(
        name="cnn",
        build=nets.SimpleCNN,
        input_shape=(1, 28, 28),
        input_kind="image",
        classes=10,
        sample_unit="image",
        loss=nets.negative_probability,
        loss_name="negative_probability",
        architecture={"convolutions": [[1, 1, 5], [1, 1, 5]], "layers": [16, 100, 10]},
    )


def _bert_base() -> ModelSpec:
    from perftests import bert, nets

    config = bert.BertConfig()
    return ModelSpec(
        name="bert_base",
        build=partial(bert.BertForQuestionAnswering, config),
        input_shape=(BERT_TOKENS,),
        input_kind="tokens",
        classes=BERT_TOKENS,
        sample_unit="sequence",
        loss=nets.answer_span,
        loss_name="answer_span",
        target_shape=(2,),
        vocabulary=config.vocabulary,
        architecture=asdict(config),
    )


def _lstm() -> ModelSpec:
    from perftests import nets

    return _sequence_classifier("lstm", nets.LSTMClassifier, ("vocabulary", "hidden", "layers"))


def _transformer_encoder() -> ModelSpec:
    from perftests import nets

    return _sequence_classifier(
        "transformer_encoder",
        partial(nets.EncoderClassifier, tokens=SEQUENCE_TOKENS),
        ("vocabulary", "hidden", "layers", "heads", "feedforward"),
    )


def _sequence_classifier(name: str, build: Callable[[SequenceConfig], nn.Module], sizes: Sequence[str]) -> ModelSpec:
    from perftests.nets import SequenceConfig
    from pytest_roofline.workload.models import losses

    config = SequenceConfig()
    return ModelSpec(
        name=name,
        build=partial(build, config),
        input_shape=(SEQUENCE_TOKENS,),
        input_kind="tokens",
        classes=config.classes,
        sample_unit="sequence",
        loss=losses.cross_entropy,
        loss_name="cross_entropy",
        vocabulary=config.vocabulary,
        architecture={size: getattr(config, size) for size in sizes},
    )


MODELS = Registry(
    {
        "mlp": _mlp,
        "cnn": _cnn,
        "bert_base": _bert_base,
        "lstm": _lstm,
        "transformer_encoder": _transformer_encoder,
    }
)
"""What `roofline complexity` knows in this repository; pyproject.toml names it."""

find, check = MODELS.find, MODELS.check
