"""Run one program under ncu: its command and environment, what ncu's own words mean, and if there is anything to read.

ncu ends with code 0 after most failures, and says the reason in its log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from pytest_roofline.device.system import PERFMON, SYS_ADMIN, Ended, System
from pytest_roofline.profilers.diagnosis import CountersStatus, Diagnosis, Status
from roofline.profilers.ncu.installation import ASK

TOLD_LINES = 5
"""Of what a program that failed has written last."""

_ITS_CODE = "The application returned an error code"

_BEFORE_THE_TEST: tuple[Status, ...] = ("permission_denied", "unsupported_platform", "lock_conflict")
"""What explains why a test under ncu failed, and is not explained by it."""


class NotCounted(Exception):
    """There are no counters. ``status`` as in `roofline.schema.record.Counters`."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a program under ncu left. ``log`` has the CSV; ``complaint`` is what ncu said of itself, by `judge`."""

    ended: Ended
    log: Path
    limit_s: float
    complaint: Diagnosis

    def refuse(self, problem: str | None) -> None:
        """See that there is something to read.

        What ncu lacks on this chip is no reason to drop the rest: `counters.of_step` sees what there is.

        :param problem: why the program took no step that was counted, empty where it did; None: it ended before.
        :raises NotCounted: there isn't.
        """
        status, reason = self.complaint.status, self.complaint.reason
        if status in _BEFORE_THE_TEST:
            raise NotCounted(status, reason)
        if self.ended.fault == "timeout":
            raise NotCounted("timeout", f"under ncu it had not ended after {self.limit_s:.3g} s")
        if self.ended.fault == "cannot_start":
            raise NotCounted("not_found", f"ncu can't be started: {self.ended.reason}")
        if problem:
            raise NotCounted("failed", f"the test failed under ncu: {problem}")
        if problem is None and status in ("ok", "no_kernels"):
            raise NotCounted("failed", self._last_words())
        if problem is None or status not in ("ok", "missing_metric"):
            raise NotCounted(status, reason)
        if not self.log.exists():
            raise NotCounted("failed", f"ncu wrote no file, and ended with exit code {self.ended.code}")

    def _last_words(self) -> str:
        """Say how the program ended, and what it wrote last."""
        code = self.ended.code
        lines = [line for line in self.ended.text.splitlines() if line.strip()][-TOLD_LINES:]
        wrote = " / ".join(line.strip() for line in lines) or "nothing"
        return f"its process ended with exit code {code} before the step; it wrote last: {wrote}"


_FLAGS = (
    *("--profile-from-start", "off"),
    *("--target-processes", "all"),
    *("--replay-mode", "kernel"),
    # The clocks that the roofs were measured at, and the caches as the step before leaves them.
    *("--clock-control", "none"),
    *("--cache-control", "none"),
    *("--page", "raw"),
    *("--print-units", "base"),
    "--csv",
)
"""Counts only between cudaProfilerStart and cudaProfilerStop, of whichever process calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ncu:
    """A usable ncu, on a device of this compute capability."""

    path: Path
    version: str | None
    system: System
    compute_capability: str | None = None

    @property
    def source(self) -> str:
        """For a record."""
        return f"ncu {self.version}" if self.version else "ncu"

    def run(
        self,
        application: Sequence[str],
        metrics: Sequence[str],
        *,
        log: Path,
        variables: Mapping[str, str],
        limit_s: float,
        cwd: Path | None = None,
    ) -> Ran:
        """Let a program run under ncu to its end, or to the limit: then it and all it started are killed.

        :param log: the file for the CSV; temporary files go into its folder, which is to be private.
        :param variables: more of the environment's.
        """
        own = {name: value for name, value in self.system.environment.items() if not name.startswith("PYTEST_")}
        ended = self.system.run(
            (str(self.path), *_FLAGS, "--log-file", str(log), "--metrics", ",".join(metrics), *application),
            timeout_s=limit_s,
            # In other locales ncu groups digits and separates decimals in other ways. It serialises on one file in
            # TMPDIR, which another user may own in a shared one.
            environment={**own, "LC_ALL": "C", "TMPDIR": str(log.parent), **variables},
            cwd=cwd,
        )
        said = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.exists() else []
        # Beside the CSV. That a test failed is the test's to say, and no failure of ncu's.
        words = [line for line in said if not line.startswith('"') and _ITS_CODE not in line]
        complaint = judge("\n".join((*words, ended.text)), self.system, self.path)
        return Ran(ended=ended, log=log, limit_s=limit_s, complaint=complaint)


ALLOW_IN_WINDOWS = (
    "Allow all users in Windows' NVIDIA Control Panel (Developer, Manage GPU Performance Counters). It takes a driver "
    "of 545 or newer, and an ncu of its time."
)
"""From the system requirements of Nsight Compute 2024.1."""

ERROR_CODE = "ERR_NVGPUCTRPERM"
"""What every tool of NVIDIA's says where the driver refuses its counters."""

_LOCK = re.compile(r"InterprocessLockFailed|nsight-compute-lock")
_LOCK_FILE = re.compile(r"[^\s\"']*nsight-compute-lock")
_BUSY = re.compile(r"driver resource was unavailable", re.IGNORECASE)
_NOT_HERE = re.compile(r"profiling is not supported on|no supported gpus|windows subsystem for linux", re.IGNORECASE)
_NOT_LOADED = re.compile(r"LibraryNotLoaded")
_NO_METRIC = re.compile(r"failed to find metric|no metrics to collect found", re.IGNORECASE)
_NO_KERNELS = re.compile(r"no kernels were profiled", re.IGNORECASE)

