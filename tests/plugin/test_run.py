"""A run: what it stores of the command line."""

from __future__ import annotations

import pytest

from pytest_roofline.run import _relative


@pytest.mark.parametrize(
    ("argument", "stored"),
    [
        ("perftests", "perftests"),
        ("perftests/test_models.py", "perftests/test_models.py"),
        ("/home/somebody/project/perftests", "perftests"),
        ("--results=/home/somebody/results", "--results=results"),
        ("imagefolder:/data/imagenet-mini/", "imagefolder:imagenet-mini"),
        ("imagefolder:data/mini", "imagefolder:data/mini"),
        ("~/results", "results"),
        ("-m", "-m"),
    ],
)
def test_absolute_paths_are_not_stored(argument: str, stored: str) -> None:
    """A results file is published: it names no folder of the machine it came from."""
    assert _relative(argument) == stored
