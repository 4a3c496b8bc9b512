"""What `roofline doctor` looks at: software, devices, profilers, CPUs and who else uses them, the disk."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from pytest_roofline.device import cgroup, cpu_frequency, nvml
from pytest_roofline.device import cpus as usable
from pytest_roofline.device.system import INJECTION, System
from pytest_roofline.measuring.telemetry import cpu_times
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.check import Check
from pytest_roofline.profilers.ncu.status import IN_WSL, OUTSIDE_WSL
from pytest_roofline.profilers.profiler_access import check_all, check_permission
from roofline.text.units import percent, scaled

TORCH_S = 120.0
"""Time for torch to be loaded and to try each device: from a cold network disk it takes that long."""

OLDEST_TORCH = (2, 9)
"""The oldest version that is supported."""


def checks(system: System, paths: Mapping[str, Path | None], results: Path) -> list[Check]:
    """All that is looked at, in the order in which it is shown; the first line of each check is its question.

    :param paths: of ``ncu``, ``nsys`` and ``perf``, where one was given.
    :param results: the folder that results would go to.
    """
    driver = check_driver(system)
    has_driver = driver.usable
    cpus = usable.affinity()
    profilers = check_all(system, **paths)
    ncu = profilers[0]
    return [
        Check(name="python", status="ok", why=f"{platform.python_version()} ({system.python})"),
        *check_torch(system, has_driver=has_driver),
        driver,
        check_nvml(system, has_driver=has_driver),
        *check_injection(system),
        *profilers,
        # What has ncu's name and is another program isn't one that a command should name.
        check_permission(system, ncu.path if ncu.version or ncu.status != "failed" else None),
        check_platform(system),
        check_quota(cgroup.quota_cpus(system.root / "sys/fs/cgroup", system.proc / "self/cgroup"), len(cpus)),
        check_affinity(len(cpus), os.cpu_count()),
        check_governor(cpus, system.root / "sys/devices/system/cpu"),
        check_steal(frozenset(cpus), system.proc),
        check_disk(results),
    ]


def check_torch(system: System, *, has_driver: bool) -> list[Check]:
    """Which torch is this, which devices can it use, and which libraries of models are there?

    CUDA without a driver is no device.
    """
    ended = system.run(
        [system.python, "-P", "-m", "pytest_roofline.profilers.torch_report"],
        timeout_s=TORCH_S,
        environment={**system.environment, "PYTHONPATH": system.python_path},
    )
    try:
        found = json.loads(ended.out.splitlines()[-1]) if ended.code == 0 else None
    except (IndexError, json.JSONDecodeError):
        found = None
    if not isinstance(found, dict):
        why = f"it was not loaded after {TORCH_S:g} s" if ended.fault == "timeout" else f"exit code {ended.code}"
        found = {"problem": why, "installed": True}
    if "problem" in found and not found["installed"]:
        why = "it is not installed: results can be read, and nothing measured"
        return [Check(name="torch", status="no", why=why, remedy=_install("torch", system))]
    if "problem" in found:
        why = f"it can't be loaded: {found['problem']}"
        return [Check(name="torch", status="no", why=why, remedy="Install it anew.")]
    return [
        _check_version(found),
        *_check_binding(found),
        *_check_devices(found, has_driver),
        *map(_check_library, found["libraries"]),
    ]


def _install(package: str, system: System) -> str:
    """How this interpreter gets a package: the pip on PATH may be another's."""
    return f"Install it: {quote(str(system.python))} -m pip install {package}."


def _check_version(found: dict[str, Any]) -> Check:
    version = str(found["torch"])
    built = f"built for CUDA {found['cuda']}" if found["cuda"] else "built without CUDA"
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        why = f"{version}, {built}: older than {oldest}"
        return Check(name="torch", status="warning", why=why, remedy=f"Install torch {oldest} or newer.")
    return Check(name="torch", status="ok", why=f"{version}, {built}")


def _check_binding(found: dict[str, Any]) -> list[Check]:
    if found["binding"] is None:
        return []
    remedy = "Measure without these variables, or choose the CPUs with taskset."
    return [Check(name="torch's threads", status="warning", why=found["binding"], remedy=remedy)]


def _check_library(library: dict[str, Any]) -> Check:
    """torchvision, timm or transformers: whether its models can be measured."""
    problem = library["problem"]
    if problem is None:
        return Check(name=library["name"], status="ok", why=library["version"])
    return Check(name=library["name"], status="no", why=f"its models are skipped: {problem}")


def _check_devices(found: dict[str, Any], has_driver: bool) -> list[Check]:
    lines = []
    if has_driver and not found["cuda"]:
        why = "there is an NVIDIA driver, and this torch was built without CUDA"
        lines.append(Check(name="cuda", status="warning", why=why, remedy="Install a CUDA build of torch."))
    for device in found["devices"]:
        name, problem = str(device["name"]), device.get("problem")
        if problem is None:
            capability = device["compute_capability"]
            more = [f"compute capability {capability}"] if capability else []
            if device["memory_byte"]:
                more.append(f"{scaled(device['memory_byte'], 'B')} of memory")
            lines.append(Check(name=name, status="ok", why=", ".join([str(device["is"]), *more])))
        elif has_driver or not name.startswith("cuda"):
            lines.append(Check(name=name, status="warning", why=str(problem)))
    return lines


