"""What is stable about the machine: its fingerprint, its label, versions and limits."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_roofline import devices
from roofline.record import Device, Machine

if TYPE_CHECKING:
    import torch

_VERSIONS = ("torchvision", "numpy", "pytest", "pytest-benchmark", "pytest-roofline")


def describe(device: torch.device, label: str | None) -> Machine:
    """The machine as the file stores it.

    :param label: the user's name for it; None makes one from the device's name. The host name is never stored.
    """
    import psutil
    import torch

    found = devices.describe(device)
    cpu = devices.cpu_name()
    memory = int(psutil.virtual_memory().total)
    nvml = devices.nvml_of(device)
    missing: dict[str, str] = {}
    limits: dict[str, Any] = {
        "affinity_cpus": affinity_cpus(),
        "effective_cpus": effective_cpus(),
        "cgroup_cpu_quota_cpus": cgroup_quota_cpus(),
        "container": _in_container(),
        "power_limit_w": nvml.power_limit_w() if nvml else None,
    }
    if limits["power_limit_w"] is None:
        missing["limits.power_limit_w"] = "no NVML for this device" if nvml is None else "NVML does not tell it"
    if limits["cgroup_cpu_quota_cpus"] is None:
        missing["limits.cgroup_cpu_quota_cpus"] = "no quota is set"
    return Machine(
        fingerprint=fingerprint(found, cpu, effective_cpus(), memory),
        label=label or default_label(found, effective_cpus()),
        device=found,
        cpu=cpu,
        cpu_count=os.cpu_count() or 1,
        memory_byte=memory,
        os=f"{platform.system()} {platform.release()}",
        versions={
            "python": platform.python_version(),
            "torch": str(torch.__version__),  # with the build, which the installed package's version may lack
            **{name: _version(name) for name in _VERSIONS},
            "cuda": torch.version.cuda,
            "cudnn": _cudnn_version() if device.type == "cuda" else None,
            "driver": nvml.driver() if nvml else None,
        },
        threads={"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()},
        limits=limits,
        missing=missing,
    )


def fingerprint(device: Device, cpu: str, cpus: int, memory_byte: int) -> str:
    """A hash over what decides the machine's speed: processor, usable cores, memory in GiB, and the device.

    Host name, clock readings, versions and the device's index are left out: they change on the same machine.
    """
    parts = {
        "cpu": cpu,
        "cpus": cpus,
        "architecture": platform.machine(),
        "memory_gib": round(memory_byte / 2**30),
        "device": [
            device.kind,
            device.name,
            device.compute_capability,
            device.last_level_cache_byte,
            None if device.memory_byte is None else round(device.memory_byte / 2**30),
        ],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def default_label(device: Device, cpus: int) -> str:
    """A folder name from the device: ``amd-epyc-2cpu``, ``nvidia-h200``."""
    name = re.sub(r"\((R|TM|C)\)", "", device.name, flags=re.IGNORECASE)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or device.kind
    return f"{slug}-{cpus}cpu" if device.kind == "cpu" else slug


def affinity_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def effective_cpus() -> int:
    """Whole CPUs this process can use: its affinity, cut by a container's bandwidth quota, at least 1."""
    quota = cgroup_quota_cpus()
    return max(1, affinity_cpus() if quota is None else min(affinity_cpus(), int(quota)))


def cgroup_quota_cpus(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """The least CPU bandwidth quota of the process's control group and those above it, in CPUs; None without any.

    Version 2 has it in ``cpu.max``, version 1 in ``cpu/cpu.cfs_quota_us``.
    """
    quotas = [quota for group in _groups(root, own) if (quota := _quota(group)) is not None]
    quotas += [quota for quota in (_quota_v1(root / "cpu"),) if quota is not None]
    return min(quotas, default=None)


def _groups(root: Path, own: Path) -> list[Path]:
    """The process's own group of version 2 and all above it. In a container the root is its own."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        lines = []
    path = next((line[3:] for line in lines if line.startswith("0::")), "/")
    group = root / path.strip("/")
    return [group, *(parent for parent in group.parents if parent == root or root in parent.parents)]


def _quota(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return _cpus(quota, period)


def _quota_v1(group: Path) -> float | None:
    try:
        return _cpus((group / "cpu.cfs_quota_us").read_text(), (group / "cpu.cfs_period_us").read_text())
    except OSError:
        return None


def _cpus(quota: str, period: str) -> float | None:
    quota, period = quota.strip(), period.strip()
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:  # "max", or -1: no quota
        return None
    return int(quota) / int(period)


def _in_container() -> bool | None:
    if not sys.platform.startswith("linux"):
        return None
    return (
        Path("/.dockerenv").exists() or Path("/run/.containerenv").exists() or "KUBERNETES_SERVICE_HOST" in os.environ
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cudnn_version() -> str | None:
    import torch

    version = torch.backends.cudnn.version()
    return None if version is None else str(version)
