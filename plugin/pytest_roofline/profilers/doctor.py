"""``roofline doctor``: what this machine lets be measured, and what would help where it doesn't."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import click

from pytest_roofline.device import cgroup, nvml
from pytest_roofline.device import cpus as usable
from pytest_roofline.device.system import INJECTION, System
from pytest_roofline.measuring.host_telemetry import cpu_times
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.diagnosis import Diagnosis
from pytest_roofline.profilers.profiler_access import check_ncu, check_nsys, check_perf, check_permission
from roofline.cli.output import emit
from roofline.cli.parameters import Command, Output, table_options
from roofline.show.tables import Table, words
from roofline.text.units import percent, scaled


def _path_of(tool: str) -> Callable[[Command], Command]:
    return click.option(
        f"--{tool}-path",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help=f"Where {tool} is. Default: ROOFLINE_{tool.upper()}, else on PATH or where it is usually installed.",
    )


@click.command()
@_path_of("ncu")
@_path_of("nsys")
@_path_of("perf")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder that results would go to: is there room?",
)
@table_options
def doctor(
    ncu_path: Path | None,
    nsys_path: Path | None,
    perf_path: Path | None,
    results: Path,
    output: Output,
) -> None:
    """Look at this machine: torch and devices, driver, profilers and their permissions, CPUs, disk.

    Each line is ok, a warning, no, or not reported; what helps stands below. Nothing is judged: the exit code is 0.
    """

    found = [*checks(System.here(), {"ncu": ncu_path, "nsys": nsys_path, "perf": perf_path}, results)]
    display = [words("what"), words("state", dtype="category"), replace(words("why"), fill=True)]
    table = Table(
        title="Doctor",
        columns=[*display, words("remedy")],
        display=display,
        rows=[check.row for check in found],
        notes=[f"{check.name}: {check.remedy}" for check in found if check.remedy],
    )
    emit([table], output)


TORCH_S = 120.0
"""Time for torch to be loaded and to try each device: from a cold network disk it takes that long."""

OLDEST_TORCH = (2, 9)
"""The oldest version that is supported."""

MOST_STOLEN = 0.01
"""Share of CPU time taken by the hypervisor above which results scatter with what others do."""

LEAST_FREE_BYTE = 10**9


def checks(system: System, paths: Mapping[str, Path | None], results: Path) -> Iterator[Diagnosis]:
    """All that is looked at, in the order in which it is shown.

    :param paths: of ``ncu``, ``nsys`` and ``perf``, where one was given.
    :param results: the folder that results would go to.
    """
    driver = _driver(system)
    yield Diagnosis("python", "ok", f"{platform.python_version()} ({system.python})")
    yield from _torch(system, driver.usable)
    yield driver
    yield _nvml(system, driver.usable)
    if library := system.environment.get(INJECTION):
        why = f"{INJECTION} has CUDA load {library}, which may record kernels: rows measured so are invalid (profiled)"
        yield Diagnosis("injection", "warning", why, f"Measure with {INJECTION} unset.")
    ncu = check_ncu(system, paths.get("ncu"))
    yield from (ncu, check_nsys(system, paths.get("nsys")), check_perf(system, paths.get("perf")))
    # What has ncu's name and is another program isn't one that a command should name.
    yield check_permission(system, ncu.path if ncu.version else None)
    yield _platform(system)
    yield from _cpus(system)
    yield _disk(results.absolute())


def _torch(system: System, has_driver: bool) -> Iterator[Diagnosis]:
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
        yield Diagnosis("torch", "no", why, _install("torch", system))
        return
    if "problem" in found:
        yield Diagnosis("torch", "no", f"it can't be loaded: {found['problem']}", "Install it anew.")
        return
    version = str(found["torch"])
    built = f"{version}, built for CUDA {found['cuda']}" if found["cuda"] else f"{version}, built without CUDA"
    if tuple(int(number) for number in re.findall(r"\d+", version)[:2]) < OLDEST_TORCH:
        oldest = ".".join(map(str, OLDEST_TORCH))
        yield Diagnosis("torch", "warning", f"{built}: older than {oldest}", f"Install torch {oldest} or newer.")
    else:
        yield Diagnosis("torch", "ok", built)
    if found["binding"] is not None:
        remedy = "Measure without these variables, or choose the CPUs with taskset."
        yield Diagnosis("torch's threads", "warning", found["binding"], remedy)
    if has_driver and not found["cuda"]:
        why = "there is an NVIDIA driver, and this torch was built without CUDA"
        yield Diagnosis("cuda", "warning", why, "Install a CUDA build of torch.")
    for device in found["devices"]:
        if "problem" not in device:
            capability, byte = device["compute_capability"], device["memory_byte"]
            more = [f"compute capability {capability}"] if capability else []
            more += [f"{scaled(byte, 'B')} of memory"] if byte else []
            yield Diagnosis(device["name"], "ok", ", ".join([device["is"], *more]))
        elif has_driver or not device["name"].startswith("cuda"):
            yield Diagnosis(device["name"], "warning", device["problem"])
    for library in found["libraries"]:
        if library["problem"] is None:
            yield Diagnosis(library["name"], "ok", library["version"])
        else:
            yield Diagnosis(library["name"], "no", f"its models are skipped: {library['problem']}")


def _install(package: str, system: System) -> str:
    """Say how this interpreter gets a package: the pip on PATH may be another's."""
    return f"Install it: {quote(str(system.python))} -m pip install {package}."


