"""Colours, markers and the spreading of labels."""

from pathlib import Path
from typing import Any

import pytest

from roofline.plots.style import new_figure, save, slug, spread, style_for, variant
from tests.roofline import build


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([], []),
        ([0.5], [0.5]),
        ([0.2, 0.8], [0.2, 0.8]),
        ([0.5, 0.5], [0.5, 0.6]),
        ([0.55, 0.5, 0.45], [0.65, 0.55, 0.45]),
        ([0.99, 0.98], [1.0, 0.9]),
        ([0.0, 0.01], [0.0, 0.1]),
        ([0.3, 0.31, 0.32, 0.5, 0.55], [0.3, 0.4, 0.5, 0.6, 0.7]),
    ],
)
def test_spread(wanted: list[float], placed: list[float]) -> None:
    """Where they belong or above, in their order, a gap of 0.1 apart, inside 0 to 1."""
    assert spread(wanted, 0.1) == [pytest.approx(value) for value in placed]


def test_a_model_keeps_its_colour_and_a_precision_its_marker() -> None:
    """Whatever else is drawn beside it."""
    style = style_for(["vgg16", "resnet50", "vgg16"], ["amp_bf16", "fp32", "int8"])
    assert style.models == ("resnet50", "vgg16")
    assert style.precisions == ("fp32", "amp_bf16", "int8")
    assert style.color("resnet50") != style.color("vgg16")
    assert len({style.marker(name) for name in style.precisions}) == 3
    assert style_for(["x"], ["fp32"]).marker("fp32") == style.marker("fp32")


def test_more_models_than_colours() -> None:
    """Lighter and darker tints follow (black has no darker one); after three turns they are used again."""
    style = style_for([f"model{index:02}" for index in range(40)], [])
    assert len({style.color(model) for model in style.models[:30]}) == 29
    assert style.color("model00") == style.color("model30") == "#0072B2"
    assert (style.color("model10"), style.color("model20")) == ("#73B1D5", "#00446B")


def test_only_the_plain_variant_fills_a_marker() -> None:
    """Others fill a half, each another one, and have a line of their own; where halves repeat, the other half tells."""
    style = style_for([], [], ["sample", "fake", "channels_last"])
    assert style.variants == ("", "channels_last", "fake", "sample")
    assert [style.fill(name) for name in style.variants] == ["full", "left", "right", "top"]
    assert len({str(style.line(name)) for name in style.variants}) == 4
    many = style_for([], [], [f"v{index}" for index in range(9)])
    assert "full" not in {many.fill(f"v{index}") for index in range(9)}
    assert len({(many.fill(f"v{index}"), many.other_half(f"v{index}")) for index in range(9)}) == 9


@pytest.mark.parametrize(
    ("label", "begin"), [("a100", "a100"), ("my lab/GPU: 1", "my-lab-GPU--1-"), ("../..", "machine-"), ("", "machine-")]
)
def test_slug(label: str, begin: str) -> None:
    """A label can't leave the folder it is written to, and two never share a file."""
    assert slug(label).startswith(begin)
    assert len({slug("a b"), slug("a-b"), slug("a/b"), slug("-a-b")}) == 4


def test_long_labels_fit_into_a_file_name() -> None:
    """Two of them, in bytes; what is cut off tells them apart."""
    first, second = slug(300 * "中" + "a"), slug(300 * "中" + "b")
    assert first != second
    assert len(first.encode()) <= 100


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("a\x1b[31m\x07$x^2$", r"a\x1b[31m\x07$x^2$"), ("日\U0001f9ff", "日\U0001f9ff")],
)
def test_any_name_can_be_drawn(tmp_path: Path, name: str, drawn: str) -> None:
    """No warning sends it to the terminal."""
    figure = new_figure(4, 3)
    text = figure.text(0.1, 0.5, name)
    assert save(figure, tmp_path / "a.png").stat().st_size > 0
    assert text.get_text() == drawn


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, ""),
        ({"data": "given"}, ""),
        ({"data": "sample"}, "sample"),
        ({"layout": "channels_last", "data": "fake"}, "channels_last, fake"),
        ({"layout": None}, "mixed layouts"),
        ({"config": {"compile": True}}, "compiled"),
        ({"config": {"test": "input_pipeline"}}, "input test: ready"),
        ({"config": {"test": "input_pipeline"}, "data": "fake"}, "input test: fake"),
    ],
)
def test_the_name_is_what_differs(changes: dict[str, Any], name: str) -> None:
    """Layout, data, compiled; a step of the input pipeline's test never stands for the case it repeats."""
    assert variant(build.record(case=build.case(**changes))) == name


def test_a_file_is_as_large_as_what_stands_in_it(tmp_path: Path) -> None:
    """Nothing is cut off at an edge: a figure of one inch with a text two inches below it."""
    from matplotlib.image import imread

    figure = new_figure(1, 1)
    figure.text(0, 1, "above")
    figure.text(0, -2, "below")
    assert imread(save(figure, tmp_path / "a.png")).shape[0] > 2 * figure.dpi
