"""Where Nsight Compute is on this machine: its program, which commands that are shown have to name, and the folders of
NVIDIA's Python module. Nothing is started.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

VARIABLE = "ROOFLINE_NCU"
"""The environment's variable that may hold the path of ncu, or of its folder."""

ASK = "`roofline ncu --ask CC`, with the GPU's compute capability (8.9), lists those to ask for."
"""What to do where an ncu has no metric of a name."""

_ROOT = Path("/")
INSTALLED = (
    "opt/nvidia/nsight-compute/*",
    "usr/local/cuda*/nsight-compute-*",
    "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute",
    "opt/cuda/nsight_compute",
)
"""Folders below the root that installers put it into."""

_MODULE = Path("extras", "python")

_ANOTHER = "npm-check-updates"
"""Has an ncu, too."""


def program() -> Path | None:
    """The absolute path of ncu: of that which is named, by itself or by its folder, else the first on PATH, else the
    newest that is installed; None where there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).absolute()
        return _within(path) if path.is_dir() else _usable(shutil.which(str(path)))
    on_path = (Path(folder) for folder in os.get_exec_path() if folder)
    return next(filter(None, map(_within, chain(on_path, _installed()))), None)


def module_folders() -> tuple[Path, ...]:
    """Folders with the Python module: beside the program that is named or that PATH has, or, where that is the CUDA
    toolkit's script, beside the one that it starts; then where installers put it.
    """
    folders: list[Path] = []
    for path in filter(None, (os.environ.get(VARIABLE), shutil.which("ncu"))):
        resolved = Path(path).resolve()
        home = resolved if resolved.is_dir() else resolved.parent
        folders += [home, home.parent, *sorted(home.parent.glob("nsight-compute-*"), key=_numbers, reverse=True)]
    beside = dict.fromkeys(folder / _MODULE for folder in (*folders, *_installed()))
    return tuple(folder for folder in beside if folder.is_dir())


def print_command(report: str = "REPORT.ncu-rep", into: str = "FILE.csv") -> str:
    """What prints a report as the CSV that is read here, to be copied into a shell. ncu is named in full where it is
    here: the one on PATH may be another, or none.
    """
    words = (str(program() or "ncu"), "--import", report, "--csv", "--page", "raw", "--print-units", "base")
    return f"LC_ALL=C {shlex.join(words)} > {shlex.quote(into)}"


def _installed() -> Iterator[Path]:
    """Folders, the newest first of each place."""
    for pattern in INSTALLED:
        yield from sorted(_ROOT.glob(pattern), key=_numbers, reverse=True)


def _within(folder: Path) -> Path | None:
    return _usable(shutil.which("ncu", path=str(folder)))


def _usable(found: str | None) -> Path | None:
    """An executable file of that name, unless it is known to be another program."""
    return None if found is None or _ANOTHER in Path(found).resolve().parts else Path(found).absolute()


def _numbers(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", str(path)))
