"""Which ncu a command names."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from roofline.profilers.ncu import installation
from roofline.profilers.ncu.installation import print_command, program


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """In place of the machine's own, which may have Nsight Compute."""
    monkeypatch.delenv("ROOFLINE_NCU", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(installation, "_ROOT", tmp_path / "root")
    return tmp_path / "root"


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_without_one_there_is_no_path_to_name() -> None:
    """The command stays one that can be used where ncu is."""
    assert program() is None
    assert print_command() == ("LC_ALL=C ncu --import REPORT.ncu-rep --csv --page raw --print-units base > FILE.csv")


def test_the_command_names_the_program_in_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each word is one, whatever is in it."""
    found = made(tmp_path / "my tools" / "ncu")
    monkeypatch.setenv("PATH", str(found.parent))
    assert shlex.split(print_command("my run.ncu-rep", "my run.csv")) == [
        *("LC_ALL=C", str(found), "--import", "my run.ncu-rep", "--csv", "--page", "raw", "--print-units", "base"),
        *(">", "my run.csv"),
    ]


def test_the_one_that_is_named_comes_before_path_and_installed_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: Path
) -> None:
    """From wherever; a named path is never replaced by another."""
    installed = made(root / "opt/nvidia/nsight-compute/2025.1.1/ncu")
    assert program() == installed
    on_path = made(tmp_path / "bin" / "ncu")
    monkeypatch.setenv("PATH", os.pathsep.join(("", str(tmp_path / "nowhere"), str(on_path.parent))))
    assert program() == on_path
    named = made(tmp_path / "named" / "ncu")
    monkeypatch.chdir(tmp_path)
    for given in (named, "named/ncu"):
        monkeypatch.setenv("ROOFLINE_NCU", str(given))
        assert program() == named
    monkeypatch.setenv("ROOFLINE_NCU", "ncu")
    assert program() is None


def test_another_program_of_that_name_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """npm-check-updates, which npm links to; a file that can't be started; a folder; a file in place of a folder."""
    script = made(tmp_path / "lib" / "node_modules" / "npm-check-updates" / "build" / "cli.js")
    folders = [tmp_path / name for name in ("npm", "file", "folder", "right")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "ncu").symlink_to(script)
    (folders[1] / "ncu").write_text("")
    (folders[2] / "ncu").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (script, *folders))))
    assert program() is None
    found = made(folders[3] / "ncu")
    assert program() == found


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("opt/nvidia/nsight-compute/2024.9.1", "opt/nvidia/nsight-compute/2024.10.0"),
        ("usr/local/cuda-12.9/nsight-compute-2025.2.0", "usr/local/cuda-13.0/nsight-compute-2025.3.0"),
        (
            "opt/nvidia/hpc_sdk/Linux_x86_64/24.11/profilers/Nsight_Compute",
            "opt/nvidia/hpc_sdk/Linux_x86_64/25.3/profilers/Nsight_Compute",
        ),
        ("opt/cuda/nsight_compute", "opt/nvidia/nsight-compute/2023.1.0"),
        ("opt/nvidia/nsight-compute/2025.9.0", "usr/local/cuda-13.0/nsight-compute-2025.10.0"),
    ],
)
def test_of_several_installed_ones_the_newest_comes_first(root: Path, older: str, newer: str) -> None:
    """By the version in its path, whatever order the file system has."""
    for version in (older, newer):
        made(root / version / "ncu")
    assert program() == root / newer / "ncu"
