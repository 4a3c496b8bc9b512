"""The machine: a fingerprint of what decides its speed, a label, and its limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from pytest_roofline.device import cgroup, cpus, host
from roofline.schema.record import Device

GPU = Device(kind="cuda", name="NVIDIA H200", index=0, memory_byte=150 * 10**9, compute_capability="9.0")


def test_the_fingerprint_ignores_what_changes_on_the_same_machine() -> None:
    """The device's number and a few MB of memory more or less don't make another machine."""
    here = host.fingerprint(GPU, "EPYC", 16, 128 * 2**30)
    assert host.fingerprint(replace(GPU, index=3), "EPYC", 16, 128 * 2**30 - 2**20) == here


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
    assert host.fingerprint(*other) != host.fingerprint(GPU, "EPYC", 16, 128 * 2**30)


def test_processors_of_one_name_are_told_apart_by_their_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual machines of two generations are both called AMD EPYC; an Arm core may have no name at all."""
    known = {"model name": "AMD EPYC", "cpu family": "25", "model": "17"}
    monkeypatch.setattr(host, "_cpuinfo", lambda: known)
    monkeypatch.setattr(host.sys, "platform", "linux")
    assert host.cpu_name_and_model() == "AMD EPYC (cpu family 25, model 17)"
    assert host.cpu_name() == "AMD EPYC"
    known.clear()
    known.update({"CPU implementer": "0x41", "CPU part": "0xd40"})
    assert host.cpu_name_and_model().endswith(" (CPU implementer 0x41, CPU part 0xd40)")
    known.clear()
    assert host.cpu_name_and_model() == host.cpu_name()


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
    assert host.default_label(device, 4) == label


@pytest.mark.parametrize(("quota", "affinity", "effective"), [(7.65, 16, 7), (None, 16, 16), (0.5, 16, 1), (8.0, 2, 2)])
def test_effective_cpus(monkeypatch: pytest.MonkeyPatch, quota: float | None, affinity: int, effective: int) -> None:
    """The smaller of affinity and quota, in whole CPUs, at least one."""
    monkeypatch.setattr(cgroup, "quota_cpus", lambda: quota)
    monkeypatch.setattr(cpus, "affinity", lambda: frozenset(range(affinity)))
    assert cpus.effective_cpus() == effective


def test_this_machine() -> None:
    """The label replaces the host name, and what is missing has a reason."""
    found = host.describe_machine(torch.device("cpu"), "a label")
    assert found.label == "a label"
    assert found.versions["torch"] == torch.__version__
    assert found.threads["intra_op"] == torch.get_num_threads()
    assert found.limits["power_limit_w"] is None
    assert found.missing["limits.power_limit_w"] == "no NVML for this device"


def test_variables_that_bind_threads_or_withhold_instructions_stand_with_the_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As they are set; those that aren't are left out."""
    monkeypatch.setenv("OMP_PLACES", "cores")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    monkeypatch.delenv("KMP_AFFINITY", raising=False)
    limits = host.describe_machine(torch.device("cpu"), None).limits
    assert (limits["OMP_PLACES"], limits["ATEN_CPU_CAPABILITY"]) == ("cores", "default")
    assert "KMP_AFFINITY" not in limits


def test_how_clocks_are_set_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system tells it, of the CPUs this process may use; else the reason stands there."""
    asked: list[frozenset[int]] = []

    def told(cpus: frozenset[int]) -> dict[str, str | float | bool]:
        asked.append(cpus)
        return {"cpu_governor": "powersave", "cpu_boost": False}

    monkeypatch.setattr(cpus, "affinity", lambda: frozenset({1, 3}))
    monkeypatch.setattr(cpus, "frequency_settings", told)
    found = host.describe_machine(torch.device("cpu"), None)
    assert asked == [frozenset({1, 3})]
    assert (found.limits["cpu_governor"], found.limits["cpu_boost"]) == ("powersave", False)
    assert "limits.cpu_governor" not in found.missing
    monkeypatch.setattr(cpus, "frequency_settings", lambda _: {})
    found = host.describe_machine(torch.device("cpu"), None)
    assert found.limits["cpu_governor"] is None
    assert "no cpufreq" in found.missing["limits.cpu_governor"]
