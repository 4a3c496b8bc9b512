"""What `roofline doctor` looks at: software, devices, profilers, CPUs and who else uses them, the disk."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from pytest_roofline.device import cgroup, cpu_frequency, nvml
from pytest_roofline.device import cpus as usable
from pytest_roofline.device.system import INJECTION, System
from pytest_roofline.measuring.telemetry import cpu_times
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.ncu.status import IN_WSL, OUTSIDE_WSL
from pytest_roofline.profilers.preflight import Finding, check_permission
from roofline.text.units import percent, scaled

State = Literal["ok", "warning", "no", "not reported"]

TORCH_S = 120.0
"""Time for torch to be loaded and to try each device: from a cold network disk it takes that long."""

OLDEST_TORCH = (2, 9)
"""The oldest version that is supported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing looked at. ``no``: it isn't there or can't be used; what needs it says so and goes without.
    ``not reported``: the system doesn't say, so it may be well or not.

    :param why: what was seen.
    :param remedy: what would help, where it is not ``ok``.
    """

    what: str
    state: State
    why: str
    remedy: str | None = None


def checks(system: System, findings: tuple[Finding, ...], results: Path) -> list[Line]:
    """All that is looked at, in the order in which it is shown.

    :param findings: what the pre-flight says of the profilers.
    :param results: the folder that results would go to.
    """
    driver = driver_line(system)
    has_driver = driver.state == "ok"
    cpus = usable.affinity()
    return [
        Line(what="python", state="ok", why=f"{platform.python_version()} ({system.python})"),
        *torch_lines(system, has_driver=has_driver),
        driver,
        nvml_line(system, has_driver=has_driver),
        *injection_lines(system),
        *(finding_line(finding) for finding in findings),
        finding_line(check_permission(system, _ncu_of(findings))),
        platform_line(system),
        quota_line(cgroup.quota_cpus(system.root / "sys/fs/cgroup", system.proc / "self/cgroup"), len(cpus)),
        affinity_line(len(cpus), os.cpu_count()),
        governor_line(cpus, system.root / "sys/devices/system/cpu"),
        steal_line(frozenset(cpus), system.proc),
        disk_line(results),
    ]


def _ncu_of(findings: tuple[Finding, ...]) -> Path | None:
    """The ncu that was found, which commands have to name; what only has its name is none."""
    return next((one.path for one in findings if one.tool == "ncu" and (one.version or one.status != "failed")), None)


def finding_line(finding: Finding) -> Line:
    """What the pre-flight says of a tool."""
    named = f"{finding.version} ({finding.path}): " if finding.version else ""
    return Line(
        what=finding.tool,
        state="ok" if finding.usable else "no",
        why=f"{named}{finding.why}" if finding.usable else f"{named}{finding.status}: {finding.why}",
        remedy=finding.remedy,
    )


def torch_lines(system: System, *, has_driver: bool) -> list[Line]:
    """torch, each device that it knows, and the libraries that models come from; CUDA without a driver is no device."""
    ended = system.run(
        [system.python, "-P", "-m", "pytest_roofline.profilers.torch_report"],
        timeout_s=TORCH_S,
        environment={**system.environment, "PYTHONPATH": system.python_path},
    )
    if ended.fault == "timeout":
        return [Line(what="torch", state="no", why=f"it was not loaded after {TORCH_S:g} s")]
    try:
        found = json.loads(ended.out.splitlines()[-1]) if ended.code == 0 else None
    except (IndexError, json.JSONDecodeError):
        found = None
    if not isinstance(found, dict):
        return [_without_torch(system, ended.err, ended.code)]
    return [
        _torch_line(found),
        *_binding_lines(found),
        *_device_lines(found, has_driver),
        *map(_library_line, found["libraries"]),
    ]


def _without_torch(system: System, err: str, code: int | None) -> Line:
    words = _first_of_error(err) or f"exit code {code}"
    if re.search(r"No module named '?torch'?$", words):
        why = "it is not installed: results can be read, and nothing measured"
        return Line(what="torch", state="no", why=why, remedy=_install("torch", system))
    return Line(what="torch", state="no", why=f"it can't be loaded: {words}", remedy="Install it anew.")


def _install(package: str, system: System) -> str:
    """How this interpreter gets a package: the pip on PATH may be another's."""
    return f"Install it: {quote(str(system.python))} -m pip install {package}."


