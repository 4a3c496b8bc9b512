"""Known models: their names, their counted FLOP, and the FLOP/s of a row."""

import pytest

from roofline.audit.figure import exact
from roofline.audit.models import attained, load, plain
from tests.roofline.audit.make import KNOWN, row


@pytest.mark.parametrize(
    ("name", "forward", "training"),
    [
        ("ResNet-50", 8.178e9, 24.299e9),
        ("vgg16.tv_in1k", 30.941e9, 92.648e9),
        ("MobileNetV2", 0.6015e9, 1.783e9),
        ("mobilenetv2_100", 0.6015e9, 1.783e9),
        ("resnet18", 3.628e9, 10.648e9),
    ],
)
def test_counted_flop_by_what_people_call_a_model(name: str, forward: float, training: float) -> None:
    model = KNOWN.models.of(row(model=name))
    assert model is not None
    assert (model.of("infer").value, model.of("train").value) == (forward, training)


@pytest.mark.parametrize("name", ["resnet50d", "resnet", "vgg16_bn", "wide_resnet50_2", ""])
def test_a_similar_name_is_another_model(name: str) -> None:
    assert KNOWN.models.of(row(model=name)) is None


def test_another_image_size_has_other_flop() -> None:
    assert KNOWN.models.of(row(model="resnet50", size_pixel=224)) is not None
    assert KNOWN.models.of(row(model="resnet50", size_pixel=160)) is None
    assert KNOWN.models.of(row()) is None


def test_training_is_nearly_three_forward_passes() -> None:
    """Backward is twice forward, less the gradient of the first layer's input."""
    for model in load().by_name.values():
        assert 2.9 < model.training.value / model.forward.value < 3


def test_names_are_compared_without_case_punctuation_and_tag() -> None:
    assert plain("ResNet-50.a1_in1k") == plain("resnet_50") == "resnet50"


def test_attained_is_stated_else_from_stated_work_else_from_counted_work() -> None:
    models = KNOWN.models
    stated = row(attained_flop_per_s=1e12, flop_per_step=1e9, step_time_s=1.0)
    assert attained(stated, models) == (exact(1e12), "attained")
    assert attained(row(flop_per_step=1e9, step_time_s=0.5), models) == (exact(2e9), "FLOP of a step / step time")
    assert attained(row(mac_per_sample=1e9, samples_per_s=3), models) == (exact(6e9), "2 x MAC x samples/s")
    counted = attained(row(model="resnet50", mode="train", step_time_s=0.5, batch=4), models)
    assert counted == (exact(24.299e9 * 8), "FLOP as counted x samples/s")


def test_nothing_is_attained_where_the_work_is_not_known() -> None:
    """MACs are of a forward pass: a training step's FLOP don't follow, nor those of a model of no stated mode."""
    models = KNOWN.models
    assert attained(row(mac_per_sample=1e9, samples_per_s=3, mode="train"), models) is None
    assert attained(row(model="resnet50", samples_per_s=3), models) is None
    assert attained(row(model="resnet50", mode="train"), models) is None
    assert attained(row(flop_per_step=1e9, step_time_s=0), models) is None
