"""Known models: their names, their counted FLOP, and the FLOP/s of a row."""

from collections import defaultdict

import pytest

from roofline.audits.known_models import KnownModel, attained, load, plain
from roofline.audits.row import exact, rounded
from tests.roofline.audits.make import KNOWN, row

RESNET50 = (8_178_368_512, 24_299_077_632)
VIT_B_16 = (35_127_656_448, 105_867_085_824)


def known(name: str, **stated: object) -> KnownModel | None:
    return KNOWN.models.of(row(model=name, **stated))


@pytest.mark.parametrize(
    ("name", "forward", "training"),
    [
        *((name, *RESNET50) for name in (
            "ResNet-50", "resnet50", "RESNET 50", " ResNet_50 ", "resnet50.a1_in1k", "resnet50.tv_in1k",
            "ResNet-50 v1.5",
            "timm:resnet50", "timm/resnet50.a1_in1k", "timm_resnet50", "hf-hub:timm/resnet50.a1_in1k",
            "torchvision:resnet50", "torchvision.models.resnet50", "models.resnet50",
        )),
        *((name, *VIT_B_16) for name in ("vit_b_16", "ViT-B/16", "ViT Base 16")),
        ("vgg16.tv_in1k", 30_940_528_640, 92_648_177_664),
        ("MobileNetV2", 601_548_544, 1_782_969_600),
        ("resnet18", 3_628_146_688, 10_648_412_160),
        ("SqueezeNet1.1", 698_303_872, 2_052_330_240),
        ("squeezenet1_1", 698_303_872, 2_052_330_240),
        ("Swin-T", 8_981_133_312, 26_914_498_560),
    ],
)  # fmt: skip
def test_counted_flop_by_what_people_call_a_model(name: str, forward: int, training: int) -> None:
    """However libraries and reports spell it."""
    model = known(name)
    assert model is not None
    assert (model.of("infer").value, model.of("train").value) == (forward, training)


@pytest.mark.parametrize(
    "name",
    [
        "resnet", "resnet5", "resnet500", "resnet50v2", "resnetv3_50", "resnet50_cifar", "resnet50x2",
        "ResNet-50 v1", "my_resnet50",
        "vit", "vit_b", "vit_b_8", "ViT-B", "vgg", "squeezenet", "squeezenet1", "mobilenet", "efficientnet", "swin",
        "bert", "bert_large", "timm", "timm:", "torchvision.models", "torchvision:timm:resnet50", "", "-", ".a1_in1k",
    ],
)  # fmt: skip
def test_what_is_nearly_a_name_is_none(name: str) -> None:
    assert known(name) is None


def test_every_name_finds_its_own_model_in_its_own_library() -> None:
    """No two of a library are one name as names are compared, and none hides another of its size."""
    models = [model for of_name in load().by_name.values() for model in of_name]
    sizes: defaultdict[tuple[str, str], set[object]] = defaultdict(set)
    for model in dict.fromkeys(models):
        size = (model.size_pixel, model.length_token)
        assert size not in sizes[model.library, plain(model.name)]
        sizes[model.library, plain(model.name)].add(size)
        prefix = "" if model.library == "suite" else f"{model.library}:"
        stated = {"size_pixel": model.size_pixel, "length_token": model.length_token}
        assert known(f"{prefix}{model.name}", **stated, parameter_count=model.parameter_count) == model


def test_torchvision_s_models_are_known_by_their_bare_names() -> None:
    """But EfficientNets, of which timm publishes some at other sizes, where the row doesn't tell which."""
    models = {model for of_name in load().by_name.values() for model in of_name if model.library == "torchvision"}
    assert len(models) == 80
    assert all(model.name.startswith("efficientnet_") for model in models if known(model.name) is None)
    for model in models:
        bare = known(model.name, size_pixel=model.size_pixel)
        assert bare is not None
        assert (bare.name, bare.forward) == (model.name, model.forward)
        assert known(f"torchvision:{model.name}") == model


def test_one_name_with_two_figures_is_known_only_with_what_tells_them_apart() -> None:
    """EfficientNet-B2: images of 288 pixels in torchvision, of 256 in timm."""
    assert known("efficientnet_b2") is None
    one, other = (known("EfficientNet-B2", size_pixel=side) for side in (288, 256))
    assert one is not None
    assert other is not None
    assert (one.library, other.library) == ("torchvision", "timm")
    assert known("timm:efficientnet_b2") == other


