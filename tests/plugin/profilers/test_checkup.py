"""What the doctor says of the software and of the machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pytest_roofline.device import nvml
from pytest_roofline.device.state import DeviceState
from pytest_roofline.device.system import Ended
from pytest_roofline.profilers import checkup, torch_report
from pytest_roofline.profilers.check import Check
from tests.plugin.profilers.stubs import H200, Stubs

CPU = {"name": "cpu", "is": "AMD EPYC", "memory_byte": 8 * 10**9, "compute_capability": None}
GPU = {"name": "cuda:0", "is": "NVIDIA H200", "memory_byte": 150 * 10**9, "compute_capability": "9.0"}
NO_GPU = {"name": "cuda:0", "problem": "no usable NVIDIA driver on this machine"}
LIBRARIES = [
    {"name": "torchvision", "version": "0.24.1", "problem": "it does not fit"},
    {"name": "timm", "version": "1.0", "problem": None},
]


def reported(**found: Any) -> Ended:
    report = {"torch": "2.11.0", "cuda": None, "binding": None, "devices": [CPU], "libraries": [], **found}
    return Ended(code=0, out="a warning of some library\n" + json.dumps(report))


@pytest.mark.parametrize(
    ("ended", "has_driver", "lines"),
    [
        (
            reported(torch="2.11.0+cu130", cuda="13.0", devices=[CPU, GPU]),
            True,
            [
                ("torch", "ok", "2.11.0+cu130, built for CUDA 13.0"),
                ("cpu", "ok", "AMD EPYC, 8.00 GB of memory"),
                ("cuda:0", "ok", "NVIDIA H200, compute capability 9.0, 150 GB of memory"),
            ],
        ),
        (
            reported(devices=[], libraries=LIBRARIES),
            False,
            [
                ("torch", "ok", "2.11.0, built without CUDA"),
                ("torchvision", "no", "its models are skipped: it does not fit"),
                ("timm", "ok", "1.0"),
            ],
        ),
        (
            reported(devices=[], binding="1 of 2 CPUs"),
            False,
            [("torch", "ok", "2.11.0, built without CUDA"), ("torch's threads", "warning", "1 of 2 CPUs")],
        ),
        (
            reported(cuda="13.0", devices=[NO_GPU]),
            False,
            [("torch", "ok", "2.11.0, built for CUDA 13.0")],
        ),
        (
            reported(cuda="13.0", devices=[NO_GPU]),
            True,
            [("torch", "ok", "2.11.0, built for CUDA 13.0"), ("cuda:0", "warning", NO_GPU["problem"])],
        ),
        (
            reported(devices=[]),
            True,
            [
                ("torch", "ok", "2.11.0, built without CUDA"),
                ("cuda", "warning", "there is an NVIDIA driver, and this torch was built without CUDA"),
            ],
        ),
        (
            reported(torch="2.8.0", devices=[]),
            False,
            [("torch", "warning", "2.8.0, built without CUDA: older than 2.9")],
        ),
        (reported(torch="2.10.0", devices=[]), False, [("torch", "ok", "2.10.0, built without CUDA")]),
        (
            Ended(code=0, out=json.dumps({"problem": "ModuleNotFoundError: x", "installed": False})),
            True,
            [("torch", "no", "it is not installed: results can be read, and nothing measured")],
        ),
        (
            Ended(code=0, out=json.dumps({"problem": "OSError: libcudart.so.13", "installed": True})),
            True,
            [("torch", "no", "it can't be loaded: OSError: libcudart.so.13")],
        ),
        (Ended(code=-11), True, [("torch", "no", "it can't be loaded: exit code -11")]),
        (Ended(code=0, out="no JSON"), True, [("torch", "no", "it can't be loaded: exit code 0")]),
        (Ended(code=0, out="[]"), True, [("torch", "no", "it can't be loaded: exit code 0")]),
        (
            Ended(code=None, fault="timeout"),
            True,
            [("torch", "no", "it can't be loaded: it was not loaded after 120 s")],
        ),
    ],
)
def test_torch(tmp_path: Path, ended: Ended, has_driver: bool, lines: list[tuple[str, str, str]]) -> None:
    """Version, devices and libraries by the last line of the report; CUDA without a driver is no device."""
    system = Stubs(tmp_path).system(run=lambda *_, **__: ended)
    found = checkup.check_torch(system, has_driver=has_driver)
    assert [(one.name, one.status, one.why) for one in found] == lines


def test_torch_is_installed_by_this_interpreter(tmp_path: Path) -> None:
    """Its path is quoted for the shell."""
    missing = Ended(code=0, out=json.dumps({"problem": "", "installed": False}))
    system = Stubs(tmp_path).system(run=lambda *_, **__: missing, python=Path("/my env/bin/python"))
    (check,) = checkup.check_torch(system, has_driver=False)
    assert check.remedy == "Install it: '/my env/bin/python' -m pip install torch."


def test_the_report_finds_this_package(tmp_path: Path) -> None:
    """Also where only the sources are there: their folders go before what PYTHONPATH has."""
    seen: list[str] = []

    def run(command: Sequence[str | Path], *, environment: Any, **_: Any) -> Ended:
        seen.extend((*map(str, command[1:]), environment["PYTHONPATH"]))
        return Ended(code=0)

    checkup.check_torch(Stubs(tmp_path).system(run=run, environment={"PYTHONPATH": "own"}), has_driver=False)
    *arguments, places = seen
    assert arguments == ["-P", "-m", "pytest_roofline.profilers.torch_report"]
    assert str(Path(torch_report.__file__).parents[2]) in places.split(":")
    assert places.endswith(":own")


def test_the_report_of_this_torch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU always is a device; of a torch that isn't there or is broken it says so."""
    torch_report.main()
    found = json.loads(capsys.readouterr().out)
    assert found["torch"] == torch.__version__
    assert found["devices"][0]["memory_byte"] > 0
    assert all(("problem" in device) != ("is" in device) for device in found["devices"])
    for error, installed in ((ModuleNotFoundError("no", name="torch"), False), (OSError("a library\nis gone"), True)):

        def broken(error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(torch_report, "report", broken)
        torch_report.main()
        found = json.loads(capsys.readouterr().out)
        assert found["installed"] is installed
    assert found["problem"] == "OSError: a library"


def test_a_driver(tmp_path: Path) -> None:
    """Its version and devices, two of a kind counted; where nvidia-smi doesn't answer, the kernel may."""
    stubs = Stubs(tmp_path)
    system = stubs.system(python=tmp_path / "python")
    assert checkup.check_driver(system).row["why"] == "no NVIDIA driver"
    stubs.nvidia_smi(devices=(H200, H200, {**H200, "name": "NVIDIA L4"}))
    assert checkup.check_driver(system).why == "580.65.06: 2 x NVIDIA H200, NVIDIA L4"
    stubs.nvidia_smi("no_driver")
    check = checkup.check_driver(system)
    assert check.status == "no"
    assert "NVIDIA-SMI has failed" in check.why
    (system.proc / "driver" / "nvidia").mkdir(parents=True)
    (system.proc / "driver" / "nvidia" / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root)\n"
    )
    check = checkup.check_driver(system)
    assert check.status == "warning"
    assert check.why.startswith("580.65.06 is loaded")


