"""timm's models, as ``timm:NAME``. Weights are random: nothing is downloaded."""

from __future__ import annotations

import difflib
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pytest_roofline.workload.models.spec import ModelSpec, UnknownModel

if TYPE_CHECKING:
    from torch import nn

_CLASSES = 1000
"""Of a model that is published without a classifier: it gets ImageNet's."""


def check(name: str) -> None:
    """Make sure that timm has a model ``name`` (without the prefix). Imports timm, builds nothing.

    :raises UnknownModel: it hasn't, or isn't installed.
    """
    if find_spec("timm") is None:
        raise UnknownModel(f'timm:{name} needs timm, which is not installed: pip install "pytest-roofline[timm]"')
    import timm

    known = timm.list_models()
    if name not in known and not timm.is_model(name):
        near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=3)
        hint = f"; near matches: {', '.join(f'timm:{one}' for one in near)}" if near else ""
        raise UnknownModel(f"timm {timm.__version__} has no model {name!r}{hint}; timm.list_models() has {len(known)}")
    try:
        timm.get_pretrained_cfg(name)
    except RuntimeError as error:  # a tag after the point that the model doesn't have
        raise UnknownModel(
            f"timm {timm.__version__}: timm:{name}: {error}; leave out what follows the point"
        ) from error


def find(name: str, label: str) -> ModelSpec:
    """The model ``name`` of timm, which has been checked. Input size and classes are those timm publishes it with."""
    import timm

    from pytest_roofline.workload.models import losses

    published: Any = timm.get_pretrained_cfg(name)
    classes = (published.num_classes if published else None) or _CLASSES
    return ModelSpec(
        name=label,
        build=partial(_build, name, classes),
        input_shape=tuple(published.input_size) if published else (3, 224, 224),
        input_kind="image",
        classes=classes,
        sample_unit="image",
        loss=losses.cross_entropy,
        loss_name="cross_entropy",
    )


def _build(name: str, classes: int) -> nn.Module:
    import timm

    model: nn.Module = timm.create_model(name, pretrained=False, num_classes=classes)
    return model
