"""``roofline doctor``: on every machine a line for each thing, and exit code 0."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from pytest_roofline.device import cgroup, cpus, nvml
from pytest_roofline.device.nvml import DeviceState
from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers import torch_report
from pytest_roofline.profilers.doctor import doctor
from roofline.cli import program as cli
from tests.packaging.test_borders import loaded_by, packages
from tests.plugin.profilers.stubs import H200, Stubs

ROOT = Path(__file__).parents[3]
CPU = {"name": "cpu", "is": "AMD EPYC", "memory_byte": 8 * 10**9, "compute_capability": None}
GPU = {"name": "cuda:0", "is": "NVIDIA H200", "memory_byte": 150 * 10**9, "compute_capability": "9.0"}
NO_GPU = {"name": "cuda:0", "problem": "no usable NVIDIA driver on this machine"}
LIBRARIES = [
    {"name": "torchvision", "version": "0.24.1", "problem": "it does not fit"},
    {"name": "timm", "version": "1.0", "problem": None},
]


def reported(**found: Any) -> Ended:
    report = {"torch": "2.11.0", "cuda": None, "binding": None, "devices": [], "libraries": [], **found}
    return Ended(code=0, out="a warning of some library\n" + json.dumps(report))


REPORT = reported()

Machine = Callable[..., Stubs]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Makes a machine with what is put there, on which torch loads at once."""
    stubs = Stubs(tmp_path / "path")
    run = System.here().run
    monkeypatch.chdir(tmp_path)

    def make(ended: Ended = REPORT, **changes: Any) -> Stubs:
        def quick(command: Any, **options: Any) -> Ended:
            return ended if "-m" in command else run(command, **options)

        here = stubs.system(**{"run": quick, "python": stubs.python(), **changes})
        monkeypatch.setattr(System, "here", lambda: here)
        return stubs

    return make


@pytest.fixture
def stubs(machine: Machine) -> Stubs:
    return machine()


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(doctor, arguments)
    assert result.exit_code == 0, result.output
    return result


def lines(*arguments: str) -> dict[str, dict[str, Any]]:
    return {line["what"]: line for line in json.loads(run("--format", "json", *arguments).stdout)}


def test_each_thing_has_a_line(stubs: Stubs) -> None:
    """What it is, its state, why, and what would help. The driver's settings are looked at apart from ncu, and what
    helps is the same command, with the ncu that was found: sudo replaces PATH.
    """
    ncu = stubs.ncu("permission")
    stubs.perf()
    params = stubs.system().proc / "driver" / "nvidia" / "params"
    params.parent.mkdir(parents=True)
    params.write_text("RmProfilingAdminOnly: 1\n")
    found = lines()
    assert all(set(line) == {"what", "state", "why", "remedy"} for line in found.values())
    assert {line["state"] for line in found.values()} <= {"ok", "warning", "no", "not reported"}
    software = {"python", "torch", "driver", "nvml", "ncu", "nsys", "perf", "counters"}
    assert set(found) == software | {"platform", "cpu quota", "affinity", "governor", "steal", "disk"}
    assert (found["perf"]["state"], found["perf"]["remedy"]) == ("ok", None)
    assert found["ncu"]["state"] == "no"
    assert found["ncu"]["why"].endswith("administrators only (ERR_NVGPUCTRPERM)")
    assert found["counters"]["why"].endswith("administrators only (RmProfilingAdminOnly: 1), and this is none")
    for name in ("ncu", "counters"):
        assert f"sudo env ROOFLINE_NCU={ncu} {stubs.folder / 'python'} -m pytest" in found[name]["remedy"]
    stubs.ncu(version="16.14.20")
    assert f"sudo {stubs.folder / 'python'} -m pytest" in lines()["counters"]["remedy"]


def test_the_table_is_for_reading(stubs: Stubs) -> None:
    """Explanations are broken into lines that fit; remedies stand below, under the names of what they are for."""
    stubs.ncu("permission")
    text = run("--width", "80").output
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    words = " ".join(text.split())
    assert "ncu: Run as root: sudo env " in words
    assert "nsys no not_found: no nsys on PATH or where it is usually installed" in words


def test_files(stubs: Stubs, tmp_path: Path) -> None:
    """As every command's: the ending decides."""
    stubs.perf("not_supported")
    run("-o", str(tmp_path / "doctor.csv"))
    with (tmp_path / "doctor.csv").open() as file:
        rows = {row["what"]: row for row in csv.DictReader(file)}
    assert rows["perf"]["why"].endswith("this machine counts no processor events, as is usual in a virtual machine")
    assert rows["perf"]["remedy"].startswith("Measure on the machine itself")
    run("-o", str(tmp_path / "doctor.md"))
    assert "| perf | no | " in (tmp_path / "doctor.md").read_text()


