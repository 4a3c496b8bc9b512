"""What the doctor says of the software."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pytest_roofline.device import nvml
from pytest_roofline.device.state import DeviceState
from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers import checkup, torch_report
from pytest_roofline.profilers.checkup import Line, driver_line, finding_line, nvml_line, torch_lines
from pytest_roofline.profilers.preflight import Finding
from tests.plugin.profilers.stubs import H200, Stubs

CPU = {"name": "cpu", "is": "AMD EPYC", "memory_byte": 8 * 10**9, "compute_capability": None}
GPU = {"name": "cuda:0", "is": "NVIDIA H200", "memory_byte": 150 * 10**9, "compute_capability": "9.0"}
NO_GPU = {"name": "cuda:0", "problem": "no usable NVIDIA driver on this machine"}


def machine(tmp_path: Path, ended: Ended) -> System:
    """One on which torch's report ends so."""
    return Stubs(tmp_path).system(run=lambda *_, **__: ended)


def reported(**found: Any) -> Ended:
    report = {"cuda": None, "binding": None, "devices": [CPU], "libraries": [], **found}
    return Ended(code=0, out="a warning of some library\n" + json.dumps(report))


def test_torch_and_its_devices(tmp_path: Path) -> None:
    """Each device with what it is; the report is the last line of what is printed."""
    ended = reported(torch="2.11.0+cu130", cuda="13.0", devices=[CPU, GPU])
    assert torch_lines(machine(tmp_path, ended), has_driver=True) == [
        Line(what="torch", state="ok", why="2.11.0+cu130, built for CUDA 13.0"),
        Line(what="cpu", state="ok", why="AMD EPYC, 8.00 GB of memory"),
        Line(what="cuda:0", state="ok", why="NVIDIA H200, compute capability 9.0, 150 GB of memory"),
    ]


def test_a_library_that_can_not_be_imported(tmp_path: Path) -> None:
    """What is installed is told with its version; what is broken, with the reason."""
    found = [
        {"name": "torchvision", "version": "0.24.1", "problem": "it does not fit"},
        {"name": "timm", "version": "1.0", "problem": None},
    ]
    lines = torch_lines(machine(tmp_path, reported(torch="2.11.0", libraries=found)), has_driver=False)
    assert lines[-2:] == [
        Line(what="torchvision", state="no", why="its models are skipped: it does not fit"),
        Line(what="timm", state="ok", why="1.0"),
    ]


def test_a_main_thread_that_importing_torch_binds(tmp_path: Path) -> None:
    """Beside the line of the affinity, which tells of this process without torch."""
    lines = torch_lines(machine(tmp_path, reported(torch="2.11.0", binding="1 of 2 CPUs")), has_driver=False)
    assert [(line.state, line.why) for line in lines if line.what == "torch's threads"] == [("warning", "1 of 2 CPUs")]


def test_cuda_without_a_driver_is_no_device(tmp_path: Path) -> None:
    """On a machine without an NVIDIA GPU a CUDA build of torch is no fault; with one, its problem is told."""
    system = machine(tmp_path, reported(torch="2.11.0", cuda="13.0", devices=[CPU, NO_GPU]))
    assert [line.what for line in torch_lines(system, has_driver=False)] == ["torch", "cpu"]
    assert torch_lines(system, has_driver=True)[2] == Line(what="cuda:0", state="warning", why=NO_GPU["problem"])


def test_torch_without_cuda_beside_a_driver(tmp_path: Path) -> None:
    """The GPU can't be measured, and the reason is the build."""
    lines = torch_lines(machine(tmp_path, reported(torch="2.11.0+cpu")), has_driver=True)
    assert lines[1] == Line(
        what="cuda",
        state="warning",
        why="there is an NVIDIA driver, and this torch was built without CUDA",
        remedy="Install a CUDA build of torch.",
    )


