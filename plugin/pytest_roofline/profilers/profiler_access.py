"""Tell whether ncu, nsys and perf are usable here, before any test: nobody waits for what can't be had."""

from __future__ import annotations

import csv
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_roofline.device.system import PERFMON, SYS_ADMIN, Ended, System
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.diagnosis import Diagnosis
from pytest_roofline.profilers.ncu import probe_kernel
from pytest_roofline.profilers.ncu.ncu_run import ALLOW_IN_WINDOWS, judge, permission_remedy

PROBE_S = 20.0
"""Time in which ncu has to count one kernel."""

PROBE_METRIC = "gpu__time_duration.sum"
"""A counter that every chip has, from 7.5 to 12.1."""

_PROBE_FLAGS = (
    *("--target-processes", "all", "--clock-control", "none", "--cache-control", "none"),
    *("--print-units", "base", "--page", "raw", "--csv", "--metrics", PROBE_METRIC),
)

_PERF_DENIED = re.compile(
    r"access to performance monitoring|may not have permission|no permission|permission denied|operation not permitted",
    re.IGNORECASE,
)
_PERF_EVENTS = ("cycles", "instructions")

_PARANOID_MOST = 2
"""The highest perf_event_paranoid at which a user may count own programs (Linux, Documentation/admin-guide/sysctl); a
higher level, which some distributions have, allows nothing."""


def check_ncu(system: System, asked: Path | None = None) -> Diagnosis:
    """Does ncu count here? Find it and let it count one tiny kernel, in at most `PROBE_S`.

    :param asked: the path that was given, which then is the only place.
    """
    if system.platform == "darwin":
        why = "ncu counts NVIDIA GPUs, and macOS has none"
        return Diagnosis("ncu", "unsupported_platform", why)
    return _tried(tools.find(tools.NCU, system, asked), _count_a_kernel, system)


def check_nsys(system: System, asked: Path | None = None) -> Diagnosis:
    """Does nsys start? It needs no permission to follow CUDA."""
    if system.platform == "darwin":
        why = "nsys follows programs on Linux and Windows"
        return Diagnosis("nsys", "unsupported_platform", why)
    tool = tools.find(tools.NSYS, system, asked)
    return replace(tool, why="it starts") if tool.usable else tool


def check_perf(system: System, asked: Path | None = None) -> Diagnosis:
    """Does perf count the cycles and instructions of a program that does nothing?"""
    if not system.platform.startswith("linux"):
        return Diagnosis("perf", "unsupported_platform", "perf is a part of Linux")
    return _tried(tools.find(tools.PERF, system, asked), _count_cycles, system)


def check_permission(system: System, ncu: Path | None = None) -> Diagnosis:
    """Who may read the GPU's counters by the driver's own settings, whether or not there is an ncu?

    Status ``not_found``: there is no driver that would say. ``sudo`` runs need no capability of this process, so the
    probe of `check_ncu` is what counts.

    :param ncu: its path, which a remedy has to name.
    """

    text = system.read("driver/nvidia/params")
    if system.wsl:
        why = "in WSL2 Windows decides who may read them"
        return Diagnosis("counters", "not reported", why, ALLOW_IN_WINDOWS)
    if text is None:
        return Diagnosis("counters", "not_found", "no NVIDIA driver tells who may read them")
    found = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    if found is None or found.group(1) == "0":
        setting = f"RmProfilingAdminOnly: {found.group(1)}" if found else "the driver has no RmProfilingAdminOnly"
        return Diagnosis("counters", "ok", f"any user may read them ({setting})")
    why = "administrators only (RmProfilingAdminOnly: 1)"
    for name, number in (("SYS_ADMIN", SYS_ADMIN), ("PERFMON, which drivers from 565 on accept", PERFMON)):
        if system.capable(number):
            return Diagnosis("counters", "ok", f"{why}; this process has the capability {name}")
    return Diagnosis("counters", "permission_denied", f"{why}, and this is none", permission_remedy(system, ncu))


def _tried(tool: Diagnosis, probe: Callable[[Path, System], Diagnosis], system: System) -> Diagnosis:
    """A program that was found, and what comes of trying it."""
    if not tool.usable or tool.path is None:
        return tool
    tried = probe(tool.path, system)
    return replace(tool, status=tried.status, why=tried.why, remedy=tried.remedy)


