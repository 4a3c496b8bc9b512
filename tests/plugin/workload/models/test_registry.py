"""Models of timm and transformers by name, with the libraries and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_roofline.complexity.assessment import Assessment
from pytest_roofline.workload.models import (
    BrokenLibrary,
    Registry,
    UnknownModel,
    label,
    libraries,
    timm_models,
    torchvision_models,
    transformers_models,
)
from pytest_roofline.workload.precision import PRECISIONS

MODELS = Registry()
TIMM = "timm is an optional extra: pip install timm"
HF = "transformers is an optional extra: pip install transformers"


def train(name: str) -> float:
    """GFLOP of a training step per sample."""
    assessment = Assessment(MODELS.find(name), mode="train", precision=PRECISIONS["fp32"])
    return assessment.step(2).work.flop_per_step / 2 / 1e9


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("resnet50", "resnet50"),
        ("timm:resnet50", "timm_resnet50"),
        ("timm:vit_base_patch16_224.augreg_in21k", "timm_vit_base_patch16_224.augreg_in21k"),
        ("hf:bert", "hf_bert"),
        ("hf:xlm-roberta", "hf_xlm_roberta"),
    ],
)
def test_labels_are_fit_for_ids_and_file_names(name: str, text: str) -> None:
    """Letters, digits, dots and underscores only."""
    assert label(name) == text


def test_a_file_is_labelled_by_type_and_content(tmp_path: Path) -> None:
    """Neither its folder nor the order of its keys is told; another content has another label."""
    first, second, third = (tmp_path / f"{name}.json" for name in "abc")
    first.write_text('{"model_type": "bert", "hidden_size": 64}')
    second.write_text('{"hidden_size": 64, "model_type": "bert"}')
    third.write_text('{"hidden_size": 128, "model_type": "bert"}')
    assert label(f"hf:{first}").startswith("hf_bert_")
    assert label(f"hf:{first}") == label(f"hf:{second}") != label(f"hf:{third}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"can't be read \(No such file"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("{}", "has no text under 'model_type'"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, content: str | None, message: str) -> None:
    """The message says the file and what is wrong with it."""
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnknownModel, match=message):
        label(f"hf:{path}")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str | Exception]]:
    """What is installed by name: its version, or what its import raises. torch is 2.11.0."""
    found: dict[str, str | Exception] = {"torch": "2.11.0+cu130"}

    def load(name: str) -> None:
        answer = found[name.partition(".")[0]]
        if isinstance(answer, Exception):
            raise answer

    monkeypatch.setattr(libraries, "is_installed", found.__contains__)
    monkeypatch.setattr(libraries, "import_module", load)
    monkeypatch.setattr(libraries, "version", lambda name: "2.11.0+cu130" if name == "torch" else "0.24.1")
    cached = (libraries.broken, torchvision_models.names)
    for one in cached:
        one.cache_clear()
    yield found
    for one in cached:
        one.cache_clear()


@pytest.mark.parametrize("error", [RuntimeError("operator torchvision::nms does not exist"), OSError("no symbol")])
def test_a_library_that_can_not_be_imported_is_told_with_the_pair_that_fits(
    installed: dict[str, str | Exception], error: Exception
) -> None:
    """Whatever its import raises. A project's own models can be had, and a library that needs it is as broken."""
    registry = Registry({"mine": pytest.fail})
    installed["torchvision"] = error
    registry.check("mine")
    said = (
        f"torchvision 0.24.1 can't be imported beside torch 2.11.0+cu130 ({type(error).__name__}: {error}): torch 2.11 "
        "goes with torchvision 0.26"
    )
    with pytest.raises(BrokenLibrary) as raised:
        registry.check("resnet50")
    assert str(raised.value) == f"no resnet50: {said}"
    assert registry.names() == ("mine",)
    installed["timm"] = error
    with pytest.raises(BrokenLibrary) as raised:
        registry.check("timm:resnet50")
    assert str(raised.value) == f"no timm:resnet50: timm needs torchvision: {said}"
    installed["transformers"] = error
    del installed["torchvision"]
    libraries.broken.cache_clear()
    with pytest.raises(
        BrokenLibrary, match=r"^no hf:bert: transformers 0\.24\.1 can't be imported .*: install it anew"
    ):
        registry.check("hf:bert")


@pytest.mark.parametrize(
    ("torch", "torchvision"), [("2.9.1", "0.24"), ("2.10.0+cpu", "0.25"), ("2.11.0", "0.26"), ("3.0.0", None)]
)
def test_the_torchvision_that_goes_with_a_torch(torch: str, torchvision: str | None) -> None:
    """As torchvision's own table has them; of another major version nothing is known."""
    assert libraries.fitting_torchvision(torch) == torchvision