@pytest.mark.parametrize(
    ("has_driver", "remedy"),
    [(True, "Install it: '/my env/bin/python' -m pip install nvidia-ml-py."), (False, None)],
)
def test_nvml_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_driver: bool, remedy: str | None
) -> None:
    """It is asked for only where there is a driver to ask."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    check = checkup.check_nvml(Stubs(tmp_path).system(python=Path("/my env/bin/python")), has_driver=has_driver)
    assert (check.status, check.remedy) == ("no", remedy)


def test_nvml_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that rounds read, or what of it is missing."""
    missing: dict[str, str] = {}
    first = SimpleNamespace(state=DeviceState, energy_j=lambda: None, missing=missing)
    monkeypatch.setattr(nvml, "open_nvml", lambda _: first)
    system = Stubs(tmp_path).system()
    assert checkup.check_nvml(system, has_driver=True).status == "ok"
    missing["power_w"] = "NVML says: Not Supported"
    check = checkup.check_nvml(system, has_driver=True)
    assert (check.status, check.why) == ("warning", "the first GPU does not tell power_w")


@pytest.mark.parametrize(
    ("status", "version", "row"),
    [
        ("ok", "2025.3", ("ok", "2025.3 (/opt/ncu): why")),
        ("permission_denied", "2025.3", ("no", "2025.3 (/opt/ncu): permission_denied: why")),
        ("not_found", None, ("no", "not_found: why")),
        ("no", None, ("no", "why")),
        ("not reported", None, ("not reported", "why")),
    ],
)
def test_the_row_of_a_check(status: Any, version: str | None, row: tuple[str, str]) -> None:
    """Its state, and why, with the version of a program and the status of one that can't be used."""
    check = Check(name="ncu", status=status, why="why", remedy="Ask.", path=Path("/opt/ncu"), version=version)
    assert check.row == {"what": "ncu", "state": row[0], "why": row[1], "remedy": "Ask."}


def test_a_library_that_cuda_is_told_to_load(tmp_path: Path) -> None:
    """Every row that is measured on a GPU would be invalid: said before, with what to do; else nothing is."""
    system = Stubs(tmp_path).system(environment={"CUDA_INJECTION64_PATH": "/opt/site/libmonitor.so"})
    (check,) = checkup.check_injection(system)
    assert (check.status, check.remedy) == ("warning", "Measure with CUDA_INJECTION64_PATH unset.")
    assert "load /opt/site/libmonitor.so" in check.why
    assert checkup.check_injection(Stubs(tmp_path).system(environment={"CUDA_INJECTION64_PATH": ""})) == []


