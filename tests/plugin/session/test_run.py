"""A run: what it stores of the command line."""

from __future__ import annotations

import pytest

from pytest_roofline.session.results_file import without_folders


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
        ("cpu and not mps", "cpu and not mps"),
        (
            "OSError: [Errno 2] No such file: '/home/somebody/data/a b.jpg'",
            "OSError: [Errno 2] No such file: 'a b.jpg'",
        ),
        ("read 3/4 of /srv/x/y.jpg, at 10 GB/s", "read 3/4 of y.jpg, at 10 GB/s"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
    ],
)
def test_absolute_paths_are_not_stored(argument: str, stored: str) -> None:
    """A results file is published: it names no folder of the machine it came from."""
    assert without_folders(argument) == stored