def _first_of_error(err: str) -> str:
    """The line that names the error: below the frames of the last traceback, which are indented; its message may have
    further lines. The last line where there is no traceback.
    """
    lines = [line.rstrip() for line in err.splitlines() if line.strip()]
    begins = [place for place, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    below = lines[begins[-1] + 1 :] if begins else []
    named = next((line for line in below if not line[0].isspace()), None)
    return (named or next(reversed(lines), "")).strip()


def _torch_line(found: dict[str, Any]) -> Line:
    version = str(found["torch"])
    built = f"built for CUDA {found['cuda']}" if found["cuda"] else "built without CUDA"
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        why = f"{version}, {built}: older than {oldest}"
        return Line(what="torch", state="warning", why=why, remedy=f"Install torch {oldest} or newer.")
    return Line(what="torch", state="ok", why=f"{version}, {built}")


def _binding_lines(found: dict[str, Any]) -> list[Line]:
    if found["binding"] is None:
        return []
    remedy = "Measure without these variables, or choose the CPUs with taskset."
    return [Line(what="torch's threads", state="warning", why=found["binding"], remedy=remedy)]


def _library_line(library: dict[str, Any]) -> Line:
    """torchvision, timm or transformers: whether its models can be measured."""
    problem = library["problem"]
    if problem is None:
        return Line(what=library["name"], state="ok", why=library["version"])
    return Line(what=library["name"], state="no", why=f"its models are skipped: {problem}")


def _device_lines(found: dict[str, Any], has_driver: bool) -> list[Line]:
    lines = []
    if has_driver and not found["cuda"]:
        why = "there is an NVIDIA driver, and this torch was built without CUDA"
        lines.append(Line(what="cuda", state="warning", why=why, remedy="Install a CUDA build of torch."))
    for device in found["devices"]:
        name, problem = str(device["name"]), device.get("problem")
        if problem is None:
            capability = device["compute_capability"]
            more = [f"compute capability {capability}"] if capability else []
            if device["memory_byte"]:
                more.append(f"{scaled(device['memory_byte'], 'B')} of memory")
            lines.append(Line(what=name, state="ok", why=", ".join([str(device["is"]), *more])))
        elif has_driver or not name.startswith("cuda"):
            lines.append(Line(what=name, state="warning", why=str(problem)))
    return lines


def driver_line(system: System) -> Line:
    """NVIDIA's driver, as nvidia-smi and the kernel tell it."""
    smi = tools.find(tools.NVIDIA_SMI, system)
    if smi.works:
        names = Counter(line.rpartition(",")[0].strip() for line in (smi.answer or "").splitlines() if "," in line)
        shown = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in names.items())
        return Line(what="driver", state="ok", why=f"{smi.version}: {shown}")
    loaded = re.search(r"\b\d{3,}\.\d[\d.]*", system.read("driver/nvidia/version") or "")
    if loaded is not None:
        why = f"{loaded.group()} is loaded, but nvidia-smi tells nothing: {smi.verdict.why}"
        return Line(what="driver", state="warning", why=why, remedy=smi.verdict.remedy)
    why = "no NVIDIA driver" if smi.verdict.status == "not_found" else f"no NVIDIA driver answers: {smi.verdict.why}"
    return Line(what="driver", state="no", why=why, remedy="Where there is an NVIDIA GPU, install its driver.")


def nvml_line(system: System, *, has_driver: bool) -> Line:
    """Whether clocks, power and temperature can be read during the rounds."""
    try:
        first = nvml.open_nvml("")  # which every UUID contains
    except nvml.NoNvml as error:
        why = f"no clocks, power or temperature of a GPU: {error}"
        installs = has_driver and find_spec("pynvml") is None
        remedy = _install("nvidia-ml-py", system) if installs else None
        return Line(what="nvml", state="no", why=why, remedy=remedy)
    first.state()
    first.energy_j()
    if first.missing:
        return Line(what="nvml", state="warning", why=f"the first GPU does not tell {', '.join(first.missing)}")
    return Line(what="nvml", state="ok", why="clocks, power, temperature, memory and energy can be read")