_SPOKEN = re.compile(r"==(ERROR|WARNING)==[ \t]*(.*)")
"""A line of ncu's; anything else may be the application's."""

_ANNOUNCES = "An error was reported by the"
"""Beginning of an error that only announces the next one."""


NO_METRIC_REMEDY = f"Use an ncu that has this GPU in its --list-chips. {ASK}"
"""What to do where ncu or the GPU has no metric of a name."""


def judge(text: str, system: System, ncu: Path | None = None) -> Diagnosis:
    """Work out what ncu's words tell. ``ok`` says that it complains of nothing: kernels and values are for its CSV's
    reader.

    :param text: its log, or its log and all that was printed.
    :param ncu: its path, which a remedy has to name.
    """
    spoken = [(kind, " ".join(line.split())) for kind, line in _SPOKEN.findall(text)]
    errors = [line for kind, line in spoken if kind == "ERROR" and line]
    words = "\n".join(line for _, line in spoken)
    if _LOCK.search(text):
        found = _LOCK_FILE.search(text)
        return _ncu(
            "lock_conflict",
            f"ncu can't have its lock file{f' {found.group()}' if found else ''} (InterprocessLockFailed): another "
            "user left it there, or another ncu is running",
            "Set TMPDIR to a folder that is yours alone.",
        )
    if _BUSY.search(words):
        return _ncu(
            "lock_conflict",
            "another program holds the GPU's counters, DCGM as a rule",
            "Pause it (dcgmi profile --pause) and try again.",
        )
    if ERROR_CODE in text:
        why = f"the driver gives its counters to administrators only ({ERROR_CODE})"
        return _ncu("permission_denied", why, permission_remedy(system, ncu))
    # Older drivers and versions of ncu say in WSL2 that they can't, or only that they saw no kernel.
    why = "ncu can't count in this WSL2"
    wsl = _ncu("unsupported_platform", why, ALLOW_IN_WINDOWS) if system.wsl else None
    if _NOT_HERE.search(words):
        return wsl or _ncu("unsupported_platform", f"ncu can't profile this GPU: {_first(errors)}")
    if _NOT_LOADED.search(words):
        return _not_loaded(system)
    if _NO_METRIC.search("\n".join(errors)):
        why = f"this ncu or this GPU lacks a metric that was asked for: {_first(errors)}"
        return _ncu("missing_metric", why, NO_METRIC_REMEDY)
    if _NO_KERNELS.search(words):
        why = "ncu saw no kernel: they ran in another process, a filter left none over, or nothing ran on the GPU"
        return wsl or _ncu("no_kernels", why)
    return _ncu("failed", f"ncu: {_first(errors)}") if errors else _ncu("ok")


def _ncu(status: CountersStatus, why: str = "", remedy: str | None = None) -> Diagnosis:
    return Diagnosis("ncu", status, why, remedy)


def _first(errors: list[str]) -> str:
    """The first error that tells something."""
    return next((line for line in errors if not line.startswith(_ANNOUNCES)), "".join(errors[:1]) or "it doesn't say")


def permission_remedy(system: System, ncu: Path | None = None) -> str:
    """Say how this user gets at the counters here (NVIDIA, "ERR_NVGPUCTRPERM: Permission issue with Performance
    Counters").

    Commands name the interpreter and ncu by their absolute paths: sudo replaces PATH.
    """
    if system.wsl:
        return ALLOW_IN_WINDOWS
    if system.platform == "win32":
        return (
            "Use an administrator's prompt, or allow all users in the NVIDIA Control Panel "
            "(Developer, Manage GPU Performance Counters)."
        )
    if system.container is not None:
        return (
            "Start the container with --cap-add=SYS_ADMIN, or load the driver on its host with the module option "
            "NVreg_RestrictProfilingToAdminUsers=0; on a rented machine only its owner can do either: ask the host."
        )
    if system.uid == 0 and system.capable(SYS_ADMIN) is False and not system.capable(PERFMON):
        return "This is root without the capability SYS_ADMIN: leave the sandbox that took it away."
    if system.uid == 0:
        return "This is root already; on a virtual GPU whoever runs its host has to allow profiling: ask them."
    words = [str(system.python), "-m", "pytest"]
    if ncu is not None:
        words = ["env", f"ROOFLINE_NCU={ncu}", *words]
    return (
        f"Run as root: sudo {' '.join(map(quote, words))} ...; or allow all users for good: put the line 'options "
        "nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file of /etc/modprobe.d and restart the machine."
    )


def _not_loaded(system: System) -> Diagnosis:
    """ncu finds nothing in the driver that would count. Inside of gVisor that is so unless its host allows profiling
    (github.com/google/gvisor, pull requests 12945 and 14055), elsewhere where ncu is older than the GPU.
    """
    if system.gvisor:
        return _ncu(
            "unsupported_platform",
            "the sandbox (gVisor) keeps the GPU's counters from all that runs in it (LibraryNotLoaded)",
            "Nothing inside changes that. Its host can, with a gVisor of August 2026 or later, started with "
            "--nvproxy-allowed-driver-capabilities=all,profiling: ask them.",
        )
    return _ncu(
        "unsupported_platform",
        "ncu finds no counters in this GPU's driver (LibraryNotLoaded)",
        "Use an ncu that has this GPU in its --list-chips. In a sandbox, as on some rented machines, only the host can "
        "allow it: ask them.",
    )
