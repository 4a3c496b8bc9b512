"""Where the programs are looked for, in which order, and what is said of one that is not what it should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.diagnosis import Diagnosis
from tests.plugin.profilers.stubs import Stubs


def machine(stubs: Stubs, **changes: Any) -> System:
    """One with nothing beside its interpreter."""
    return stubs.system(**{"python": Path("/none/python"), **changes})


def test_what_is_named_comes_first(tmp_path: Path) -> None:
    """The given path, then the environment's, then PATH, then beside the interpreter, then the usual places."""
    stubs = Stubs(tmp_path / "path")
    beside = Stubs(tmp_path / "env" / "bin")
    system = machine(stubs, python=beside.folder / "python")
    usual = Stubs(system.root / "usr/local/cuda/bin").ncu()
    assert tools.find(tools.NCU, system).path == usual
    assert tools.find(tools.NCU, system).version == "2025.3.1.0"
    in_environment = beside.ncu()
    assert tools.find(tools.NCU, system).path == in_environment
    on_path = stubs.ncu()
    assert tools.find(tools.NCU, system).path == on_path
    named = Stubs(tmp_path / "named").ncu()
    system = machine(stubs, environment={"PATH": str(stubs.folder), "ROOFLINE_NCU": str(named)})
    assert tools.find(tools.NCU, system).path == named
    given = Stubs(tmp_path / "given").ncu()
    assert tools.find(tools.NCU, system, given).path == given


def test_another_program_of_that_name_is_passed_over(tmp_path: Path) -> None:
    """npm-check-updates is an ncu, too, and Ubuntu's perf without its package a script that only names it; where there
    is no other, the first is reported.
    """
    Stubs(tmp_path / "node").ncu(version="16.14.20")
    ncu = Stubs(tmp_path / "cuda").ncu()
    path = f"{tmp_path / 'node'}:{tmp_path / 'cuda'}"
    assert tools.find(tools.NCU, machine(Stubs(tmp_path), environment={"PATH": path})).path == ncu
    stubs = Stubs(tmp_path)
    wrapper = stubs.perf(version="WARNING: perf not found for kernel 6.8.0-31", version_code=2)
    system = machine(stubs)
    Stubs(system.root / "usr/bin").perf(version="nothing of the kind")
    assert tools.find(tools.PERF, system) == Diagnosis(
        "perf",
        "failed",
        f"{wrapper} is not perf, or does not work: it says 'WARNING: perf not found for kernel 6.8.0-31'",
        "Install perf (package linux-perf on Debian, linux-tools-generic on Ubuntu, perf on Fedora), or set "
        "ROOFLINE_PERF to its path.",
        wrapper,
    )
    perf = Stubs(system.root / "usr/lib/linux-tools/6.8.0-30-generic").perf()
    assert tools.find(tools.PERF, system).path == perf


@pytest.mark.parametrize(("given", "name"), [(True, "none"), (False, "none"), (False, "n" * 5000)])
def test_a_named_path_without_a_program(tmp_path: Path, given: bool, name: str) -> None:
    """It is reported with where the name came from, and nothing else is taken in its place."""
    stubs = Stubs(tmp_path / "path")
    stubs.ncu()
    path = tmp_path / name
    environment: Mapping[str, str] = {} if given else {"ROOFLINE_NCU": str(path)}
    found = tools.find(tools.NCU, machine(stubs, environment=environment), path if given else None)
    source = "the path given for ncu" if given else "the environment's ROOFLINE_NCU"
    assert (found.status, found.why) == ("not_found", f"{source} is {path}, and there is no such file")


@pytest.mark.parametrize(
    ("ended", "status", "why"),
    [
        (Ended(code=None, fault="timeout"), "timeout", "has not said its version within 10 s"),
        (Ended(code=None, fault="cannot_start", reason="Exec format error"), "failed", "can't be started (Exec format"),
        (Ended(code=127, err="a library is missing"), "failed", "is not NVIDIA Nsight Compute, or does not work: it"),
        (Ended(code=0), "failed", "is not NVIDIA Nsight Compute, or does not work: it says nothing"),
    ],
)
def test_a_program_that_does_not_work(tmp_path: Path, ended: Ended, status: str, why: str) -> None:
    """Nobody waits for it longer than 10 s."""
    stubs = Stubs(tmp_path)
    ncu = stubs.ncu()
    found = tools.find(tools.NCU, machine(stubs, run=lambda *_, **__: ended))
    assert (found.status, found.path) == (status, ncu)
    assert found.why.startswith(f"{ncu} {why}")


def test_the_driver_is_asked_as_old_versions_understand(tmp_path: Path) -> None:
    """nvidia-smi --version is newer than drivers in use."""
    stubs = Stubs(tmp_path)
    stubs.nvidia_smi()
    found = tools.find(tools.NVIDIA_SMI, machine(stubs))
    assert (found.version, found.answer) == ("580.65.06", "NVIDIA H200, 580.65.06")
    stubs.nvidia_smi("no_driver")
    assert tools.find(tools.NVIDIA_SMI, machine(stubs)).status == "failed"