def _count_a_kernel(ncu: Path, system: System) -> Diagnosis:
    """Try `probe_kernel` under ncu."""

    try:
        # ncu keeps its lock file in TMPDIR: one in a folder that all users share may belong to somebody else.
        with tempfile.TemporaryDirectory(prefix="roofline-", ignore_cleanup_errors=True) as folder:
            log = Path(folder) / "ncu.csv"
            probe = Path(probe_kernel.__file__).absolute()
            ended = system.run(
                [ncu, *_PROBE_FLAGS, "--log-file", log, system.python, "-I", "-S", probe],
                timeout_s=PROBE_S,
                environment={**system.environment, "TMPDIR": folder, "LC_ALL": "C"},
            )
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    except OSError as error:
        return Diagnosis("ncu", "failed", f"no temporary folder for ncu can be had ({error.strerror or error})")
    if ended.fault == "timeout":
        remedy = "See in nvidia-smi whether another program holds the GPU."
        return Diagnosis("ncu", "timeout", f"ncu had not counted one tiny kernel after {PROBE_S:g} s", remedy)
    if ended.fault == "cannot_start":
        return Diagnosis("ncu", "failed", f"ncu can't be started ({ended.reason})")
    answers = list(_answers(said)) or list(_answers(ended.out))
    if any(map(_is_number, answers)):
        return Diagnosis("ncu", "ok", f"it counted a kernel ({PROBE_METRIC})")
    complaint = judge(f"{said}\n{ended.text}", system, ncu)
    if complaint.status in ("ok", "failed", "no_kernels"):
        # Of a probe that failed ncu says only that there was no kernel.
        for line in ended.err.splitlines():
            if line.startswith(probe_kernel.NO_GPU):
                why = f"no GPU to count: {line.removeprefix(probe_kernel.NO_GPU)}"
                return Diagnosis("ncu", "unsupported_platform", why)
            if line.startswith(probe_kernel.SAYS):
                return Diagnosis(
                    "ncu", "failed", f"no kernel could be launched: {line.removeprefix(probe_kernel.SAYS)}"
                )
    if not complaint.usable:
        return complaint
    if answers:
        return Diagnosis("ncu", "missing_metric", f"ncu has no value for {PROBE_METRIC}: {answers[0]!r}")
    return Diagnosis("ncu", "failed", f"ncu ended with code {ended.code} and gave no counters{_in_its_words(ended)}")


def _answers(text: str) -> Iterator[str]:
    """Read what stands under the probe's metric, kernel by kernel."""
    try:
        rows = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    except csv.Error:
        return
    yield from (row[PROBE_METRIC] or "" for row in rows if row.get("Kernel Name") and PROBE_METRIC in row)


def _count_cycles(perf: Path, system: System) -> Diagnosis:
    """Try a program that does nothing under ``perf stat``."""

    ended = system.run(
        [perf, "stat", "-x", ",", "-e", ",".join(_PERF_EVENTS), "--", system.python, "-I", "-S", "-c", ""],
        timeout_s=PROBE_S,
        environment={**system.environment, "LC_ALL": "C"},
    )
    if ended.fault == "timeout":
        return Diagnosis("perf", "timeout", f"perf had not counted a program that does nothing after {PROBE_S:g} s")
    if ended.fault == "cannot_start":
        return Diagnosis("perf", "failed", f"perf can't be started ({ended.reason})")
    counts = [line.split(",")[0] for line in ended.text.splitlines() if any(one in line for one in _PERF_EVENTS)]
    if any(map(_is_number, counts)):
        return Diagnosis("perf", "ok", "it counts cycles and instructions")
    if _PERF_DENIED.search(ended.text):
        level = (system.read("sys/kernel/perf_event_paranoid") or "unknown").strip()
        remedy = f"Run sudo sysctl kernel.perf_event_paranoid={_PARANOID_MOST}."
        if system.container is not None:
            remedy = "Start the container with --cap-add=PERFMON, or ask who runs its host to do so."
        why = f"the kernel lets this user count nothing (perf_event_paranoid is {level})"
        return Diagnosis("perf", "permission_denied", why, remedy)
    if any(count in ("<not supported>", "<not counted>") for count in counts):
        return Diagnosis(
            "perf",
            "missing_metric",
            "this machine counts no processor events, as is usual in a virtual machine",
            "Measure on the machine itself, or have its host pass the counters on.",
        )
    return Diagnosis("perf", "failed", f"perf ended with code {ended.code}{_in_its_words(ended)}")


def _in_its_words(ended: Ended) -> str:
    return f": {ended.first_line[:100]!r}" if ended.first_line else ""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace(",", "")))
    except ValueError:
        return False