def test_an_old_torch(tmp_path: Path) -> None:
    """2.8 is older than 2.9, and 2.10 is not."""
    lines = torch_lines(machine(tmp_path, reported(torch="2.8.0")), has_driver=False)
    assert (lines[0].state, lines[0].remedy) == ("warning", "Install torch 2.9 or newer.")
    assert torch_lines(machine(tmp_path, reported(torch="2.10.0")), has_driver=False)[0].state == "ok"


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (
            Ended(code=1, err="Traceback ...\nModuleNotFoundError: No module named 'torch'"),
            "it is not installed: results can be read, and nothing measured",
        ),
        (
            Ended(code=1, err="Traceback ...\nOSError: libcudart.so.13: cannot open shared object file\n"),
            "it can't be loaded: OSError: libcudart.so.13: cannot open shared object file",
        ),
        (
            Ended(
                code=1,
                err="Traceback (most recent call last):\n  File 'a.py', line 1\nRuntimeError: boom\nline2\n  line3\n",
            ),
            "it can't be loaded: RuntimeError: boom",
        ),
        (Ended(code=-11), "it can't be loaded: exit code -11"),
        (Ended(code=0, out="no JSON"), "it can't be loaded: exit code 0"),
        (Ended(code=0, out="[]"), "it can't be loaded: exit code 0"),
        (Ended(code=0), "it can't be loaded: exit code 0"),
        (Ended(code=None, fault="timeout"), "it was not loaded after 120 s"),
    ],
)
def test_without_torch(tmp_path: Path, ended: Ended, why: str) -> None:
    """Missing or broken in whatever way: one line, and no more of its devices."""
    (line,) = torch_lines(machine(tmp_path, ended), has_driver=True)
    assert (line.what, line.state, line.why) == ("torch", "no", why)


def test_torch_is_installed_by_this_interpreter(tmp_path: Path) -> None:
    """Its path is quoted for the shell."""
    missing = Ended(code=1, err="ModuleNotFoundError: No module named 'torch'")
    system = Stubs(tmp_path).system(run=lambda *_, **__: missing, python=Path("/my env/bin/python"))
    (line,) = torch_lines(system, has_driver=False)
    assert line.remedy == "Install it: '/my env/bin/python' -m pip install torch."


def test_the_report_finds_this_package(tmp_path: Path) -> None:
    """Also where only the sources are there: their folders go before what PYTHONPATH has."""
    seen: list[str] = []

    def run(command: Sequence[str | Path], *, environment: Any, **_: Any) -> Ended:
        seen.extend((*map(str, command[1:]), environment["PYTHONPATH"]))
        return Ended(code=0)

    torch_lines(Stubs(tmp_path).system(run=run, environment={"PYTHONPATH": "own"}), has_driver=False)
    *arguments, places = seen
    assert arguments == ["-P", "-m", "pytest_roofline.profilers.torch_report"]
    assert str(Path(torch_report.__file__).parents[2]) in places.split(":")
    assert places.endswith(":own")


def test_this_torch() -> None:
    """As it describes itself; the CPU always is a device."""
    found = torch_report.report()
    assert found["torch"] == torch.__version__
    assert found["devices"][0]["name"] == "cpu"
    assert found["devices"][0]["memory_byte"] > 0
    assert all(("problem" in device) != ("is" in device) for device in found["devices"])


def test_a_driver(tmp_path: Path) -> None:
    """Its version and devices; two of a kind are counted."""
    stubs = Stubs(tmp_path)
    stubs.nvidia_smi(devices=(H200, H200, {**H200, "name": "NVIDIA L4"}))
    assert driver_line(stubs.system()) == Line(what="driver", state="ok", why="580.65.06: 2 x NVIDIA H200, NVIDIA L4")


def test_a_driver_that_does_not_answer(tmp_path: Path) -> None:
    """The kernel has it, and nvidia-smi says why it can't be used."""
    stubs = Stubs(tmp_path)
    stubs.nvidia_smi("no_driver")
    system = stubs.system()
    line = driver_line(system)
    assert line.state == "no"
    assert "NVIDIA-SMI has failed" in line.why
    (system.proc / "driver" / "nvidia").mkdir(parents=True)
    (system.proc / "driver" / "nvidia" / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root)\n"
    )
    line = driver_line(system)
    assert line.state == "warning"
    assert line.why.startswith("580.65.06 is loaded, but nvidia-smi tells nothing: ")


def test_no_driver(tmp_path: Path) -> None:
    """Not a fault of a machine that has no GPU."""
    line = driver_line(Stubs(tmp_path).system(python=tmp_path / "python"))
    assert (line.state, line.why) == ("no", "no NVIDIA driver")


