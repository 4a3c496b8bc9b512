"""What a case's variant is called."""

from __future__ import annotations

from typing import Any

import pytest

from roofline.plots.variants import described, variant
from tests.roofline import build


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


def test_the_plain_variant_has_a_name_in_legends() -> None:
    """An empty label would be left out."""
    assert (described(""), described("sample")) == ("ready data", "sample")
