"""Describe what is stable about the machine: its device, its fingerprint, its label, versions and limits."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_roofline.device import cgroup, cpus
from pytest_roofline.device.instruments import nvml_of
from pytest_roofline.device.nvml import NoNvml, Nvml
from pytest_roofline.device.selection import KINDS, DeviceError
from pytest_roofline.device.system import System
from roofline.schema.record import Device
from roofline.schema.session import Machine

if TYPE_CHECKING:
    import torch

_VERSIONS = ("torchvision", "numpy", "pytest", "pytest-benchmark", "pytest-roofline")


def describe_machine(device: torch.device, label: str | None) -> Machine:
    """The machine as the file stores it.

    :param label: the user's name for it; None makes one from the device's name. The host name is never stored.
    """
    import torch

    found = describe_device(device)
    cpu = cpu_name_and_model()
    memory = _memory_byte()
    nvml, no_nvml = _nvml(device)
    cudnn = torch.backends.cudnn.version() if device.type == "cuda" else None
    limits: dict[str, Any] = {
        "affinity_cpus": len(cpus.affinity()),
        "effective_cpus": cpus.effective_cpus(),
        "cgroup_cpu_quota_cpus": cgroup.quota_cpus(),
        "container": System.here().container is not None if sys.platform.startswith("linux") else None,
        "cpu_governor": None,
        **cpus.frequency_settings(cpus.affinity()),
        "power_limit_w": nvml.power_limit_w() if nvml else None,
        **cpus.variables((*cpus.VARIABLES, *cpus.INSTRUCTIONS)),
    }
    reasons = {
        "power_limit_w": nvml.missing.get("power_limit_w") if nvml else no_nvml,
        "cgroup_cpu_quota_cpus": "no quota is set",
        "cpu_governor": "the system doesn't tell how it sets the CPUs' clocks (no cpufreq)",
    }
    missing = {f"limits.{name}": why for name, why in reasons.items() if limits[name] is None and why is not None}
    return Machine(
        fingerprint=fingerprint(found, cpu, cpus.effective_cpus(), memory),
        label=label or default_label(found, cpus.effective_cpus()),
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
            "cudnn": None if cudnn is None else str(cudnn),
            "driver": nvml.driver() if nvml else None,
        },
        threads={"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()},
        limits=limits,
        missing=missing,
    )


def fingerprint(device: Device, cpu: str, cpu_count: int, memory_byte: int) -> str:
    """A hash over what decides the machine's speed: processor and model, usable cores, memory in GiB, and the device.

    Host name, clock readings, versions and the device's index are left out: they change on the same machine.
    """
    parts = {
        "cpu": cpu,
        "cpus": cpu_count,
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


def default_label(device: Device, cpu_count: int) -> str:
    """A folder name from the device: ``amd-epyc-2cpu``, ``nvidia-h200``."""
    name = re.sub(r"\((R|TM|C)\)", "", device.name, flags=re.IGNORECASE)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or device.kind
    return f"{slug}-{cpu_count}cpu" if device.kind == "cpu" else slug


def _nvml(device: torch.device) -> tuple[Nvml | None, str | None]:
    """NVML of the device, or why there is none."""
    try:
        return nvml_of(device), None
    except NoNvml as why:
        return None, str(why)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def describe_device(device: torch.device) -> Device:
    """Describe the device as the record does."""
    import torch

    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return Device(
            kind="cuda",
            name=properties.name,
            index=device.index,
            memory_byte=properties.total_memory,
            last_level_cache_byte=getattr(properties, "L2_cache_size", None) or None,
            compute_capability=f"{properties.major}.{properties.minor}",
        )
    if device.type == "mps":
        return Device(kind="mps", name=f"{cpu_name()} GPU", memory_byte=torch.mps.recommended_max_memory())
    if device.type == "cpu":
        return Device(
            kind="cpu", name=cpu_name(), memory_byte=_memory_byte(), last_level_cache_byte=_cpu_last_level_cache_byte()
        )
    raise DeviceError(f"{device.type} is not supported; use one of {', '.join(KINDS)}.")


def cpu_name() -> str:
    """The processor's name as the system gives it."""
    if sys.platform.startswith("linux"):
        known = _cpuinfo()
        if name := known.get("model name") or known.get("Model"):
            return name
    if sys.platform == "darwin":
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
        )
        if answer.stdout.strip():
            return answer.stdout.strip()
    return platform.processor() or platform.machine() or "unknown CPU"


def cpu_instructions() -> frozenset[str]:
    """The instruction sets of the CPU, by torch's names or by Linux's; empty where neither tells them."""
    import torch

    if hasattr(torch.cpu, "get_capabilities"):  # since torch 2.11
        return frozenset(name for name, has in torch.cpu.get_capabilities().items() if has is True)
    known = _cpuinfo() if sys.platform.startswith("linux") else {}
    return frozenset(f"{known.get('flags', '')} {known.get('Features', '')}".split())


def cpu_name_and_model() -> str:
    """The same with the numbers of its model: ``AMD EPYC (cpu family 25, model 17)``.

    A virtual machine may give processors of several generations one name, of which one is twice as fast as another.
    """
    known = _cpuinfo() if sys.platform.startswith("linux") else {}
    numbers = [f"{key} {known[key]}" for key in _MODEL_NUMBERS if known.get(key)]
    return f"{cpu_name()} ({', '.join(numbers)})" if numbers else cpu_name()


_MODEL_NUMBERS = ("cpu family", "model", "CPU implementer", "CPU part")
"""As Linux calls them: the first two of x86, the others of Arm."""


def _cpuinfo(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Read what Linux tells of the first processor; of all of them what isn't told one by one."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    known: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        known.setdefault(key.strip(), value.strip())
    return known


def _memory_byte() -> int:
    import psutil

    return int(psutil.virtual_memory().total)


def _cpu_last_level_cache_byte(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int | None:
    """Size of the largest-level data cache that Linux reports, in bytes; None elsewhere."""
    best: tuple[int, int] | None = None
    for folder in root.glob("index*"):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind in ("Unified", "Data") and size.endswith("K") and level.isdecimal():
            best = max(best or (0, 0), (int(level), int(size[:-1]) * 1024))
    return best[1] if best else None