@pytest.mark.parametrize(
    ("has_driver", "remedy"),
    [(True, "Install it: '/my env/bin/python' -m pip install nvidia-ml-py."), (False, None)],
)
def test_nvml_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_driver: bool, remedy: str | None
) -> None:
    """It is asked for only where there is a driver to ask, and by this interpreter's pip, whichever is on PATH."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    line = nvml_line(Stubs(tmp_path).system(python=Path("/my env/bin/python")), has_driver=has_driver)
    assert (line.state, line.remedy) == ("no", remedy)
    assert line.why == "no clocks, power or temperature of a GPU: nvidia-ml-py is not installed"


def test_nvml_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that rounds read, or what of it is missing."""
    missing: dict[str, str] = {}
    first = SimpleNamespace(state=DeviceState, energy_j=lambda: None, missing=missing)
    monkeypatch.setattr(nvml, "open_nvml", lambda _: first)
    system = Stubs(tmp_path).system()
    assert nvml_line(system, has_driver=True).state == "ok"
    missing["power_w"] = "NVML says: Not Supported"
    assert nvml_line(system, has_driver=True) == Line(
        what="nvml", state="warning", why="the first GPU does not tell power_w"
    )


def test_a_finding_as_a_line() -> None:
    """Usable or not, with its version and the remedy."""
    ncu = Path("/opt/ncu")
    usable = Finding(tool="ncu", status="ok", why="it counted a kernel", path=ncu, version="2025.3")
    assert finding_line(usable) == Line(what="ncu", state="ok", why="2025.3 (/opt/ncu): it counted a kernel")
    denied = Finding(tool="ncu", status="permission_denied", why="why", remedy="Ask.", path=ncu, version="2025.3")
    assert finding_line(denied) == Line(
        what="ncu", state="no", why="2025.3 (/opt/ncu): permission_denied: why", remedy="Ask."
    )


def test_all_of_the_software(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order in which one thing rests on the other."""
    monkeypatch.setattr(checkup, "nvml_line", lambda *_, **__: Line(what="nvml", state="ok", why=""))
    findings = tuple(Finding(tool=name, status="ok", why="") for name in ("ncu", "nsys", "perf"))
    lines = checkup.checks(machine(tmp_path, reported(torch="2.11.0")), findings, tmp_path)
    names = ["python", "torch", "cpu", "driver", "nvml", "ncu", "nsys", "perf", "counters"]
    names += ["platform", "cpu quota", "affinity", "governor", "steal", "disk"]
    assert [line.what for line in lines] == names


def test_a_library_that_cuda_is_told_to_load(tmp_path: Path) -> None:
    """Every row that is measured on a GPU would be invalid: said before, with what to do; else nothing is."""
    system = Stubs(tmp_path).system(environment={"CUDA_INJECTION64_PATH": "/opt/site/libmonitor.so"})
    (line,) = checkup.injection_lines(system)
    assert (line.what, line.state, line.remedy) == ("injection", "warning", "Measure with CUDA_INJECTION64_PATH unset.")
    assert "load /opt/site/libmonitor.so" in line.why
    assert checkup.injection_lines(Stubs(tmp_path).system(environment={"CUDA_INJECTION64_PATH": ""})) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"status": "permission_denied", "version": "2025.3"}, True),
        ({"status": "permission_denied", "version": None}, True),
        ({"status": "failed", "version": "2025.3"}, True),
        ({"status": "failed", "version": None}, False),
        ({"status": "not_found", "path": None}, False),
    ],
)
def test_the_command_that_helps_names_the_ncu_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], named: bool
) -> None:
    """sudo replaces PATH. What has ncu's name and is something else isn't named."""
    monkeypatch.setattr(checkup, "nvml_line", lambda *_, **__: Line(what="nvml", state="ok", why=""))
    system = machine(tmp_path, reported(torch="2.11.0"))
    (system.proc / "driver" / "nvidia").mkdir(parents=True)
    (system.proc / "driver" / "nvidia" / "params").write_text("RmProfilingAdminOnly: 1\n")
    finding = Finding(**{"tool": "ncu", "why": "", "path": Path("/opt/ncu"), **changes})
    line = next(line for line in checkup.checks(system, (finding,), tmp_path) if line.what == "counters")
    assert line.what == "counters"
    assert line.remedy is not None
    assert line.remedy.startswith(f"Run as root: sudo {'env ROOFLINE_NCU=/opt/ncu ' if named else ''}{system.python} ")
