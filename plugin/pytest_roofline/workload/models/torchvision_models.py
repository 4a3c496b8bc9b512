"""torchvision's classification models, by the names of its registry."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from pytest_roofline.workload.models import libraries
from pytest_roofline.workload.models.spec import ModelSpec

if TYPE_CHECKING:
    from torch import nn


@cache
def names() -> tuple[str, ...]:
    """Every classification model; none where torchvision is not installed or can't be imported. Builds nothing."""
    if not libraries.is_installed("torchvision") or libraries.broken("torchvision") is not None:
        return ()
    from torchvision import models

    return tuple(models.list_models(module=models))


def find(name: str) -> ModelSpec:
    """The model of that name, which is one of `names`."""
    from pytest_roofline.workload.models import losses

    loss, loss_name = {
        "inception_v3": (losses.inception_cross_entropy, "inception_cross_entropy"),
        "googlenet": (losses.googlenet_cross_entropy, "googlenet_cross_entropy"),
    }.get(name, (losses.cross_entropy, "cross_entropy"))
    size = _published_size(name)
    return ModelSpec(
        name=name,
        build=partial(_build, name),
        input_shape=(3, size, size),
        input_kind="image",
        classes=1000,
        sample_unit="image",
        loss=loss,
        loss_name=loss_name,
        # Its auxiliary head normalises 1x1 maps.
        min_train_batch=2 if name == "inception_v3" else 1,
    )


def _build(name: str) -> nn.Module:
    from torchvision import models

    # Both warn unless their slow initialisation is asked for; it is the published one.
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