def _driver(system: System) -> Diagnosis:
    """Is there a driver of NVIDIA's, by nvidia-smi and the kernel?"""
    smi = tools.find(tools.NVIDIA_SMI, system)
    if smi.usable:
        names = Counter(line.rpartition(",")[0].strip() for line in (smi.answer or "").splitlines() if "," in line)
        shown = ", ".join(name if count == 1 else f"{count} x {name}" for name, count in names.items())
        return Diagnosis("driver", "ok", f"{smi.version}: {shown}")
    loaded = re.search(r"\b\d{3,}\.\d[\d.]*", system.read("driver/nvidia/version") or "")
    if loaded is not None:
        why = f"{loaded.group()} is loaded, but nvidia-smi tells nothing: {smi.why}"
        return Diagnosis("driver", "warning", why, smi.remedy)
    why = "no NVIDIA driver" if smi.status == "not_found" else f"no NVIDIA driver answers: {smi.why}"
    return Diagnosis("driver", "no", why, "Where there is an NVIDIA GPU, install its driver.")


def _nvml(system: System, has_driver: bool) -> Diagnosis:
    """Can clocks, power and temperature be read during the rounds?"""
    try:
        first = nvml.open_nvml("")  # which every UUID contains
    except nvml.NoNvml as error:
        installs = has_driver and find_spec("pynvml") is None
        remedy = _install("nvidia-ml-py", system) if installs else None
        return Diagnosis("nvml", "no", f"no clocks, power or temperature of a GPU: {error}", remedy)
    first.state()
    first.energy_j()
    if first.missing:
        return Diagnosis("nvml", "warning", f"the first GPU does not tell {', '.join(first.missing)}")
    return Diagnosis("nvml", "ok", "clocks, power, temperature, memory and energy can be read")


def _platform(system: System) -> Diagnosis:
    """Whose kernel is this: the machine's, a container's host's, a virtual machine's, Windows'?"""
    name = f"{platform.system() or system.platform} {system.kernel_release}"
    if system.wsl:
        return Diagnosis("platform", "warning", f"{name}: WSL2, where Windows shares the devices")
    if system.container is not None:
        name = f"{name}, in a container ({system.container})"
    if any(line.startswith("flags") and " hypervisor" in line for line in (system.read("cpuinfo") or "").splitlines()):
        name = f"{name}, on a virtual machine"
    return Diagnosis("platform", "ok", name)


def _cpus(system: System) -> Iterator[Diagnosis]:
    """CPUs that this process may run on, their time, their clocks, and who else uses them."""
    cpus = usable.affinity()
    allowed, everywhere = len(cpus), os.cpu_count() or len(cpus)
    quota = cgroup.quota_cpus(system.root / "sys/fs/cgroup", system.proc / "self/cgroup")
    if quota is None:
        yield Diagnosis("cpu quota", "ok", "none is set")
    elif quota >= allowed:
        yield Diagnosis("cpu quota", "ok", f"{quota:g} CPUs, and the process may use {allowed}")
    else:
        # Threads above the limit wait for the next period.
        why = f"{quota:g} CPUs' time on {allowed} CPUs: threads are held back for a part of each period"
        remedy = "Limit the container by CPUs (docker run --cpuset-cpus) in place of their time (--cpus)."
        yield Diagnosis("cpu quota", "warning", why, remedy)
    yield Diagnosis(
        "affinity", "ok", f"all {allowed} CPUs" if allowed >= everywhere else f"{allowed} of {everywhere} CPUs"
    )
    governor = usable.frequency_settings(cpus, system.root / "sys/devices/system/cpu").get("cpu_governor")
    if governor is None:
        yield Diagnosis("governor", "not reported", "by the system, as in most virtual machines")
    elif governor == "performance":
        yield Diagnosis("governor", "ok", governor)
    else:
        why = f"{governor}: clocks follow the load, and times with them"
        yield Diagnosis("governor", "warning", why, "Run sudo cpupower frequency-set -g performance.")
    times = cpu_times(frozenset(cpus), system.proc)
    if times is None or times.busy_s + times.stolen_s <= 0:
        yield Diagnosis("steal", "not reported", "by the system")
    else:
        share = times.stolen_s / (times.busy_s + times.stolen_s)
        why = f"{percent(share) if share else 'nothing'} of the CPU time since the start went to other machines"
        remedy = "Compare in turns (roofline ab), or measure on a machine of your own."
        stolen = share > MOST_STOLEN
        yield Diagnosis("steal", "warning" if stolen else "ok", why, remedy if stolen else None)


def _disk(results: Path) -> Diagnosis:
    """Is there room for results? The folder need not be there yet."""
    folder = next(folder for folder in (results, *results.parents) if os.path.exists(folder))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        return Diagnosis("disk", "no", f"{folder} can't be written to", "Name another folder with --roofline-results.")
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Diagnosis("disk", "warning", f"{folder} does not tell how full it is ({error.strerror})")
    why = f"{scaled(free, 'B')} left for {results}"
    if free < LEAST_FREE_BYTE:
        return Diagnosis("disk", "warning", why, "Make room, or name another folder with --roofline-results.")
    return Diagnosis("disk", "ok", why)
