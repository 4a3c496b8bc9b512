"""Where Nsight Compute is on this machine: its program, which commands that are shown have to name, and the folders of
NVIDIA's Python module. Nothing is started.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

VARIABLE = "ROOFLINE_NCU"
"""The environment's variable that may hold the path of ncu."""

ASK = "`roofline ncu --ask CC`, with the GPU's compute capability (8.9), lists those to ask for."
"""What to do where an ncu has no metric of a name."""

_ROOT = Path("/")
_FOLDERS = (
    "opt/nvidia/nsight-compute/*",
    "usr/local/cuda*/nsight-compute-*",
    "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute",
    "opt/cuda/nsight_compute",
)
"""Patterns of folders below the root that installers put it into."""

PLACES = (
    *(f"{folder}/ncu" for folder in _FOLDERS),
    "usr/local/cuda*/bin/ncu",
    "Program Files/NVIDIA Corporation/Nsight Compute */ncu.bat",
)
"""The same of the program, for `candidates`."""

_MODULE = Path("extras", "python")

_ANOTHER = "npm-check-updates"
"""Has an ncu, too."""


def candidates(name: str, places: Sequence[str], search: str, root: Path = _ROOT) -> Iterator[Path]:
    """Executable files of that name: those on PATH, then the installed ones, the newest first.

    :param places: patterns of its path below the root.
    :param search: PATH.
    """
    for found in (*(Path(folder, name) for folder in search.split(os.pathsep) if folder), *_newest(root, places)):
        if executable := shutil.which(found.absolute()):
            yield Path(executable)


def program() -> Path | None:
    """The absolute path of ncu: of that which is named, else the first of its `candidates` that is known to be no other
    program; None where there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return None if (found := shutil.which(Path(named).absolute())) is None else Path(found)
    found_ones = candidates("ncu", PLACES, os.environ.get("PATH", ""), _ROOT)
    return next((path for path in found_ones if _ANOTHER not in path.resolve().parts), None)


def module_folders() -> tuple[Path, ...]:
    """Folders with the Python module: beside the program that is named or that PATH has, or, where that is the CUDA
    toolkit's script, beside the one that it starts; then where installers put it.
    """
    folders: list[Path] = []
    for path in filter(None, (os.environ.get(VARIABLE), shutil.which("ncu"))):
        home = Path(path).resolve().parent
        folders += [home, home.parent, *_newest(home.parent, ["nsight-compute-*"])]
    beside = dict.fromkeys(folder / _MODULE for folder in (*folders, *_newest(_ROOT, _FOLDERS)))
    return tuple(folder for folder in beside if folder.is_dir())


def print_command(report: str = "REPORT.ncu-rep", into: str = "FILE.csv") -> str:
    """What prints a report as the CSV that is read here, to be copied into a shell. ncu is named in full where it is
    here: the one on PATH may be another, or none.
    """
    words = (str(program() or "ncu"), "--import", report, "--csv", "--page", "raw", "--print-units", "base")
    return f"LC_ALL=C {shlex.join(words)} > {shlex.quote(into)}"


def _newest(root: Path, patterns: Iterable[str]) -> list[Path]:
    """What there is, by the last version in its path."""
    return sorted((path for pattern in patterns for path in root.glob(pattern)), key=_version, reverse=True)


def _version(path: Path) -> tuple[int, ...]:
    versions = re.findall(r"\d+(?:\.\d+)+", str(path))
    return tuple(map(int, versions[-1].split("."))) if versions else ()
