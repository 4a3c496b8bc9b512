"""The folder of a comparison: gone at its end, and after a run that was killed at the next one's beginning."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from roofline.interleaving.temporary import PREFIX, temporary_folder

KILLED = """
import os, signal, sys
from roofline.interleaving.temporary import temporary_folder
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


def test_that_of_a_run_that_was_killed_is_removed_by_the_next_one(place: Path) -> None:
    """With all that lies in it."""
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert (left / "base" / "a.txt").exists()
    with temporary_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_that_of_a_run_that_goes_on_is_left_alone(place: Path) -> None:
    """So is one that tells of no owner, and what only looks like one."""
    unclaimed, another = place / f"{PREFIX}unclaimed", place / "another"
    for folder in (unclaimed, another):
        folder.mkdir()
    (another / "owner").touch()
    with temporary_folder() as first, temporary_folder() as second:
        assert sorted(place.iterdir()) == sorted((first, second, unclaimed, another))
        (first / "base").mkdir()
    assert sorted(place.iterdir()) == sorted((unclaimed, another))