@pytest.mark.usefixtures("stubs")
def test_paths_are_handed_on(tmp_path: Path) -> None:
    """Of programs that lie elsewhere, and of the results."""
    elsewhere = Stubs(tmp_path / "elsewhere")
    found = lines(
        *("--ncu-path", str(elsewhere.ncu())),
        *("--nsys-path", str(elsewhere.nsys())),
        *("--perf-path", str(elsewhere.perf())),
        *("--results", str(tmp_path / "here")),
    )
    assert [found[name]["state"] for name in ("ncu", "nsys", "perf")] == ["ok"] * 3
    assert found["disk"]["why"].endswith(f" left for {tmp_path / 'here'}")


def test_a_machine_that_tells_nothing(machine: Machine) -> None:
    """No program starts, no torch, no /proc, no known platform: lines all the same."""
    gone = Ended(code=None, fault="cannot_start", reason="Operation not permitted")
    stubs = machine(run=lambda *_, **__: gone, platform="sunos5", proc=Path("/none"), uid=None)
    stubs.ncu()
    found = lines()
    assert found["torch"]["state"] == "no"
    assert found["ncu"]["why"] == f"failed: {stubs.folder / 'ncu'} can't be started (Operation not permitted)"


@pytest.mark.parametrize(
    ("ended", "has_driver", "expected"),
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
            reported(libraries=LIBRARIES, binding="1 of 2 CPUs"),
            False,
            [
                ("torch", "ok", "2.11.0, built without CUDA"),
                ("torch's threads", "warning", "1 of 2 CPUs"),
                ("torchvision", "no", "its models are skipped: it does not fit"),
                ("timm", "ok", "1.0"),
            ],
        ),
        (reported(cuda="13.0", devices=[NO_GPU]), False, [("torch", "ok", "2.11.0, built for CUDA 13.0")]),
        (
            reported(cuda="13.0", devices=[NO_GPU]),
            True,
            [("torch", "ok", "2.11.0, built for CUDA 13.0"), ("cuda:0", "warning", NO_GPU["problem"])],
        ),
        (
            reported(),
            True,
            [
                ("torch", "ok", "2.11.0, built without CUDA"),
                ("cuda", "warning", "there is an NVIDIA driver, and this torch was built without CUDA"),
            ],
        ),
        (reported(torch="2.8.0"), False, [("torch", "warning", "2.8.0, built without CUDA: older than 2.9")]),
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
        (
            Ended(code=None, fault="timeout"),
            True,
            [("torch", "no", "it can't be loaded: it was not loaded after 120 s")],
        ),
    ],
)
def test_torch(machine: Machine, ended: Ended, has_driver: bool, expected: list[tuple[str, str, str]]) -> None:
    """Version, devices and libraries by the last line of the report; CUDA without a driver is no device."""
    stubs = machine(ended, python=Path("/my env/python"))
    if has_driver:
        stubs.nvidia_smi()
    found = list(lines().values())
    after = [line["what"] for line in found].index("driver")
    assert [(line["what"], line["state"], line["why"]) for line in found[1:after]] == expected
    if "not installed" in expected[0][2]:
        assert found[1]["remedy"] == "Install it: '/my env/python' -m pip install torch."


def test_the_report_finds_this_package(machine: Machine) -> None:
    """Also where only the sources are there: their folders go before what PYTHONPATH has."""
    seen: list[str] = []

    def runs(command: Sequence[str | Path], *, environment: Any, **_: Any) -> Ended:
        if "-m" in command:
            seen.extend((*map(str, command[1:]), environment["PYTHONPATH"]))
        return Ended(code=0)

    machine(run=runs, environment={"PYTHONPATH": "own"})
    lines()
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


def test_a_driver(stubs: Stubs) -> None:
    """Its version and devices, two of a kind counted; where nvidia-smi doesn't answer, the kernel may."""
    assert lines()["driver"]["why"] == "no NVIDIA driver"
    stubs.nvidia_smi(devices=(H200, H200, {**H200, "name": "NVIDIA L4"}))
    assert lines()["driver"]["why"] == "580.65.06: 2 x NVIDIA H200, NVIDIA L4"
    stubs.nvidia_smi("no_driver")
    line = lines()["driver"]
    assert line["state"] == "no"
    assert "NVIDIA-SMI has failed" in line["why"]
    kernel = stubs.system().proc / "driver" / "nvidia" / "version"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root)\n")
    line = lines()["driver"]
    assert line["state"] == "warning"
    assert line["why"].startswith("580.65.06 is loaded")


