"""The suite's models by name: what each needs, the exact built-in layers, and their work in closed form."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from perftests import bert, models
from pytest_roofline.complexity.fake import fake_model, fake_workload
from pytest_roofline.counting import count_step
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Step


def test_every_torchvision_classification_model_is_known() -> None:
    """The registry's classification models are all there, and nothing else of torchvision's."""
    names = models.MODELS.names()
    assert names[:5] == ("mlp", "cnn", "bert_base", "lstm", "transformer_encoder")
    assert {"resnet18", "vgg16", "mobilenet_v2", "vit_b_16", "swin_v2_t"} <= set(names)
    assert "fasterrcnn_resnet50_fpn" not in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet5", r"unknown model 'resnet5'; near matches: .*resnet50"),
        ("MobileNet-V2", "near matches: mobilenet_v2"),
        ("zzzzzzzzzzzz", "built in are mlp, cnn, bert_base, lstm, transformer_encoder"),
    ],
)
def test_an_unknown_name_says_near_matches(name: str, message: str) -> None:
    """Capitals and hyphens don't keep one away; without any the message still says something that works."""
    with pytest.raises(models.UnknownModel, match=message):
        models.check(name)


@pytest.mark.parametrize(
    ("name", "size"),
    [("resnet18", 224), ("inception_v3", 299), ("efficientnet_b7", 600), ("swin_v2_t", 256), ("vit_h_14", 224)],
)
def test_a_model_gets_images_of_its_published_size(name: str, size: int) -> None:
    """The size is that of the IMAGENET1K_V1 weights; a model without such gets 224, which vit_h_14 is built for."""
    assert models.find(name).input_shape == (3, size, size)


@pytest.mark.parametrize("name", ["resnet18", "googlenet", "inception_v3", "vit_b_32"])
def test_a_torchvision_model_runs_and_its_loss_fits(name: str) -> None:
    """Training output goes through the model's loss: auxiliary heads included. On meta tensors: no time, no memory."""
    spec = models.find(name)
    with torch.device("meta"):
        model = spec.build()
        images = torch.empty(2, *spec.input_shape)
        loss = spec.loss(model(images), torch.empty(2, dtype=torch.long))
        assert model.training
        logits = model.eval()(images)
    assert loss.shape == ()
    assert logits.shape == (2, spec.classes)


@pytest.mark.parametrize(("name", "weights"), [("inception_v3", (1.0, 0.4)), ("googlenet", (1.0, 0.3, 0.3))])
def test_auxiliary_heads_are_weighed(name: str, weights: tuple[float, ...]) -> None:
    """As published: the loss is that of the logits, plus a share of each auxiliary head's."""
    from torchvision.models.googlenet import GoogLeNetOutputs
    from torchvision.models.inception import InceptionOutputs

    outputs = InceptionOutputs if name == "inception_v3" else GoogLeNetOutputs
    sure, even = torch.tensor([[0.0, 50.0]]), torch.zeros(1, 2)
    for head, weight in enumerate(weights):
        logits = outputs(*(even if head == number else sure for number in range(len(weights))))
        loss = models.find(name).loss(logits, torch.tensor([1]))
        assert loss.item() == pytest.approx(weight * 0.6931472)


def _layers(name: str) -> list[str]:
    return [repr(module) for module in models.find(name).build().modules() if not list(module.children())]


def test_the_mlp_has_the_layers_of_report_004() -> None:
    """784-256-128-10 and a softmax: 235 146 parameters."""
    assert _layers("mlp") == [
        "Linear(in_features=784, out_features=256, bias=True)",
        "Linear(in_features=256, out_features=128, bias=True)",
        "Linear(in_features=128, out_features=10, bias=True)",
        "Softmax(dim=1)",
    ]


