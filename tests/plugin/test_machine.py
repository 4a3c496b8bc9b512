"""The machine: a fingerprint of what decides its speed, a label, and its limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pytest_roofline import machine
from roofline.record import Device

GPU = Device(kind="cuda", name="NVIDIA H200", index=0, memory_byte=150 * 10**9, compute_capability="9.0")


def test_the_fingerprint_ignores_what_changes_on_the_same_machine() -> None:
    """The device's number and a few MB of memory more or less don't make another machine."""
    here = machine.fingerprint(GPU, "EPYC", 16, 128 * 2**30)
    assert machine.fingerprint(replace(GPU, index=3), "EPYC", 16, 128 * 2**30 - 2**20) == here


@pytest.mark.parametrize(
    "other",
    [
        (replace(GPU, name="NVIDIA H100"), "EPYC", 16, 128 * 2**30),
        (replace(GPU, memory_byte=80 * 10**9), "EPYC", 16, 128 * 2**30),
        (GPU, "Xeon", 16, 128 * 2**30),
        (GPU, "EPYC", 8, 128 * 2**30),
        (GPU, "EPYC", 16, 64 * 2**30),
    ],
)
def test_the_fingerprint_tells_machines_apart(other: tuple[Device, str, int, int]) -> None:
    """Another device, processor, number of cores or memory is another machine."""
    assert machine.fingerprint(*other) != machine.fingerprint(GPU, "EPYC", 16, 128 * 2**30)


@pytest.mark.parametrize(
    ("device", "label"),
    [
        (GPU, "nvidia-h200"),
        (Device(kind="cpu", name="Intel(R) Core(TM) i9-14900HX"), "intel-core-i9-14900hx-4cpu"),
        (Device(kind="cpu", name="???"), "cpu-4cpu"),
    ],
)
def test_the_label_is_a_folder_name(device: Device, label: str) -> None:
    """Lower case, no spaces, and how many cores a CPU run had."""
    assert machine.default_label(device, 4) == label


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "765000 100000"}, 7.65),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu.max": "garbage"}, None),
        ({}, None),
    ],
)
def test_the_cgroup_quota(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    """Version 2 and version 1, with and without a limit."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert machine.cgroup_quota_cpus(tmp_path, tmp_path / "none") == quota


def test_the_quota_of_the_own_group_and_of_those_above_it(tmp_path: Path) -> None:
    """A systemd slice limits what the root of the tree doesn't show; the least of all counts."""
    own = tmp_path / "own"
    own.write_text("0::/system.slice/job.service\n")
    (tmp_path / "system.slice" / "job.service").mkdir(parents=True)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "system.slice" / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "system.slice" / "job.service" / "cpu.max").write_text("400000 100000\n")
    assert machine.cgroup_quota_cpus(tmp_path, own) == 1.5


@pytest.mark.parametrize(("quota", "affinity", "effective"), [(7.65, 16, 7), (None, 16, 16), (0.5, 16, 1), (8.0, 2, 2)])
def test_effective_cpus(monkeypatch: pytest.MonkeyPatch, quota: float | None, affinity: int, effective: int) -> None:
    """The smaller of affinity and quota, in whole CPUs, at least one."""
    monkeypatch.setattr(machine, "cgroup_quota_cpus", lambda: quota)
    monkeypatch.setattr(machine, "affinity_cpus", lambda: affinity)
    assert machine.effective_cpus() == effective


def test_this_machine() -> None:
    """The label replaces the host name, and what is missing has a reason."""
    found = machine.describe(torch.device("cpu"), "a label")
    assert found.label == "a label"
    assert found.versions["torch"] == torch.__version__
    assert found.threads["intra_op"] == torch.get_num_threads()
    assert found.limits["power_limit_w"] is None
    assert found.missing["limits.power_limit_w"] == "no NVML for this device"