def test_nvml(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that rounds read, or what of it is missing; it is asked for only where there is a driver to ask."""
    stubs = machine(python=Path("/my env/python"))
    missing: dict[str, str] = {}
    first = SimpleNamespace(state=DeviceState, energy_j=lambda: None, missing=missing)
    with monkeypatch.context() as patch:
        patch.setattr(nvml, "open_nvml", lambda _: first)
        assert lines()["nvml"]["state"] == "ok"
        missing["power_w"] = "NVML says: Not Supported"
        assert lines()["nvml"]["state"] == "warning"
        assert lines()["nvml"]["why"] == "the first GPU does not tell power_w"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert (lines()["nvml"]["state"], lines()["nvml"]["remedy"]) == ("no", None)
    stubs.nvidia_smi()
    assert lines()["nvml"]["remedy"] == "Install it: '/my env/python' -m pip install nvidia-ml-py."


@pytest.mark.parametrize(
    ("changes", "what", "state", "why"),
    [
        (
            {"environment": {"CUDA_INJECTION64_PATH": "/opt/libmonitor.so"}},
            "injection",
            "warning",
            "CUDA_INJECTION64_PATH has CUDA load /opt/libmonitor.so",
        ),
        ({"environment": {"CUDA_INJECTION64_PATH": ""}}, "injection", None, ""),
        (
            {"environment": {"container": "podman"}},
            "platform",
            "ok",
            "Linux 6.8.0-31-generic, in a container (container=podman), on a virtual machine",
        ),
        (
            {"kernel_release": "5.15.0-microsoft-standard-WSL2"},
            "platform",
            "warning",
            "Linux 5.15.0-microsoft-standard-WSL2: WSL2",
        ),
    ],
)
def test_what_is_around_the_process(
    machine: Machine, changes: dict[str, Any], what: str, state: str | None, why: str
) -> None:
    """A library that makes every row of a GPU invalid; whose kernel it is."""
    (machine(**changes).system().proc / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu hypervisor avx2\n")
    line = lines().get(what, {"state": None, "why": ""})
    assert line["state"] == state
    assert line["why"].startswith(why)


@pytest.mark.parametrize(
    ("quota", "allowed", "governor", "stat", "expected"),
    [
        (None, 4, "performance", "cpu0 900 0 100 5000 0 0 0 0 0 0", ["ok"] * 4),
        (4.0, 4, "performance", "cpu0 900 0 90 5000 0 0 0 10 0 0", ["ok"] * 4),
        (1.5, 4, "powersave", "cpu0 900 0 0 5000 0 0 0 100 0 0", ["warning", "ok", "warning", "warning"]),
        (None, 2, None, "cpu0 0 0 0 5000 0 0 0 0 0 0", ["ok", "ok", "not reported", "not reported"]),
        (None, 2, None, "cpu9 900 0 0 5000 0 0 0 100 0 0", ["ok", "ok", "not reported", "not reported"]),
    ],
)
def test_the_cpus(
    stubs: Stubs,
    monkeypatch: pytest.MonkeyPatch,
    quota: float | None,
    allowed: int,
    governor: str | None,
    stat: str,
    expected: list[str],
) -> None:
    """A quota below the CPUs allowed, a clock that follows the load, time that a hypervisor took: of the time in which
    there was work, for idle time can't be stolen.
    """
    monkeypatch.setattr(cgroup, "quota_cpus", lambda *_: quota)
    monkeypatch.setattr(cpus, "affinity", lambda: tuple(range(allowed)))
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    system = stubs.system()
    (system.proc / "stat").write_text(f"{stat}\n")
    for number in range(allowed if governor else 0):
        folder = system.root / f"sys/devices/system/cpu/cpu{number}/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    found = [lines()[what] for what in ("cpu quota", "affinity", "governor", "steal")]
    assert [line["state"] for line in found] == expected
    assert [line["remedy"] is not None for line in found] == [state == "warning" for state in expected]
    assert found[1]["why"] == ("all 4 CPUs" if allowed == 4 else "2 of 4 CPUs")


@pytest.mark.usefixtures("stubs")
@pytest.mark.parametrize(("free", "state"), [(10**9, "ok"), (10**9 - 1, "warning"), (None, "warning")])
def test_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int | None, state: str) -> None:
    """Of the folder that is there, for a folder that is yet to be made."""

    def usage(folder: Path) -> Any:
        if free is None:
            raise OSError(38, "Function not implemented")
        return SimpleNamespace(free=free if folder == tmp_path else 0)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    line = lines("--results", str(tmp_path / "results" / "today"))["disk"]
    assert line["state"] == state
    assert line["why"].startswith("1.00 GB left for" if free else f"{tmp_path} does not tell how full it is")
    (tmp_path / "file").touch()
    assert lines("--results", str(tmp_path / "file" / "today"))["disk"]["state"] == "no"
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)  # root may write anywhere
    assert lines("--results", str(tmp_path))["disk"]["state"] == "no"


def test_here() -> None:
    """On this machine, with its torch, whatever it has."""
    found = lines()
    assert found["torch"]["state"] == "ok"
    assert found["cpu"]["state"] == "ok"


def test_it_loads_neither_torch_nor_pytest_to_begin_with() -> None:
    """It runs where there is no torch, and in a torch that can't be loaded."""
    code = "import pytest_roofline.profilers.doctor, pytest_roofline.profilers.doctor"
    assert packages(loaded_by(code)) & {"torch", "pytest", "numpy", "rich"} == set()


def test_every_command_of_this_side_has_its_line_in_the_list() -> None:
    """Listing commands loads none, so the lines stand in the program."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(cli._LINES) - set(cli._PLACES) == set(project["entry-points"]["roofline.commands"])
