"""The folder of a comparison: gone at its end, also where that is a kill."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from roofline.files.temporary import temporary_folder

KILLED = """
import os, signal, sys
from roofline.files.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "base").mkdir()
    (folder / "base" / "a.txt").touch()
    print(folder)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where such folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_nothing_is_left_of_it(place: Path) -> None:
    """Whatever lies in it."""
    with temporary_folder() as folder:
        assert folder.parent == place
        (folder / "base").mkdir()
    assert list(place.iterdir()) == []


def test_nothing_is_left_of_that_of_a_run_that_was_killed(place: Path) -> None:
    """With all that lies in it."""
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert left.parent == place
    while left.exists():  # until the test's time is up
        time.sleep(0.01)
