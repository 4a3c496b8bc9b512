"""Finding ncu, nsys, perf and nvidia-smi: by a given path, the environment, PATH, then the folders they install to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from pytest_roofline.device.system import System
from pytest_roofline.profilers.check import Check, Status
from roofline.profilers.ncu.installation import INSTALLED, VARIABLE

VERSION_S = 10.0
"""Time in which a program has to tell its version."""

_ALWAYS = ("usr/bin", "usr/local/bin", "bin", "usr/sbin")
"""Folders below the root that are looked into whatever PATH has: that of a service may have none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to look for.

    :param name: of its executable.
    :param variable: the environment's variable that may hold its path.
    :param asks: arguments that make it tell who it is.
    :param answer: what it says then; the group is its version. Other programs have the same name: npm-check-updates is
        an ncu, and Ubuntu's perf is a script that says which package to install.
    :param folders: patterns of its path below the root, where installers put it.
    :param windows: the same below ``Program Files``.
    :param speech: what nothing else says, whatever it is asked.
    """

    name: str
    title: str
    answer: re.Pattern[str]
    install: str
    variable: str | None = None
    asks: tuple[str, ...] = ("--version",)
    folders: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
    speech: re.Pattern[str] | None = None


NCU = Program(
    name="ncu",
    title="NVIDIA Nsight Compute",
    variable=VARIABLE,
    answer=re.compile(r"Nsight Compute.*?\bVersion\s+(\d[\d.]*)", re.DOTALL | re.IGNORECASE),
    install="Install Nsight Compute (it comes with the CUDA toolkit)",
    folders=("usr/local/cuda*/bin/ncu", *(f"{folder}/ncu" for folder in INSTALLED)),
    windows=("NVIDIA Corporation/Nsight Compute */ncu.bat", "NVIDIA Corporation/Nsight Compute */ncu.exe"),
    speech=re.compile(r"^==(?:ERROR|WARNING|PROF)==|InterprocessLockFailed", re.MULTILINE),
)
NSYS = Program(
    name="nsys",
    title="NVIDIA Nsight Systems",
    variable="ROOFLINE_NSYS",
    answer=re.compile(r"Nsight Systems version\s+(\d[\d.]*)", re.IGNORECASE),
    install="Install Nsight Systems (it comes with the CUDA toolkit)",
    folders=(
        "opt/nvidia/nsight-systems/*/bin/nsys",
        "opt/nvidia/nsight-systems-cli/*/bin/nsys",
        "usr/local/cuda*/bin/nsys",
        "opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/bin/nsys",
    ),
    windows=("NVIDIA Corporation/Nsight Systems */target-windows-x64/nsys.exe",),
)
PERF = Program(
    name="perf",
    title="perf",
    variable="ROOFLINE_PERF",
    answer=re.compile(r"^perf version (\S+)", re.MULTILINE),
    install="Install perf (package linux-perf on Debian, linux-tools-generic on Ubuntu, perf on Fedora)",
    folders=("usr/lib/linux-tools/*/perf", "usr/lib/linux-tools-*/perf"),
)
NVIDIA_SMI = Program(
    name="nvidia-smi",
    title="NVIDIA's driver",
    asks=("--query-gpu=name,driver_version", "--format=csv,noheader"),
    answer=re.compile(r"^[^\n]+, (\d[\d.]*)[ \t]*$", re.MULTILINE),
    install="Install the NVIDIA driver",
    folders=("usr/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi"),
    windows=("NVIDIA Corporation/NVSMI/nvidia-smi.exe",),
)


def find(program: Program, system: System, asked: Path | None = None) -> Check:
    """The program to use: the one that was named, else the first on PATH, else the newest in the usual folders.

    A file that doesn't start, or is another program, is passed over for the next; if none is left, the first is
    reported. A path that was named is never passed over.

    :param asked: the path that was given, of the program or its folder.
    :returns: ``ok`` for one that tells who it is, else why there is none that works.
    """
    variable = system.environment.get(program.variable, "") if program.variable else ""
    if asked is not None:
        return _named(program, system, asked.absolute(), f"the path given for {program.name}")
    if variable:
        return _named(program, system, Path(variable).absolute(), f"the environment's {program.variable}")
    broken: dict[Path, Check] = {}
    for folder in filter(None, system.environment.get("PATH", "").split(os.pathsep)):
        for path in _within(Path(folder).absolute(), program, system):
            broken[path] = _ask(program, path, system)
            if broken[path].usable:
                return broken[path]
    installed = [_ask(program, path, system) for path in _installed(program, system) if path not in broken]
    working = [tool for tool in installed if tool.usable]
    if working:
        return max(working, key=lambda tool: _numbers(tool.version or ""))
    if broken or installed:
        return [*broken.values(), *installed][0]
    why = f"no {program.name} on PATH or where it is usually installed"
    return Check(name=program.name, status="not_found", why=why, remedy=f"{program.install}{_or_name(program)}.")


def _or_name(program: Program) -> str:
    return "" if program.variable is None else f", or set {program.variable} to its path"


def _named(program: Program, system: System, path: Path, source: str) -> Check:
    """The program at the path that was named by the user, or why there is none."""
    if os.path.isfile(path):
        return _ask(program, path, system)
    why = f"{source} is {path}, and there is no such file"
    if os.path.isdir(path):
        for inside in _within(path, program, system):
            return _ask(program, inside, system)
        why = f"{source} is the folder {path}, in which there is no {program.name}"
    return Check(name=program.name, status="not_found", why=why, remedy="Correct it or leave it out.")


def _installed(program: Program, system: System) -> list[Path]:
    """Files in the usual folders, each once under whatever names, the highest numbers first."""
    patterns = (*program.folders, *(f"{folder}/{program.name}" for folder in _ALWAYS))
    roots = [(system.root, pattern) for pattern in patterns]
    if system.platform == "win32":
        folder = system.environment.get("ProgramFiles", r"C:\Program Files")
        roots = [(Path(folder), pattern) for pattern in program.windows]
    found = [path for root, pattern in roots for path in root.glob(pattern) if os.path.isfile(path)]
    found += _within(system.python.parent, program, system)  # of an environment that isn't activated
    once = {path.resolve(): path for path in reversed(found)}
    return sorted(once.values(), key=lambda path: _numbers(str(path)), reverse=True)


def _within(folder: Path, program: Program, system: System) -> Iterator[Path]:
    endings = (".exe", ".bat", ".cmd") if system.platform == "win32" else ("",)
    yield from (path for ending in endings if os.path.isfile(path := folder / f"{program.name}{ending}"))


def _ask(program: Program, path: Path, system: System) -> Check:
    """Let a file say who it is."""

    def broken(status: Status, why: str, remedy: str = f"Repair it{_or_name(program)}.") -> Check:
        return Check(name=program.name, status=status, why=f"{path} {why}", remedy=remedy, path=path)

    if not os.access(path, os.X_OK):
        return broken("failed", "is not executable", f"Run chmod +x {quote(str(path))}.")
    ended = system.run([path, *program.asks], timeout_s=VERSION_S, environment={**system.environment, "LC_ALL": "C"})
    if ended.fault == "timeout":
        return broken("timeout", f"has not said its version within {VERSION_S:g} s")
    if ended.fault == "cannot_start":
        return broken("failed", f"can't be started ({ended.reason})")
    match = program.answer.search(ended.text)
    if match is None and (program.speech is None or program.speech.search(ended.text) is None):
        said = repr(ended.first_line) if ended.first_line else "nothing"
        why = f"is not {program.title}, or does not work: it says {said}"
        return broken("failed", why, f"{program.install}{_or_name(program)}.")
    version = match.group(1) if match else None
    return Check(name=program.name, status="ok", path=path, version=version, answer=ended.text)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
