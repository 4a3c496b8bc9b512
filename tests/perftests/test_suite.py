"""Whether a command line means this suite."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perftests.suite import is_asked_for


def config(folder: Path, *arguments: str) -> Any:
    return SimpleNamespace(args=list(arguments), invocation_params=SimpleNamespace(dir=folder))


@pytest.mark.parametrize(
    ("argument", "asked"),
    [
        ("perftests", True),
        ("perftests/test_models.py::test_train[x]", True),
        (".", True),
        ("link", True),
        ("tests", False),
        ("circle", False),
        ("circle/test_a.py", False),
    ],
)
def test_what_names_the_suite(tmp_path: Path, argument: str, asked: bool) -> None:
    """Its folder, something in it, a folder above it, through links too; a link to itself is somebody else's error."""
    for folder in ("perftests", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to("perftests")
    (tmp_path / "circle").symlink_to("circle")
    assert is_asked_for(config(tmp_path, argument), tmp_path / "perftests") is asked
