"""What the doctor says of the machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_roofline.profilers.checkup import (
    affinity_line,
    disk_line,
    governor_line,
    platform_line,
    quota_line,
    steal_line,
)
from tests.plugin.profilers.stubs import Stubs


def test_whose_kernel_it_is(tmp_path: Path) -> None:
    """The machine's own, a container's host's, a virtual machine's, or Windows'."""
    stubs = Stubs(tmp_path)
    system = stubs.system()
    assert platform_line(system).why.endswith(" 6.8.0-31-generic")
    (system.proc / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu hypervisor avx2\n")
    assert platform_line(system).why.endswith(" 6.8.0-31-generic, on a virtual machine")
    inside = stubs.system(environment={"container": "podman"})
    assert platform_line(inside).why.endswith(", in a container (container=podman), on a virtual machine")
    assert platform_line(inside).state == "ok"
    wsl = platform_line(stubs.system(kernel_release="5.15.0-microsoft-standard-WSL2"))
    assert wsl.state == "warning"
    assert "WSL2" in wsl.why


@pytest.mark.parametrize(
    ("quota", "state", "why"),
    [
        (None, "ok", "none is set"),
        (4.0, "ok", "4 CPUs, and the process may use 4"),
        (1.5, "warning", "1.5 CPUs' time on 4 CPUs: threads are held back for a part of each period"),
    ],
)
def test_a_quota(quota: float | None, state: str, why: str) -> None:
    """It matters where it is less than the CPUs that the process may run on."""
    line = quota_line(quota, 4)
    assert (line.state, line.why) == (state, why)
    assert (line.remedy is not None) == (state == "warning")


@pytest.mark.parametrize(
    ("allowed", "all_of_them", "why"), [(4, 4, "all 4 CPUs"), (2, 4, "2 of 4 CPUs"), (1, None, "all 1 CPUs")]
)
def test_affinity(allowed: int, all_of_them: int | None, why: str) -> None:
    """A part of the CPUs is no fault."""
    line = affinity_line(allowed, all_of_them)
    assert (line.state, line.why) == ("ok", why)


@pytest.mark.parametrize(
    ("governor", "state", "why"),
    [
        (None, "not reported", "by the system, as in most virtual machines"),
        ("performance", "ok", "performance"),
        ("powersave", "warning", "powersave: clocks follow the load, and times with them"),
    ],
)
def test_the_governor(tmp_path: Path, governor: str | None, state: str, why: str) -> None:
    """Any but ``performance`` sets the clock by the load."""
    if governor is not None:
        (tmp_path / "cpu0" / "cpufreq").mkdir(parents=True)
        (tmp_path / "cpu0" / "cpufreq" / "scaling_governor").write_text(f"{governor}\n")
    line = governor_line([0], tmp_path)
    assert (line.state, line.why) == (state, why)


@pytest.mark.parametrize(
    ("stat", "state", "why"),
    [
        ("cpu0 900 0 100 5000 0 0 0 0 0 0", "ok", "nothing of the CPU time since the start went to other machines"),
        ("cpu0 900 0 91 5000 0 0 0 9 0 0", "ok", "0.90 % of the CPU time since the start went to other machines"),
        ("cpu0 900 0 0 5000 0 0 0 100 0 0", "warning", "10 % of the CPU time since the start went to other machines"),
        ("cpu0 0 0 0 5000 0 0 0 0 0 0", "not reported", "by the system"),
        ("cpu1 900 0 0 5000 0 0 0 100 0 0", "not reported", "by the system"),
    ],
)
def test_stolen_time(tmp_path: Path, stat: str, state: str, why: str) -> None:
    """Of the time in which there was work: idle time can't be stolen."""
    (tmp_path / "stat").write_text(f"{stat}\n")
    line = steal_line(frozenset({0}), tmp_path)
    assert (line.state, line.why) == (state, why)


def test_without_proc(tmp_path: Path) -> None:
    """Not every system has it."""
    assert steal_line(frozenset({0}), tmp_path / "none").state == "not reported"


@pytest.mark.parametrize(
    ("free", "state", "remedy"),
    [(10**9, "ok", None), (10**9 - 1, "warning", "Make room, or name another folder with --roofline-results.")],
)
def test_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str, remedy: str | None) -> None:
    """Of the folder that is there, for a folder that is yet to be made."""
    asked = []

    def usage(folder: Path) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    line = disk_line(tmp_path / "results" / "today")
    assert (line.state, line.remedy) == (state, remedy)
    assert line.why == f"1.00 GB left for {tmp_path / 'results' / 'today'}"
    assert asked == [tmp_path]


def test_a_disk_that_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback for a strange file system."""

    def usage(_: Path) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(shutil, "disk_usage", usage)
    line = disk_line(tmp_path)
    assert (line.state, line.why) == ("warning", f"{tmp_path} does not tell how full it is (Function not implemented)")


def _a_file(folder: Path, _: pytest.MonkeyPatch) -> None:
    folder.touch()


def _read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere


@pytest.mark.parametrize("make", [_a_file, _read_only])
def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    """A file in its place, or no right."""
    make(tmp_path / "results", monkeypatch)
    line = disk_line(tmp_path / "results" / "today")
    assert (line.state, line.why) == ("no", f"{tmp_path / 'results'} can't be written to")
    assert line.remedy == "Name another folder with --roofline-results."
