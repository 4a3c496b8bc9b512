"""On which CPUs a process may run, and how their clocks are set."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_roofline import bench
from pytest_roofline.device import cpus
from pytest_roofline.device.cpus import frequency_settings
from tests.plugin.fake_run import WINDOW, run_on, workload
from tests.plugin.measuring.fakes import Lab

_CHILD = """
from pytest_roofline.device import cpus
before = cpus.of_main_thread()
import torch
print(cpus.of_main_thread() == before, cpus.affinity() == before == cpus.AT_START, cpus.binding(), sep="|")
"""


@pytest.fixture
def bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process of 4 CPUs whose main thread was bound to the first, and whose other threads to the first three."""
    for thread in (10, 11, 12, 13):
        (tmp_path / str(thread)).mkdir()
    places = {10: {0}, 11: {1}, 12: {2}}

    def of_thread(number: int) -> set[int]:
        if number not in places:
            raise ProcessLookupError
        return places[number]

    for name in [name for name in cpus.VARIABLES if name in os.environ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    monkeypatch.setattr(os, "getpid", lambda: 10)
    monkeypatch.setattr(os, "sched_getaffinity", of_thread, raising=False)
    monkeypatch.setattr(cpus, "AT_START", frozenset(range(4)))
    return tmp_path


def test_the_cpus_are_those_of_all_threads(bound: Path) -> None:
    """A thread that has ended meanwhile has none."""
    assert cpus.of_main_thread() == {0}
    assert cpus.affinity(bound) == {0, 1, 2}


def test_an_unbound_main_thread_may_run_on_all_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is to be told."""
    monkeypatch.setattr(cpus, "AT_START", cpus.of_main_thread())
    assert cpus.affinity() == cpus.of_main_thread()
    assert cpus.binding_flags() == ()


def test_a_bound_main_thread_is_a_flag_on_the_record(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many CPUs are left to whom, and the variables that did it. The row stays valid."""
    monkeypatch.setattr(cpus, "of_main_thread", lambda: frozenset({0}))
    monkeypatch.setattr(cpus, "affinity", lambda: frozenset({0, 1}))
    monkeypatch.setattr(cpus, "AT_START", frozenset({0, 1}))
    monkeypatch.setattr(cpus, "variables", lambda: {"GOMP_CPU_AFFINITY": "0 1"})
    record, _ = bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    (flag,) = [flag for flag in record.flags if flag.name == "bound_threads"]
    assert flag.evidence == (
        "importing torch left the main thread on 1 of 2 CPUs (GOMP_CPU_AFFINITY=0 1): torch's threads use 2, loader "
        "workers and other programs that it starts use 1"
    )
    assert record.valid


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="binding is Linux's")
def test_torch_under_a_binding_variable_uses_all_that_the_process_had() -> None:
    """Whether torch's library binds or not, nothing of the CPUs at the start is lost, and it is told if it does."""
    own = " ".join(map(str, sorted(cpus.of_main_thread())))
    environment = {**os.environ, "GOMP_CPU_AFFINITY": own, "OMP_NUM_THREADS": str(len(own.split()))}
    ended = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, text=True, check=True, env=environment)
    as_before, all_of_them, told = ended.stdout.strip().split("|")
    assert all_of_them == "True"
    assert (told == "None") == (as_before == "True")


def _cpu(folder: Path, number: int, **files: str) -> None:
    policy = folder / f"cpu{number}" / "cpufreq"
    policy.mkdir(parents=True)
    for name, text in files.items():
        (policy / name).write_text(text + "\n")


def test_what_is_set(tmp_path: Path) -> None:
    """Governor, driver and limits, from kHz to Hz."""
    _cpu(
        tmp_path,
        0,
        scaling_governor="performance",
        scaling_driver="acpi-cpufreq",
        scaling_min_freq="1500000",
        scaling_max_freq="2450000",
        cpuinfo_max_freq="3500000",
    )
    (tmp_path / "cpufreq").mkdir()
    (tmp_path / "cpufreq" / "boost").write_text("0\n")
    assert frequency_settings({0}, tmp_path) == {
        "cpu_governor": "performance",
        "cpu_frequency_driver": "acpi-cpufreq",
        "cpu_scaling_least_hz": 1.5e9,
        "cpu_scaling_most_hz": 2.45e9,
        "cpu_hardware_most_hz": 3.5e9,
        "cpu_boost": False,
    }


def test_cpus_that_differ(tmp_path: Path) -> None:
    """Both words, the lower clock, and nothing of a CPU that the process may not use."""
    _cpu(tmp_path, 0, scaling_governor="powersave", scaling_max_freq="3000000")
    _cpu(tmp_path, 1, scaling_governor="performance", scaling_max_freq="2000000")
    _cpu(tmp_path, 2, scaling_governor="ondemand", scaling_max_freq="1000000")
    found = frequency_settings({0, 1}, tmp_path)
    assert found == {"cpu_governor": "performance, powersave", "cpu_scaling_most_hz": 2e9}


@pytest.mark.parametrize(("no_turbo", "boost"), [("1", False), ("0", True)])
def test_intel_says_it_the_other_way_round(tmp_path: Path, no_turbo: str, boost: bool) -> None:
    """``no_turbo``."""
    (tmp_path / "intel_pstate").mkdir()
    (tmp_path / "intel_pstate" / "no_turbo").write_text(no_turbo + "\n")
    assert frequency_settings({0}, tmp_path) == {"cpu_boost": boost}


def test_a_virtual_machine_tells_nothing(tmp_path: Path) -> None:
    """Neither does a file that can't be read as what it should be."""
    assert frequency_settings({0, 1}, tmp_path) == {}
    _cpu(tmp_path, 0, scaling_governor="<unknown>", scaling_max_freq="<unsupported>", scaling_driver="")
    assert frequency_settings({0}, tmp_path) == {}
