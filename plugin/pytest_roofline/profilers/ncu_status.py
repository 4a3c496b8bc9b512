"""What ncu's own words mean: it ends with code 0 after most failures, and says the reason in its log."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import Literal

from pytest_roofline.profilers.system import PERFMON, SYS_ADMIN, System

Status = Literal[
    "ok",
    "not_requested",
    "permission_denied",
    "unsupported_platform",
    "not_found",
    "no_kernels",
    "missing_metric",
    "timeout",
    "lock_conflict",
    "failed",
]
"""As `roofline.record.Counters` has it."""

WSL = "the GPU's counters are not available in WSL2: profile on Linux without Windows below it"

_LOCK = re.compile(r"InterprocessLockFailed|nsight-compute-lock")
_LOCK_FILE = re.compile(r"\S*nsight-compute-lock")
_BUSY = re.compile(r"driver resource was unavailable", re.IGNORECASE)
_DENIED = re.compile(r"ERR_NVGPUCTRPERM")
_NOT_HERE = re.compile(
    r"profiling is not supported on|no supported gpus|unsupported gpu|Windows Subsystem for Linux", re.IGNORECASE
)
_NO_METRIC = re.compile(
    r"failed to find metric|no metrics to collect found|unable to access the following|did not match any metric",
    re.IGNORECASE,
)
_NO_KERNELS = re.compile(r"no kernels were profiled", re.IGNORECASE)

_SPOKEN = re.compile(r"==(ERROR|WARNING)==\s*(.*)")
"""A line of ncu's; anything else may be the application's."""

_LED_TO = ("An error was reported by the driver",)
"""Beginnings of errors that only announce the next one."""


def classify(text: str, system: System, ncu: Path | None = None) -> tuple[Status, str]:
    """The status that ncu's words tell, and the reason with what helps; ``ok`` and nothing where it complains of none.

    ``ok`` says only that: whether there are kernels and values is for the reader of its CSV.

    :param text: its log, or its log and all that was printed.
    :param ncu: its path, which a remedy has to name.
    """
    errors = [line for kind, line in _SPOKEN.findall(text) if kind == "ERROR" and line]
    spoken = "\n".join(line for _, line in _SPOKEN.findall(text))
    if _LOCK.search(text):
        return "lock_conflict", _locked(text)
    if _BUSY.search(spoken):
        return (
            "lock_conflict",
            "another program holds the GPU's counters, DCGM as a rule: pause it (dcgmi profile --pause) and try again",
        )
    if _DENIED.search(text):
        return denied(system, ncu)
    if _NOT_HERE.search(spoken):
        return "unsupported_platform", WSL if system.wsl else f"ncu can't profile this GPU: {_first(errors, spoken)}"
    if _NO_METRIC.search("\n".join(errors)):
        return "missing_metric", f"this ncu or chip lacks a metric that was asked for: {_first(errors, spoken)}"
    if _NO_KERNELS.search(spoken):
        if system.wsl:
            return "unsupported_platform", WSL
        return (
            "no_kernels",
            "ncu saw no kernel: they ran in another process, a filter left none over, or nothing ran on the GPU",
        )
    if errors:
        return "failed", f"ncu: {_first(errors, spoken)}"
    return "ok", ""


def denied(system: System, ncu: Path | None = None) -> tuple[Status, str]:
    """The driver refused its counters: why, and what helps in this situation."""
    if system.wsl:
        return "unsupported_platform", WSL
    return (
        "permission_denied",
        f"the driver gives its counters to administrators only (ERR_NVGPUCTRPERM). {permission_remedy(system, ncu)}",
    )


def permission_remedy(system: System, ncu: Path | None = None) -> str:
    """How this user gets at the counters here (NVIDIA, "ERR_NVGPUCTRPERM: Permission issue with Performance Counters").

    Commands name the interpreter and ncu by their absolute paths: sudo replaces PATH.
    """
    if system.platform == "win32":
        return (
            "Use an administrator's prompt, or allow all users in the NVIDIA Control Panel "
            "(Developer, Manage GPU Performance Counters)."
        )
    if system.container is not None:
        return (
            "Start the container with --cap-add=SYS_ADMIN, or load the driver on its host with the module option "
            "NVreg_RestrictProfilingToAdminUsers=0; on a rented machine only its owner can do either: ask for it."
        )
    if system.uid == 0 and system.capable(SYS_ADMIN) is False and not system.capable(PERFMON):
        return "This is root without the capability SYS_ADMIN: leave the sandbox that took it away."
    if system.uid == 0:
        return "This is root already: on a virtual GPU, whoever runs its host has to allow profiling: ask for it."
    words = [str(system.python), "-m", "pytest"]
    if ncu is not None:
        words = ["env", f"ROOFLINE_NCU={ncu}", *words]
    return (
        f"Run as root: sudo {' '.join(map(quote, words))} ...; or allow all users for good: put the line 'options "
        "nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file of /etc/modprobe.d and restart the machine."
    )


def _locked(text: str) -> str:
    found = _LOCK_FILE.search(text)
    where = f" {found.group().strip(chr(34))}" if found else ""
    return (
        f"ncu can't have its lock file{where}: another user left it there, or another ncu is running. "
        "Set TMPDIR to a folder that is yours alone."
    )


def _first(errors: list[str], spoken: str) -> str:
    """The error that tells something; the first line of all where there is no error."""
    lines = [line for line in errors if not line.startswith(_LED_TO)] or errors or spoken.splitlines()
    return lines[0].strip()