def test_two_figures_that_are_nearly_one_are_one() -> None:
    """Inception v3 trains with an auxiliary head in torchvision and without in timm: a thousandth of its work."""
    one, other = known("torchvision:inception_v3"), known("timm:inception_v3")
    assert one is not None
    assert other is not None
    assert one.training.value > other.training.value
    assert known("inception_v3") == one
    assert known("inception_v3", parameter_count=rounded(23.83e6, 5e3)) == other


def test_another_image_size_has_other_flop() -> None:
    """A size that is stated counts, one in the tag of the weights too; unstated it is the usual one."""
    assert known("resnet50", size_pixel=224) is not None
    assert known("resnet50", size_pixel=160) is None
    assert known("resnet50.a1_in1k_288") is None
    assert known("resnet50.a1_in1k_288", size_pixel=224) is not None
    assert known("inception_v3", size_pixel=224) is None
    assert known("vit_b_16", size_pixel=384) is None
    assert KNOWN.models.of(row()) is None


def test_a_sequence_s_length_has_to_be_stated() -> None:
    """Nothing is usual; and attention makes four times the length more than four times the work."""
    assert known("bert_base") is None
    assert known("bert_base", length_token=100) is None


@pytest.mark.parametrize("tokens", [128, 256, 384, 512])
def test_bert_from_its_sizes(tokens: int) -> None:
    """12 layers of width 768, each four projections and a feed-forward of four times the width; scores and their sum
    over the values. Nothing before the first layer wants a gradient, so training is three times that."""
    width, layers = 768, 12
    linear = 2 * tokens * (layers * (4 * width * width + 2 * width * 4 * width) + 2 * width)
    attention = layers * 2 * 2 * tokens * tokens * width
    for name in ("bert_base", "BERT-base-uncased", "google-bert/bert-base-cased", "hf:bert", "hf_bert"):
        model = known(name, length_token=tokens)
        assert model is not None
        assert model.forward.value == linear + attention
        assert model.training.value == 3 * (linear + attention)


def test_the_number_of_parameters_tells_models_of_one_name_apart() -> None:
    """As printed; a per cent is another head, more is another model."""
    assert known("resnet50", parameter_count=rounded(25.56e6, 5e3)) is not None
    assert known("resnet50", parameter_count=25_557_032 + 2_049) is not None
    assert known("resnet50", parameter_count=rounded(23.5e6, 5e4)) is None


def test_a_name_that_anybody_gives_needs_its_parameters() -> None:
    assert known("mlp") is None
    assert known("cnn") is None
    assert known("MLP", parameter_count=1_000_000) is None
    mlp = known("mlp", parameter_count=235_146)
    assert mlp is not None
    assert (mlp.forward.value, mlp.training.value) == (469_504, 1_007_104)


def test_training_is_about_three_forward_passes() -> None:
    """Backward is twice forward, less the gradient of the first layer's input, which is much of a small network.
    Attention that is fused is computed once more; auxiliary heads are there in training alone."""
    for models in load().by_name.values():
        for model in models:
            assert 2 < model.training.value / model.forward.value < 3.5


def test_names_are_compared_without_case_punctuation_library_and_tag() -> None:
    assert plain("ResNet-50.a1_in1k") == plain("resnet_50") == plain("timm/resnet50") == "resnet50"
    assert plain("squeezenet1.1") == plain("SqueezeNet 1_1") == "squeezenet1_1"
    assert plain("RegNetY-1.6GF") == plain("regnet_y_1_6gf") != plain("regnet_y_16gf")


def test_attained_is_stated_else_from_stated_work_else_from_counted_work() -> None:
    models = KNOWN.models
    stated = row(attained_flop_per_s=1e12, flop_per_step=1e9, step_time_s=1.0)
    assert attained(stated, models) == (exact(1e12), "attained")
    assert attained(row(flop_per_step=1e9, step_time_s=0.5), models) == (exact(2e9), "FLOP of a step / step time")
    assert attained(row(mac_per_sample=1e9, samples_per_s=3), models) == (exact(6e9), "2 x MAC x samples/s")
    counted = attained(row(model="resnet50", mode="train", step_time_s=0.5, batch=4), models)
    assert counted == (exact(RESNET50[1] * 8.0), "FLOP as counted x samples/s")


def test_nothing_is_attained_where_the_work_is_not_known() -> None:
    """MACs are of a forward pass: a training step's FLOP don't follow, nor those of a model of no stated mode."""
    models = KNOWN.models
    assert attained(row(mac_per_sample=1e9, samples_per_s=3, mode="train"), models) is None
    assert attained(row(model="resnet50", samples_per_s=3), models) is None
    assert attained(row(model="resnet50", mode="train"), models) is None
    assert attained(row(flop_per_step=1e9, step_time_s=0), models) is None