def check_driver(system: System) -> Check:
    """Is there a driver of NVIDIA's, by nvidia-smi and the kernel?"""
    smi = tools.find(tools.NVIDIA_SMI, system)
    if smi.usable:
        names = Counter(line.rpartition(",")[0].strip() for line in (smi.answer or "").splitlines() if "," in line)
        shown = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in names.items())
        return Check(name="driver", status="ok", why=f"{smi.version}: {shown}")
    loaded = re.search(r"\b\d{3,}\.\d[\d.]*", system.read("driver/nvidia/version") or "")
    if loaded is not None:
        why = f"{loaded.group()} is loaded, but nvidia-smi tells nothing: {smi.why}"
        return Check(name="driver", status="warning", why=why, remedy=smi.remedy)
    why = "no NVIDIA driver" if smi.status == "not_found" else f"no NVIDIA driver answers: {smi.why}"
    return Check(name="driver", status="no", why=why, remedy="Where there is an NVIDIA GPU, install its driver.")


def check_nvml(system: System, *, has_driver: bool) -> Check:
    """Can clocks, power and temperature be read during the rounds?"""
    try:
        first = nvml.open_nvml("")  # which every UUID contains
    except nvml.NoNvml as error:
        why = f"no clocks, power or temperature of a GPU: {error}"
        installs = has_driver and find_spec("pynvml") is None
        remedy = _install("nvidia-ml-py", system) if installs else None
        return Check(name="nvml", status="no", why=why, remedy=remedy)
    first.state()
    first.energy_j()
    if first.missing:
        return Check(name="nvml", status="warning", why=f"the first GPU does not tell {', '.join(first.missing)}")
    return Check(name="nvml", status="ok", why="clocks, power, temperature, memory and energy can be read")


def check_injection(system: System) -> list[Check]:
    """Does CUDA load a library into every process? Nothing is said where it doesn't."""
    library = system.environment.get(INJECTION)
    if not library:
        return []
    why = f"{INJECTION} has CUDA load {library}, which may record kernels: rows measured so are invalid (profiled)"
    return [Check(name="injection", status="warning", why=why, remedy=f"Measure with {INJECTION} unset.")]


MOST_STOLEN = 0.01
"""Share of CPU time taken by the hypervisor above which results scatter with what others do."""

LEAST_FREE_BYTE = 10**9


def check_platform(system: System) -> Check:
    """Whose kernel is this: the machine's, a container's host's, a virtual machine's, Windows'?"""
    name = f"{platform.system() or system.platform} {system.kernel_release}"
    if system.wsl:
        why = f"{name}: WSL2, where Windows shares the devices; {IN_WSL}"
        return Check(name="platform", status="warning", why=why, remedy=OUTSIDE_WSL)
    if system.container is not None:
        name = f"{name}, in a container ({system.container})"
    if any(line.startswith("flags") and " hypervisor" in line for line in (system.read("cpuinfo") or "").splitlines()):
        name = f"{name}, on a virtual machine"
    return Check(name="platform", status="ok", why=name)


def check_quota(quota: float | None, allowed: int) -> Check:
    """Does the control group limit CPU time? Threads above the limit wait for the next period.

    :param quota: in CPUs.
    :param allowed: CPUs that the process may run on.
    """
    if quota is None:
        return Check(name="cpu quota", status="ok", why="none is set")
    if quota >= allowed:
        return Check(name="cpu quota", status="ok", why=f"{quota:g} CPUs, and the process may use {allowed}")
    return Check(
        name="cpu quota",
        status="warning",
        why=f"{quota:g} CPUs' time on {allowed} CPUs: threads are held back for a part of each period",
        remedy="Limit the container by CPUs (docker run --cpuset-cpus) in place of their time (--cpus).",
    )


def check_affinity(allowed: int, all_of_them: int | None) -> Check:
    """On how many CPUs may this process run?"""
    if all_of_them is None or allowed >= all_of_them:
        return Check(name="affinity", status="ok", why=f"all {allowed} CPUs")
    return Check(name="affinity", status="ok", why=f"{allowed} of {all_of_them} CPUs")


def check_governor(cpus: Iterable[int], folder: Path) -> Check:
    """How are the CPUs' clocks set?"""
    governor = cpu_frequency.settings(cpus, folder).get("cpu_governor")
    if governor is None:
        return Check(name="governor", status="not reported", why="by the system, as in most virtual machines")
    if governor == "performance":
        return Check(name="governor", status="ok", why="performance")
    return Check(
        name="governor",
        status="warning",
        why=f"{governor}: clocks follow the load, and times with them",
        remedy="Run sudo cpupower frequency-set -g performance.",
    )


def check_steal(cpus: frozenset[int], folder: Path) -> Check:
    """How much of these CPUs' time since the start did the hypervisor give to others?"""
    times = cpu_times(cpus, folder)
    if times is None or times.busy_s + times.stolen_s <= 0:
        return Check(name="steal", status="not reported", why="by the system")
    share = times.stolen_s / (times.busy_s + times.stolen_s)
    why = f"{percent(share) if share else 'nothing'} of the CPU time since the start went to other machines"
    if share <= MOST_STOLEN:
        return Check(name="steal", status="ok", why=why)
    return Check(
        name="steal",
        status="warning",
        why=why,
        remedy="Compare in turns (roofline ab), or measure on a machine of your own.",
    )


def check_disk(results: Path) -> Check:
    """Is there room for results? The folder need not be there yet."""
    results = results.absolute()
    folder = next(folder for folder in (results, *results.parents) if os.path.exists(folder))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        remedy = "Name another folder with --roofline-results."
        return Check(name="disk", status="no", why=f"{folder} can't be written to", remedy=remedy)
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check(name="disk", status="warning", why=f"{folder} does not tell how full it is ({error.strerror})")
    why = f"{scaled(free, 'B')} left for {results}"
    if free < LEAST_FREE_BYTE:
        remedy = "Make room, or name another folder with --roofline-results."
        return Check(name="disk", status="warning", why=why, remedy=remedy)
    return Check(name="disk", status="ok", why=why)
