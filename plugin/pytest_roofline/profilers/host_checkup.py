"""What `roofline doctor` says of the machine: where this runs, its CPUs and who else uses them, the disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterable
from pathlib import Path

from pytest_roofline.device import cgroup, cpu_frequency
from pytest_roofline.device import cpus as usable
from pytest_roofline.device.system import System
from pytest_roofline.measuring.telemetry import cpu_times
from pytest_roofline.profilers.checkup import Line
from pytest_roofline.profilers.ncu.status import IN_WSL, OUTSIDE_WSL
from roofline.text.units import percent, scaled

MOST_STOLEN = 0.01
"""Share of CPU time taken by the hypervisor above which results scatter with what others do."""

LEAST_FREE_BYTE = 10**9


def host(system: System, results: Path) -> list[Line]:
    """All of it.

    :param results: the folder that results would go to.
    """
    cpus = usable.affinity()
    return [
        platform_line(system),
        quota_line(cgroup.quota_cpus(system.root / "sys/fs/cgroup", system.proc / "self/cgroup"), len(cpus)),
        affinity_line(len(cpus), os.cpu_count()),
        governor_line(cpus, system.root / "sys/devices/system/cpu"),
        steal_line(frozenset(cpus), system.proc),
        disk_line(results),
    ]


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