@pytest.mark.parametrize("works", [True, False])
def test_the_command_that_helps_names_the_ncu_that_was_found(tmp_path: Path, works: bool) -> None:
    """sudo replaces PATH. What has ncu's name and is another program isn't named."""
    stubs = Stubs(tmp_path)
    ncu = stubs.ncu("permission", version=None) if not works else stubs.ncu("permission")
    system = stubs.system(python=stubs.python())
    (system.proc / "driver" / "nvidia").mkdir(parents=True)
    (system.proc / "driver" / "nvidia" / "params").write_text("RmProfilingAdminOnly: 1\n")
    found = {check.name: check for check in checkup.checks(system, {}, tmp_path)}
    remedy = found["counters"].remedy
    assert remedy is not None
    assert remedy.startswith(f"Run as root: sudo {f'env ROOFLINE_NCU={ncu} ' if works else ''}{system.python} ")


def test_whose_kernel_it_is(tmp_path: Path) -> None:
    """The machine's own, a container's host's, a virtual machine's, or Windows'."""
    stubs = Stubs(tmp_path)
    system = stubs.system()
    assert checkup.check_platform(system).why.endswith(" 6.8.0-31-generic")
    (system.proc / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu hypervisor avx2\n")
    inside = checkup.check_platform(stubs.system(environment={"container": "podman"}))
    assert inside.why.endswith(" 6.8.0-31-generic, in a container (container=podman), on a virtual machine")
    assert inside.status == "ok"
    wsl = checkup.check_platform(stubs.system(kernel_release="5.15.0-microsoft-standard-WSL2"))
    assert wsl.status == "warning"
    assert "WSL2" in wsl.why


@pytest.mark.parametrize(
    ("quota", "status", "why"),
    [
        (None, "ok", "none is set"),
        (4.0, "ok", "4 CPUs, and the process may use 4"),
        (1.5, "warning", "1.5 CPUs' time on 4 CPUs: threads are held back for a part of each period"),
    ],
)
def test_a_quota(quota: float | None, status: str, why: str) -> None:
    """It matters where it is less than the CPUs that the process may run on."""
    check = checkup.check_quota(quota, 4)
    assert (check.status, check.why, check.remedy is not None) == (status, why, status == "warning")


@pytest.mark.parametrize(
    ("allowed", "all_of_them", "why"), [(4, 4, "all 4 CPUs"), (2, 4, "2 of 4 CPUs"), (1, None, "all 1 CPUs")]
)
def test_affinity(allowed: int, all_of_them: int | None, why: str) -> None:
    """A part of the CPUs is no fault."""
    check = checkup.check_affinity(allowed, all_of_them)
    assert (check.status, check.why) == ("ok", why)


@pytest.mark.parametrize(
    ("governor", "status"), [(None, "not reported"), ("performance", "ok"), ("powersave", "warning")]
)
def test_the_governor(tmp_path: Path, governor: str | None, status: str) -> None:
    """Any but ``performance`` sets the clock by the load."""
    if governor is not None:
        (tmp_path / "cpu0" / "cpufreq").mkdir(parents=True)
        (tmp_path / "cpu0" / "cpufreq" / "scaling_governor").write_text(f"{governor}\n")
    assert checkup.check_governor([0], tmp_path).status == status


@pytest.mark.parametrize(
    ("stat", "status", "why"),
    [
        ("cpu0 900 0 100 5000 0 0 0 0 0 0", "ok", "nothing of the CPU time since the start went to other machines"),
        ("cpu0 900 0 91 5000 0 0 0 9 0 0", "ok", "0.90 % of the CPU time since the start went to other machines"),
        ("cpu0 900 0 0 5000 0 0 0 100 0 0", "warning", "10 % of the CPU time since the start went to other machines"),
        ("cpu0 0 0 0 5000 0 0 0 0 0 0", "not reported", "by the system"),
        ("cpu1 900 0 0 5000 0 0 0 100 0 0", "not reported", "by the system"),
    ],
)
def test_stolen_time(tmp_path: Path, stat: str, status: str, why: str) -> None:
    """Of the time in which there was work: idle time can't be stolen."""
    (tmp_path / "stat").write_text(f"{stat}\n")
    check = checkup.check_steal(frozenset({0}), tmp_path)
    assert (check.status, check.why) == (status, why)


@pytest.mark.parametrize(
    ("free", "status", "remedy"),
    [(10**9, "ok", None), (10**9 - 1, "warning", "Make room, or name another folder with --roofline-results.")],
)
def test_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str, remedy: str | None) -> None:
    """Of the folder that is there, for a folder that is yet to be made."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free if folder == tmp_path else 0))
    check = checkup.check_disk(tmp_path / "results" / "today")
    assert (check.status, check.remedy) == (status, remedy)
    assert check.why == f"1.00 GB left for {tmp_path / 'results' / 'today'}"


def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in its place, no right, or a file system that says nothing of its room."""
    (tmp_path / "file").touch()
    assert checkup.check_disk(tmp_path / "file" / "today").status == "no"

    def usage(_: Path) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert checkup.check_disk(tmp_path).status == "warning"
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    assert checkup.check_disk(tmp_path).status == "no"