def test_the_cnn_has_the_layers_of_report_004() -> None:
    """Two single-channel 5x5 convolutions with pooling, then 16-100-10: 2 762 parameters."""
    convolution = "Conv2d(1, 1, kernel_size=(5, 5), stride=(1, 1))"
    pool = "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"
    assert _layers("cnn") == [
        convolution,
        pool,
        convolution,
        pool,
        "Linear(in_features=16, out_features=100, bias=True)",
        "Linear(in_features=100, out_features=10, bias=True)",
    ]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("mlp", 235_146), ("cnn", 2_762), ("resnet18", 11_689_512), ("bert_base", 107_721_218)],
)
def test_parameter_counts(name: str, parameters: int) -> None:
    """From the layers by hand (resnet18: as published).

    BERT-base cased with a question-answering head and without a pooler: embeddings (28 996 + 512 + 2) x 768 and a norm;
    12 layers of 7 087 872; a head of 768 x 2 + 2.
    """
    with torch.device("meta"):
        model = models.find(name).build()
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


@pytest.mark.parametrize("name", ["mlp", "cnn"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_small_nets_give_probabilities(name: str, layout: torch.memory_format) -> None:
    """Each row of the output sums to one, in both layouts."""
    spec = models.find(name)
    output = spec.build()(torch.randn(3, *spec.input_shape).contiguous(memory_format=layout))
    assert output.shape == (3, 10)
    assert torch.allclose(output.sum(dim=1), torch.ones(3))


def test_the_mlp_clamps_its_last_layer() -> None:
    """As in report 004 a ReLU follows the last layer: with a negative last bias all classes are equally likely."""
    model = models.find("mlp").build()
    with torch.no_grad():
        model.fc3.weight.zero_()
        model.fc3.bias.copy_(torch.arange(-10.0, 0.0))
    assert torch.equal(model(torch.randn(2, 1, 28, 28)), torch.full((2, 10), 0.1))


def test_the_small_nets_loss_is_that_of_report_004() -> None:
    """Minus the probability of the right class, without a logarithm: its losses were between -1 and 0."""
    probabilities = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    assert models.find("mlp").loss(probabilities, torch.tensor([1, 0])).item() == pytest.approx(-0.65)


def test_config_tells_what_changes_the_work() -> None:
    """Plain values: name, shape, classes, loss, and of a built-in model its architecture."""
    import json

    config = models.find("bert_base").config()
    assert json.loads(json.dumps(config)) == config
    assert config == {
        "model": "bert_base",
        "input_shape": [128],
        "classes": 128,
        "loss": "answer_span",
        "layers": 12,
        "hidden": 768,
        "heads": 12,
        "intermediate": 3072,
        "vocabulary": 28996,
        "positions": 512,
        "segments": 2,
        "dropout": 0.1,
        "norm_epsilon": 1e-12,
    }
    assert models.find("resnet18").config() == {
        "model": "resnet18",
        "input_shape": [3, 224, 224],
        "classes": 1000,
        "loss": "cross_entropy",
    }


@pytest.mark.parametrize(
    ("name", "changes", "obstacle"),
    [
        ("resnet18", {"layout": "channels_last", "data": "sample"}, None),
        ("bert_base", {}, None),
        ("bert_base", {"data": "sample"}, "bert_base takes tokens and sample data are images; use synthetic data"),
        ("bert_base", {"layout": "channels_last"}, "bert_base takes tokens, which have no channels_last layout"),
        ("inception_v3", {"batch": 1}, "inception_v3: train batch must be >= 2 (a batch norm sees a single value)"),
        ("inception_v3", {"batch": 2}, None),
        ("inception_v3", {"batch": 1, "mode": "infer"}, None),
    ],
)
def test_what_makes_no_sense_is_skipped_with_its_reason(
    name: str, changes: dict[str, Any], obstacle: str | None
) -> None:
    """Tokens have no layout and take no images; a batch norm needs more than one value, in training."""
    case = {"mode": "train", "batch": 8, "layout": "contiguous", "data": "synthetic"} | changes
    assert models.find(name).obstacle(**case) == obstacle


def test_inception_really_can_not_train_on_one_image() -> None:
    """The least batch that is declared is the least that works."""
    with torch.device("meta"):
        model = models.find("inception_v3").build()
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            model(torch.empty(1, 3, 299, 299))


TINY = bert.BertConfig(layers=2, hidden=8, heads=2, intermediate=16, vocabulary=50, positions=12)


def test_attention_is_softmax_of_scaled_products() -> None:
    """One layer's attention equals the formula written out (Vaswani et al., 2017, equation 1), per head."""
    layer = bert.BertForQuestionAnswering(TINY).eval().layers[0]
    x = torch.randn(2, 5, 8)
    heads = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        query, key, value = (linear(x)[..., part] for linear in (layer.query, layer.key, layer.value))
        heads.append(torch.softmax(query @ key.transpose(1, 2) / 2.0, dim=-1) @ value)
    assert torch.allclose(layer._attend(x), torch.cat(heads, dim=-1), atol=1e-6)


def test_order_matters() -> None:
    """Positions are embedded: the same tokens in another order give other logits for the same token."""
    model = bert.BertForQuestionAnswering(TINY).eval()
    forward, backward = (model(torch.tensor([tokens]))[0][0] for tokens in ([3, 4, 5], [5, 4, 3]))
    assert not torch.allclose(forward, backward.flip(0))


def test_weights_start_as_published() -> None:
    """Normal with standard deviation 0.02, biases zero, norms one."""
    torch.manual_seed(0)
    layer = bert.BertForQuestionAnswering(bert.BertConfig(layers=1, vocabulary=10)).layers[0]
    assert abs(layer.widen.weight.std().item() - 0.02) < 1e-4
    assert layer.widen.bias.count_nonzero() == 0
    assert torch.equal(layer.output_norm.weight, torch.ones(768))


def test_the_loss_is_the_mean_over_start_and_end() -> None:
    """A certain start and an even end cost half of log(2)."""
    start, end = torch.tensor([[0.0, 50.0]]), torch.zeros(1, 2)
    loss = models.find("bert_base").loss((start, end), torch.tensor([[1, 0]]))
    assert torch.isclose(loss, torch.tensor(0.6931472 / 2))


TOKENS, HIDDEN, CLASSES = models.SEQUENCE_TOKENS, 256, 10

LSTM = 2 * TOKENS * 2 * 4 * HIDDEN * (HIDDEN + HIDDEN) + 2 * HIDDEN * CLASSES
"""Matrix FLOP of a sequence, forward: two layers of four gates, each of input and state; then the head."""

ENCODER = 2 * (TOKENS * 2 * (4 * HIDDEN**2 + 2 * HIDDEN * 1024) + 2 * 2 * TOKENS**2 * HIDDEN) + 2 * HIDDEN * CLASSES
"""Two layers: four projections and two of the feed-forward for each token, two products of attention; then the head."""


def flop(name: str, mode: str, precision: str) -> dict[str, float]:
    spec = models.find(name)
    with FakeTensorMode(allow_non_fake_inputs=True) as fakes:
        model = fake_model(spec, PRECISIONS[precision], fakes)
        workload = fake_workload(spec, model, batch=3, mode=mode, precision=PRECISIONS[precision])  # type: ignore[arg-type]
        counted = count_step(Step(workload), model=model, optimizer=workload.optimizer)
    return {dtype: value for dtype, value in counted.flop_by_dtype.items() if value}


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", "fp32"), ("amp_bf16", "bf16"), ("bf16", "bf16")])
@pytest.mark.parametrize(("name", "expected"), [("lstm", LSTM), ("transformer_encoder", ENCODER)])
def test_inference_in_closed_form(name: str, expected: int, precision: str, dtype: str) -> None:
    """Fused or not, in every precision: the same products, in the precision's dtype."""
    assert flop(name, "infer", precision) == {dtype: 3 * expected}


@pytest.mark.parametrize(("name", "forward"), [("lstm", LSTM), ("transformer_encoder", ENCODER)])
def test_training_is_three_times_that(name: str, forward: int) -> None:
    """Every product has two in backward; the embedding has none, but its output has a gradient."""
    counted = flop(name, "train", "fp32")
    # The first two products of attention have two in backward as well; a fused one recomputes the first.
    assert counted["fp32"] >= 3 * 3 * forward
    assert counted["fp32"] <= 3 * 3.02 * forward
