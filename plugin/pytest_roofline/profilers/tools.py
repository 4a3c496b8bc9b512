"""ncu, nsys, perf and nvidia-smi on this machine, each asked who it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device.system import System
from pytest_roofline.profilers.diagnosis import Diagnosis, Status
from roofline.profilers.ncu.installation import PLACES, VARIABLE, candidates

VERSION_S = 10.0
"""Time in which a program has to tell its version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to look for.

    :param name: of its executable.
    :param variable: the environment's variable that may hold its path.
    :param asks: arguments that make it tell who it is.
    :param answer: what it says then; the group is its version. Other programs have the same name: npm-check-updates is
        an ncu, and Ubuntu's perf is a script that says which package to install.
    :param places: patterns of its path below the root, where installers put it.
    """

    name: str
    title: str
    answer: re.Pattern[str]
    install: str
    variable: str | None = None
    asks: tuple[str, ...] = ("--version",)
    places: tuple[str, ...] = ()


NCU = Program(
    name="ncu",
    title="NVIDIA Nsight Compute",
    variable=VARIABLE,
    answer=re.compile(r"Nsight Compute.*?\bVersion\s+(\d[\d.]*)", re.DOTALL | re.IGNORECASE),
    install="Install Nsight Compute (it comes with the CUDA toolkit)",
    places=PLACES,
)
NSYS = Program(
    name="nsys",
    title="NVIDIA Nsight Systems",
    variable="ROOFLINE_NSYS",
    answer=re.compile(r"Nsight Systems version\s+(\d[\d.]*)", re.IGNORECASE),
    install="Install Nsight Systems (it comes with the CUDA toolkit)",
    places=(
        "opt/nvidia/nsight-systems/*/bin/nsys",
        "opt/nvidia/nsight-systems-cli/*/bin/nsys",
        "usr/local/cuda*/bin/nsys",
        "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/bin/nsys",
        "Program Files/NVIDIA Corporation/Nsight Systems */target-windows-x64/nsys.exe",
    ),
)
PERF = Program(
    name="perf",
    title="perf",
    variable="ROOFLINE_PERF",
    answer=re.compile(r"^perf version (\S+)", re.MULTILINE),
    install="Install perf (package linux-perf on Debian, linux-tools-generic on Ubuntu, perf on Fedora)",
    places=("usr/bin/perf", "usr/lib/linux-tools/*/perf", "usr/lib/linux-tools-*/perf"),
)
NVIDIA_SMI = Program(
    name="nvidia-smi",
    title="NVIDIA's driver",
    asks=("--query-gpu=name,driver_version", "--format=csv,noheader"),
    answer=re.compile(r"^[^\n]+, (\d[\d.]*)[ \t]*$", re.MULTILINE),
    install="Install the NVIDIA driver",
    places=("usr/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi"),
)


def find(program: Program, system: System, asked: Path | None = None) -> Diagnosis:
    """The program to use: the one that was named, else the first on PATH, else the newest in the usual places.

    A file that doesn't start, or is another program, is passed over for the next; if none is left, the first is
    reported. A path that was named is never passed over.

    :param asked: the path that was given.
    :returns: ``ok`` for one that tells who it is, else why there is none that works.
    """
    variable = system.environment.get(program.variable, "") if program.variable else ""
    if asked is not None or variable:
        path = (asked or Path(variable)).absolute()
        if os.path.isfile(path):  # Path.is_file raises where a name is too long, or a folder is closed
            return _ask(program, path, system)
        source = f"the path given for {program.name}" if asked else f"the environment's {program.variable}"
        why = f"{source} is {path}, and there is no such file"
        return Diagnosis(program.name, "not_found", why, "Correct it or leave it out.")
    broken = None
    # Beside the interpreter are the programs of an environment that isn't activated.
    search = os.pathsep.join((system.environment.get("PATH", ""), str(system.python.parent)))
    for path in candidates(program.name, program.places, search, system.root):
        found = _ask(program, path, system)
        if found.usable:
            return found
        broken = broken or found
    why = f"no {program.name} on PATH or where it is usually installed"
    return broken or Diagnosis(program.name, "not_found", why, f"{program.install}{_or_name(program)}.")


def _or_name(program: Program) -> str:
    return "" if program.variable is None else f", or set {program.variable} to its path"


def _ask(program: Program, path: Path, system: System) -> Diagnosis:
    """Let a file say who it is."""

    def broken(status: Status, why: str, remedy: str = "Repair it") -> Diagnosis:
        return Diagnosis(program.name, status, f"{path} {why}", f"{remedy}{_or_name(program)}.", path)

    ended = system.run([path, *program.asks], timeout_s=VERSION_S, environment={**system.environment, "LC_ALL": "C"})
    if ended.fault == "timeout":
        return broken("timeout", f"has not said its version within {VERSION_S:g} s")
    if ended.fault == "cannot_start":
        return broken("failed", f"can't be started ({ended.reason})")
    match = program.answer.search(ended.text)
    if match is None:
        said = repr(ended.first_line) if ended.first_line else "nothing"
        return broken("failed", f"is not {program.title}, or does not work: it says {said}", program.install)
    return Diagnosis(program.name, "ok", path=path, version=match.group(1), answer=ended.text)