def test_without_timm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name, and the command."""
    monkeypatch.setattr(timm_models, "find_spec", lambda _name: None)
    with pytest.raises(UnknownModel, match=r'timm:resnet50 needs timm.*pip install "pytest-roofline\[timm\]"'):
        MODELS.find("timm:resnet50")


def test_without_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name, and the command."""
    monkeypatch.setattr(transformers_models, "find_spec", lambda _name: None)
    with pytest.raises(UnknownModel, match=r'hf:bert needs transformers.*pip install "pytest-roofline\[hf\]"'):
        MODELS.find("hf:bert")


def test_timm_s_resnet50_is_the_same_network() -> None:
    """Parameters, input and work of torchvision's."""
    pytest.importorskip("timm", reason=TIMM)
    spec = MODELS.find("timm:resnet50")
    assert (spec.name, spec.input_shape, spec.classes) == ("timm_resnet50", (3, 224, 224), 1000)
    assert train("timm:resnet50") == pytest.approx(24.299, rel=1e-4)


def test_an_unknown_name_of_timm() -> None:
    """Near matches carry the prefix."""
    pytest.importorskip("timm", reason=TIMM)
    with pytest.raises(UnknownModel, match=r"has no model 'resnet5x'; near matches: .*timm:resnet"):
        MODELS.check("timm:resnet5x")


def test_an_unknown_tag_of_timm() -> None:
    """What follows the point names pretrained weights."""
    pytest.importorskip("timm")
    with pytest.raises(UnknownModel, match=r"timm:resnet50\.nosuchtag: .*nosuchtag.*leave out what follows the point"):
        timm_models.check("resnet50.nosuchtag")


def test_a_wrong_value_in_a_configuration(tmp_path: Path) -> None:
    """Whatever the configuration itself makes of it."""
    pytest.importorskip("transformers")
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "bert", "hidden_size": "x"}', encoding="utf-8")
    with pytest.raises(UnknownModel, match=r"transformers takes no such configuration: .*hidden_size"):
        transformers_models.check(str(path))


def test_bert_of_transformers_is_bert_base() -> None:
    """Its default configuration is BERT-base uncased, 109,482,240 parameters; 128 tokens; 22.35 GFLOP forward."""
    pytest.importorskip("transformers", reason=HF)
    spec = MODELS.find("hf:bert")
    assert (spec.name, spec.input_shape, spec.vocabulary) == ("hf_bert", (128,), 30522)
    assert json.loads(json.dumps(spec.config())) == spec.config()
    assessment = Assessment(spec, mode="train", precision=PRECISIONS["fp32"])
    assert sum(layer.parameter_count for layer in assessment.forward.layers) == 109_482_240
    assert assessment.forward.flop == 22_348_431_360


@pytest.mark.parametrize("name", ["hf:vit", "hf:t5", "hf:gpt2"])
def test_images_decoders_and_both_sides_train(name: str) -> None:
    """An image model, an encoder-decoder and a decoder take a training step; every parameter gets a gradient."""
    pytest.importorskip("transformers", reason=HF)
    work = Assessment(MODELS.find(name), mode="train", precision=PRECISIONS["fp32"]).step(1).work
    assert work.flop_per_step > 1e9
    # A gradient may be part of a larger storage.
    assert work.gradient_byte is not None
    assert work.gradient_byte >= (work.parameter_byte or 0)


def test_a_configuration_file_gives_its_sizes(tmp_path: Path) -> None:
    """A small BERT."""
    pytest.importorskip("transformers", reason=HF)
    path = tmp_path / "config.json"
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    path.write_text(json.dumps({"model_type": "bert", "vocab_size": 100, "max_position_embeddings": 16, **sizes}))
    spec = MODELS.find(f"hf:{path}")
    assert spec.input_shape == (16,)
    assert spec.vocabulary == 100
    assert train(f"hf:{path}") > 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hf:bertt", r"no model type 'bertt'; near matches: hf:bert.*use one of its [1-9]\d+ types"),
        ("hf:wav2vec2", "takes input_values"),
    ],
)
def test_what_transformers_can_not_give(name: str, message: str) -> None:
    """An unknown type has near matches; what can't be fed says what it takes."""
    pytest.importorskip("transformers", reason=HF)
    with pytest.raises(UnknownModel, match=message):
        MODELS.check(name)
