"""What tests of the program share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from roofline.cli import program as cli
from tests.roofline import build

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The program in this process, from a folder of its own: exit code, stdout, stderr."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with a run of each of two machines."""
    build.two_machines(tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def one(results: Path) -> Path:
    """The run of one of them."""
    return next((results / "a100").iterdir())
