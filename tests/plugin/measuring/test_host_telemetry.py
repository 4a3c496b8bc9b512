"""What the host tells: read from a made-up /proc, and from the real one where there is one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from pytest_roofline.device import cpus
from pytest_roofline.measuring.host_telemetry import CpuTimes, HostTelemetry, cpu_times, family_cpu_s

TICKS = 100
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

STAT = """\
cpu  900 0 0 0 0 0 0 900 0 0
cpu0 10 20 30 400 50 6 7 80 9 9
cpu1 100 0 0 0 0 0 0 5 0 0
cpu2 1 1 1 1 1 1 1 1 1 1
intr 1 2 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A proc file system of three CPUs, with clock ticks of 10 ms; this process has no children and 2 s of CPU time."""
    monkeypatch.setattr(os, "sysconf", lambda _: TICKS)
    monkeypatch.setattr(time, "process_time", lambda: 2.0)
    monkeypatch.setattr(os, "times", lambda: os.times_result((0.0, 0.0, 0.0, 0.0, 0.0)))
    monkeypatch.setattr(cpus, "affinity", lambda: frozenset({0, 1}))
    (tmp_path / "stat").write_text(STAT)
    _process(tmp_path, os.getpid(), children=())
    return tmp_path


def _process(folder: Path, pid: int, children: tuple[int, ...], user: int = 0, system: int = 0) -> None:
    task = folder / str(pid) / "task" / str(pid)
    task.mkdir(parents=True)
    (task / "children").write_text("".join(f"{child} " for child in children))
    fields = ["S", *["0"] * 10, str(user), str(system), *["0"] * 30]
    (folder / str(pid) / "stat").write_text(f"{pid} (a (name) of its own) {' '.join(fields)}\n")


def test_times_of_some_cpus(folder: Path) -> None:
    """Only the lines of the CPUs asked for; busy is user, nice, system, irq and softirq; idle and iowait are not."""
    assert cpu_times(frozenset({0, 1}), folder) == CpuTimes(1.73, 0.85)


def test_no_times_of_cpus_that_are_not_listed(folder: Path, tmp_path: Path) -> None:
    """None, not 0: neither without the lines nor without the file."""
    assert cpu_times(frozenset({7}), folder) is None
    assert cpu_times(frozenset({0}), tmp_path / "nowhere") is None


def test_a_family_is_the_process_its_descendants_and_those_that_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A data loader's workers, and what they start, belong to the workload."""
    monkeypatch.setattr(os, "times", lambda: os.times_result((0.0, 0.0, 0.25, 0.25, 0.0)))
    _process(folder, 71, children=(72, 73), user=100, system=50)
    _process(folder, 72, children=(74,), user=30)
    _process(folder, 74, children=(), system=20)
    # 73 has ended meanwhile and has no folder.
    assert family_cpu_s(71, folder) == pytest.approx(2.0 + 0.5 + 0.3 + 0.2)


def test_a_family_that_is_not_listed(folder: Path) -> None:
    """Some kernels don't list children: None, so that workers are never taken for other programs."""
    assert family_cpu_s(99, folder) is None


def test_a_reading(folder: Path) -> None:
    """Steal of the CPUs this process may use; of their busy time, what is not its own is others'."""
    telemetry = HostTelemetry(folder, "linux")
    reading = telemetry.read()
    assert telemetry.missing == {}
    assert reading.process_cpu_s == 2.0
    assert reading.steal_s == 0.85
    assert reading.others_cpu_s == pytest.approx(1.73 - 2.0)


def test_elsewhere_steal_is_missing() -> None:
    """With the platform's name in the reason; CPU time is there everywhere."""
    telemetry = HostTelemetry(platform="darwin")
    reading = telemetry.read()
    assert telemetry.missing == {"steal_s": "darwin doesn't tell stolen time"}
    assert (reading.steal_s, reading.others_cpu_s) == (None, None)
    assert reading.process_cpu_s is not None


def test_an_unreadable_table_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that hides /proc/stat gives None and the reason, no error."""
    monkeypatch.setattr(cpus, "affinity", lambda: frozenset({0}))
    telemetry = HostTelemetry(tmp_path, "linux")
    assert telemetry.missing == {"steal_s": f"{tmp_path / 'stat'} doesn't tell stolen time of this process's CPUs"}
    assert telemetry.read().steal_s is None


def test_without_a_resource_module_switches_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.setattr("pytest_roofline.measuring.host_telemetry.resource", None)
    telemetry = HostTelemetry(platform="win32")
    assert telemetry.missing["involuntary_switches"] == "win32 doesn't count them"
    assert telemetry.read().involuntary_switches is None


@linux
def test_the_real_host() -> None:
    """Its counters are there, and never fall."""
    telemetry = HostTelemetry()
    before, after = telemetry.read(), telemetry.read()
    assert before.process_cpu_s is not None
    assert after.process_cpu_s is not None
    assert after.process_cpu_s >= before.process_cpu_s > 0
    assert before.involuntary_switches is not None
    assert after.involuntary_switches is not None
    assert after.involuntary_switches >= before.involuntary_switches
