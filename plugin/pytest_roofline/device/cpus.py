"""The CPUs that the process may use, as it was started and after OpenMP has bound its threads; and their clocks.

Under variables such as ``OMP_PROC_BIND`` the library that torch loads binds the main thread to one place, and each of
its own threads to another. The main thread's CPUs are then not the process's. What it had is read as this module is
imported, before torch is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_roofline.device import cgroup

if TYPE_CHECKING:
    from roofline.schema.record import Flag

VARIABLES = ("GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_HW_SUBSET", "OMP_PLACES", "OMP_PROC_BIND", "OMP_NUM_THREADS")
"""Of the environment: by these, OpenMP libraries choose how many threads run where."""

INSTRUCTIONS = ("ATEN_CPU_CAPABILITY", "MKL_DEBUG_CPU_TYPE", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
"""Of the environment: by these, torch's kernels and its libraries do without some of the CPU's instructions."""

TASKS = Path("/proc/self/task")

_FILLS_ALL_THREADS = 1 << 20
"""Elements of an operation that torch divides among its threads."""


def of_main_thread() -> frozenset[int]:
    """Numbers of the CPUs that the main thread may run on now, and what it starts after it."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(os.getpid()))
    return frozenset(range(os.cpu_count() or 1))


AT_START = of_main_thread()


def affinity(tasks: Path = TASKS) -> frozenset[int]:
    """Numbers of the CPUs that this process may run on: where its threads are bound, those of all of them.

    :param tasks: has a folder for each thread.
    """
    own = of_main_thread()
    torch = sys.modules.get("torch")
    if own >= AT_START or torch is None:
        return own
    torch.ones(_FILLS_ALL_THREADS).add_(1)  # threads there are only once something was divided among them
    found = set(own)
    for task in os.listdir(tasks) if tasks.is_dir() else ():
        try:
            found |= os.sched_getaffinity(int(task))
        except OSError:
            continue  # it has ended
    return frozenset(found & AT_START)


def effective_cpus() -> int:
    """Whole CPUs this process can use: its affinity, cut by a container's bandwidth quota, at least 1."""
    quota, allowed = cgroup.quota_cpus(), len(affinity())
    return max(1, allowed if quota is None else min(allowed, int(quota)))


def variables(names: Iterable[str] = VARIABLES) -> dict[str, str]:
    """Those of the environment's variables that are set."""
    return {name: os.environ[name] for name in names if name in os.environ}


def binding() -> str | None:
    """Tell how far the main thread's CPUs are fewer than at the start, in words; None where they aren't."""
    own = of_main_thread()
    if own >= AT_START:
        return None
    told = ", ".join(f"{name}={value}" for name, value in variables().items()) or "a library that was imported"
    return (
        f"importing torch left the main thread on {len(own)} of {len(AT_START)} CPUs ({told}): torch's threads use "
        f"{len(affinity())}, loader workers and other programs that it starts use {len(own)}"
    )


def binding_flags() -> tuple[Flag, ...]:
    """A flag for a main thread that was bound after the start."""
    from roofline.schema.record import Flag  # not above: everybody's pytest imports this module

    told = binding()
    return () if told is None else (Flag(name="bound_threads", evidence=told),)


def keep_to(numbers: frozenset[int], tasks: Path = TASKS) -> None:
    """Keep the process, with all threads that it has by now, to these CPUs. What it starts later stays on them.

    :raises OSError: the system doesn't let it use one of them.
    """
    global AT_START  # noqa: PLW0603 - from now on these are the process's CPUs
    for task in [int(name) for name in os.listdir(tasks)] if tasks.is_dir() else [0]:
        try:
            os.sched_setaffinity(task, numbers)
        except ProcessLookupError:
            continue  # it has ended
    AT_START = numbers


CPUS = Path("/sys/devices/system/cpu")

_WORDS = {"cpu_governor": "scaling_governor", "cpu_frequency_driver": "scaling_driver"}
_KILOHERTZ = {
    "cpu_scaling_least_hz": "scaling_min_freq",
    "cpu_scaling_most_hz": "scaling_max_freq",
    "cpu_hardware_most_hz": "cpuinfo_max_freq",
}


def frequency_settings(cpus: Iterable[int], folder: Path = CPUS) -> dict[str, str | float | bool]:
    """Read what the system tells of it, in most virtual machines nothing.

    Where CPUs differ, words are listed, and clocks are the lowest.

    :param cpus: numbers of those to look at.
    """
    policies = [folder / f"cpu{number}" / "cpufreq" for number in sorted(cpus)]
    found: dict[str, str | float | bool] = {}
    for name, file in _WORDS.items():
        words = {word for policy in policies if (word := _text(policy / file)) is not None}
        if words:
            found[name] = ", ".join(sorted(words))
    for name, file in _KILOHERTZ.items():
        clocks = [int(text) for policy in policies if (text := _text(policy / file)) is not None and text.isdecimal()]
        if clocks:
            found[name] = 1e3 * min(clocks)
    boost = _boost(folder)
    if boost is not None:
        found["cpu_boost"] = boost
    return found


def _boost(folder: Path) -> bool | None:
    """Tell whether clocks may go above the rated one: intel_pstate says whether they may not."""
    forbidden, allowed = _text(folder / "intel_pstate" / "no_turbo"), _text(folder / "cpufreq" / "boost")
    if forbidden is not None:
        return forbidden == "0"
    return None if allowed is None else allowed == "1"


def _text(path: Path) -> str | None:
    """The contents; None where there are none, or they may not be read (some drivers answer ``<unknown>``)."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return None if text in ("", "<unknown>") else text
