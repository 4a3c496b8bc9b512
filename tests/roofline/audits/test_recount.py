"""The figures of models.toml are those that this project's own counter gives."""

from __future__ import annotations

import importlib.util

import pytest

from roofline.audits.known_models import KnownModel, load

pytest.importorskip("torch")
pytest.importorskip("torchvision")

_SAMPLE = (
    ("suite", "mlp"),
    ("suite", "cnn"),
    ("suite", "bert_base"),
    ("torchvision", "alexnet"),
    ("torchvision", "mobilenet_v2"),
    ("torchvision", "resnet18"),
    ("torchvision", "squeezenet1_1"),
    ("torchvision", "vit_b_32"),
    ("timm", "resnet18"),
)
"""Library and model: most kinds, quick to count."""


def _known(library: str, name: str) -> KnownModel:
    """The first of that name in the file."""
    models = (model for of_name in load().by_name.values() for model in of_name)
    return next(model for model in models if (model.library, model.name) == (library, name))


def test_all_of_torchvision_s_classification_models_are_known() -> None:
    from torchvision import models

    known = {model.name for of_name in load().by_name.values() for model in of_name if model.library == "torchvision"}
    # A later torchvision may have more.
    assert known <= set(models.list_models(module=models))
    assert len(known) == 80


@pytest.mark.parametrize(("library", "name"), _SAMPLE)
def test_the_counter_gives_the_same_to_the_last_flop(library: str, name: str) -> None:
    """At the size that the file says, with nothing left uncounted."""
    if library == "timm" and importlib.util.find_spec("timm") is None:
        pytest.skip("timm is not installed")
    from tests.roofline.audits.recount import of_name

    model = _known(library, name)
    size = model.length_token or model.size_pixel
    assert size is not None
    _, counted = of_name(f"timm:{name}" if library == "timm" else name, int(size.value))
    assert counted.uncovered == frozenset()
    assert (counted.forward, counted.training) == (model.forward.value, model.training.value)
    if model.parameter_count is not None:
        assert counted.parameters == model.parameter_count.value
