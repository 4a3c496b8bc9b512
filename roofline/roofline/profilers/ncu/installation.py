"""Find Nsight Compute's program on this machine, for the commands that are shown. Nothing is started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

VARIABLE = "ROOFLINE_NCU"
"""The environment's variable that may hold the path of ncu."""

ASK = "`roofline ncu --ask CC`, with the GPU's compute capability (8.9), lists those to ask for."
"""What to do where an ncu has no metric of a name."""

_ROOT = Path("/")
PLACES = (
    "opt/nvidia/nsight-compute/*/ncu",
    "usr/local/cuda*/nsight-compute-*/ncu",
    "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute/ncu",
    "opt/cuda/nsight_compute/ncu",
    "usr/local/cuda*/bin/ncu",
    "Program Files/NVIDIA Corporation/Nsight Compute */ncu.bat",
)
"""Patterns of its path below the root, where installers put it."""

_ANOTHER = "npm-check-updates"
"""Has an ncu, too."""


def candidates(name: str, places: Sequence[str], search: str, root: Path = _ROOT) -> Iterator[Path]:
    """Executable files of that name: those on PATH, then the installed ones, the newest first.

    :param places: patterns of its path below the root.
    :param search: PATH.
    """
    installed = sorted((path for pattern in places for path in root.glob(pattern)), key=_version, reverse=True)
    for found in (*(Path(folder, name) for folder in search.split(os.pathsep) if folder), *installed):
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


def print_command(report: str = "REPORT.ncu-rep", into: str = "FILE.csv") -> str:
    """Give the command that prints a report as the CSV that is read here, to be copied into a shell. ncu is named in
    full where it is here: the one on PATH may be another, or none.
    """
    words = (str(program() or "ncu"), "--import", report, "--csv", "--page", "raw", "--print-units", "base")
    return f"LC_ALL=C {shlex.join(words)} > {shlex.quote(into)}"


def _version(path: Path) -> tuple[int, ...]:
    """The last one in a path."""
    versions = re.findall(r"\d+(?:\.\d+)+", str(path))
    return tuple(map(int, versions[-1].split("."))) if versions else ()