def injection_lines(system: System) -> list[Line]:
    """What CUDA is told to load into every process; nothing where it isn't told to."""
    library = system.environment.get(INJECTION)
    if not library:
        return []
    why = f"{INJECTION} has CUDA load {library}, which may record kernels: rows measured so are invalid (profiled)"
    return [Line(what="injection", state="warning", why=why, remedy=f"Measure with {INJECTION} unset.")]


MOST_STOLEN = 0.01
"""Share of CPU time taken by the hypervisor above which results scatter with what others do."""

LEAST_FREE_BYTE = 10**9


def platform_line(system: System) -> Line:
    """Whose kernel this is."""
    name = f"{platform.system() or system.platform} {system.kernel_release}"
    if system.wsl:
        why = f"{name}: WSL2, where Windows shares the devices; {IN_WSL}"
        return Line(what="platform", state="warning", why=why, remedy=OUTSIDE_WSL)
    if system.container is not None:
        name = f"{name}, in a container ({system.container})"
    if any(line.startswith("flags") and " hypervisor" in line for line in (system.read("cpuinfo") or "").splitlines()):
        name = f"{name}, on a virtual machine"
    return Line(what="platform", state="ok", why=name)


def quota_line(quota: float | None, allowed: int) -> Line:
    """The control group's limit of CPU time: threads above it wait for the next period.

    :param quota: in CPUs.
    :param allowed: CPUs that the process may run on.
    """
    if quota is None:
        return Line(what="cpu quota", state="ok", why="none is set")
    if quota >= allowed:
        return Line(what="cpu quota", state="ok", why=f"{quota:g} CPUs, and the process may use {allowed}")
    return Line(
        what="cpu quota",
        state="warning",
        why=f"{quota:g} CPUs' time on {allowed} CPUs: threads are held back for a part of each period",
        remedy="Limit the container by CPUs (docker run --cpuset-cpus) in place of their time (--cpus).",
    )


def affinity_line(allowed: int, all_of_them: int | None) -> Line:
    """CPUs this process may run on."""
    if all_of_them is None or allowed >= all_of_them:
        return Line(what="affinity", state="ok", why=f"all {allowed} CPUs")
    return Line(what="affinity", state="ok", why=f"{allowed} of {all_of_them} CPUs")


def governor_line(cpus: Iterable[int], folder: Path) -> Line:
    """How the CPUs' clocks are set."""
    governor = cpu_frequency.settings(cpus, folder).get("cpu_governor")
    if governor is None:
        return Line(what="governor", state="not reported", why="by the system, as in most virtual machines")
    if governor == "performance":
        return Line(what="governor", state="ok", why="performance")
    return Line(
        what="governor",
        state="warning",
        why=f"{governor}: clocks follow the load, and times with them",
        remedy="Run sudo cpupower frequency-set -g performance.",
    )


def steal_line(cpus: frozenset[int], folder: Path) -> Line:
    """Time of these CPUs that the hypervisor gave to others, since the machine started."""
    times = cpu_times(cpus, folder)
    if times is None or times.busy_s + times.stolen_s <= 0:
        return Line(what="steal", state="not reported", why="by the system")
    share = times.stolen_s / (times.busy_s + times.stolen_s)
    why = f"{percent(share) if share else 'nothing'} of the CPU time since the start went to other machines"
    if share <= MOST_STOLEN:
        return Line(what="steal", state="ok", why=why)
    return Line(
        what="steal",
        state="warning",
        why=why,
        remedy="Compare in turns (roofline ab), or measure on a machine of your own.",
    )


def disk_line(results: Path) -> Line:
    """Room for results. The folder need not be there yet."""
    elsewhere = "ame another folder with --roofline-results."
    results = results.absolute()
    there = next(folder for folder in (results, *results.parents) if os.path.exists(folder))
    if not os.path.isdir(there) or not os.access(there, os.W_OK):
        return Line(what="disk", state="no", why=f"{there} can't be written to", remedy=f"N{elsewhere}")
    try:
        free = shutil.disk_usage(there).free
    except OSError as error:
        return Line(what="disk", state="warning", why=f"{there} does not tell how full it is ({error.strerror})")
    why = f"{scaled(free, 'B')} left for {results}"
    if free < LEAST_FREE_BYTE:
        return Line(what="disk", state="warning", why=why, remedy=f"Make room, or n{elsewhere}")
    return Line(what="disk", state="ok", why=why)
