"""What ncu's words mean, and what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.profilers.ncu.ncu_run import judge
from tests.plugin.profilers.stubs import Stubs

NCU = Path("/opt/nvidia/nsight-compute/2025.3.1/ncu")
DENIED = (
    "==PROF== Connected to process 1 (/usr/bin/python3)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0.\n"
)
NO_KERNELS = "==WARNING== No kernels were profiled.\n"
MEASUREMENT = "==ERROR== An error was reported by the counter measurement library:\n"
NOT_LOADED = (
    f"{MEASUREMENT}"
    "==ERROR== Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver library is loaded.\n"
    f"==ERROR== The application returned an error code (9).\n{NO_KERNELS}"
)
DRIVER = "==ERROR== An error was reported by the driver:\n"
BUSY = "==ERROR== Profiling failed because a driver resource was unavailable.\n"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", "ok", ""),
        ('==PROF== Profiling "gemm": 0%....100% - 1 pass\n"ID","Kernel Name"\n"0","gemm"\n', "ok", ""),
        ("==WARNING== Found outstanding GPU clock reset, trying to revert...Success.\n", "ok", ""),
        # Alternatives are asked for: one that this version doesn't know costs only its own column.
        ("==WARNING== Failed to find metric x\n", "ok", ""),
        # What the application prints is not what ncu found.
        ("epoch 1: no kernels were profiled, failed to find metric, driver resource was unavailable\n", "ok", ""),
        (NO_KERNELS, "no_kernels", "ncu saw no kernel"),
        (
            "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check permission.\n",
            "lock_conflict",
            "ncu can't have its lock file /tmp/nsight-compute-lock (",
        ),
        # With the lock solved the rest shows itself.
        (f"{DENIED}InterprocessLockFailed\n", "lock_conflict", "ncu can't have its lock file ("),
        (f"{DRIVER}{BUSY}", "lock_conflict", "another program holds the GPU's counters"),
        (
            r"==ERROR== Failed to find metric regex:^flop_count_sp\.(sum|avg)$",
            "missing_metric",
            "this ncu or this GPU lacks a metric that was asked for: Failed to find metric regex:^flop_count_sp",
        ),
        (
            "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n",
            "unsupported_platform",
            "ncu can't profile this GPU: Profiling is not supported on device 0.",
        ),
        (f"{DRIVER}==ERROR== Cuda driver is not compatible.\n", "failed", "ncu: Cuda driver is not compatible."),
        ("==ERROR== The application returned an error code (1).\n", "failed", "ncu: The application returned an error"),
        ("==ERROR== \n==ERROR== An error was reported by the driver\n", "failed", "ncu: An error was reported by the"),
        (f"{MEASUREMENT}==ERROR== Out of space.\n", "failed", "ncu: Out of space."),
    ],
)
def test_each_status(tmp_path: Path, text: str, status: str, reason: str) -> None:
    """By the words of ncu's own lines."""
    found = judge(text, Stubs(tmp_path).system())
    assert found.status == status
    assert found.why.startswith(reason)


WSL = {"kernel_release": "6.6.87.2-microsoft-standard-WSL2"}
NOT_IN_WSL = "==ERROR== Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux (WSL).\n"


@pytest.mark.parametrize(
    ("text", "changes", "status", "remedy"),
    [
        # sudo replaces PATH: a command that leaves the paths out fails for the next reason.
        (
            DENIED,
            {"python": Path("/home/me/my env/python")},
            "permission_denied",
            f"sudo env ROOFLINE_NCU={NCU} '/home/me/my env/python' -m pytest ...; or allow all users for good",
        ),
        (
            DENIED,
            {"environment": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "uid": 0},
            "permission_denied",
            "Start the container with --cap-add=SYS_ADMIN",
        ),
        (DENIED, {"platform": "win32", "uid": None}, "permission_denied", "Use an administrator's prompt"),
        (DENIED, {"uid": 0}, "permission_denied", "This is root already"),
        # In gVisor only its host can help; elsewhere the same words tell of an ncu older than the GPU.
        (NOT_LOADED, {"kernel_release": "4.19.0-gvisor"}, "unsupported_platform", "Nothing inside changes that."),
        (NOT_LOADED, {"kernel_release": "4.4.0"}, "unsupported_platform", "Nothing inside changes that."),
        (NOT_LOADED, {"kernel_release": "4.4.0-210-generic"}, "unsupported_platform", "Use an ncu that has this GPU"),
        # In WSL2 it is Windows that allows it; older versions refuse, or say only that they saw no kernel.
        (DENIED, WSL, "permission_denied", "Allow all users in Windows' NVIDIA Control Panel"),
        (NO_KERNELS, WSL, "unsupported_platform", "a driver of 545 or newer"),
        (NOT_IN_WSL, WSL, "unsupported_platform", "a driver of 545 or newer"),
    ],
)
def test_each_situation_has_its_remedy(
    tmp_path: Path, text: str, changes: dict[str, Any], status: str, remedy: str
) -> None:
    """By who runs it, and where."""
    found = judge(text, Stubs(tmp_path).system(**changes), NCU)
    assert found.status == status
    assert remedy in (found.remedy or "")


def test_root_without_its_capabilities(tmp_path: Path) -> None:
    """A sandbox may take them away."""
    system = Stubs(tmp_path).system(uid=0)
    (system.proc / "self").mkdir()
    (system.proc / "self" / "status").write_text("CapEff:\t0000000000000000\n")
    assert judge(DENIED, system).reason.endswith("leave the sandbox that took it away.")
