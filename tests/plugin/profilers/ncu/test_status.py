"""What ncu's words mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.system import System
from pytest_roofline.profilers.ncu.status import judge
from tests.plugin.profilers.stubs import Stubs

NCU = Path("/opt/nvidia/nsight-compute/2025.3.1/ncu")
DENIED = (
    "==PROF== Connected to process 1 (/usr/bin/python3)\n"
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the "
    "target device 0.\n"
)


def classify(text: str, system: System, ncu: Path | None = None) -> tuple[str, str]:
    found = judge(text, system, ncu)
    return found.status, found.reason


NO_KERNELS = "==WARNING== No kernels were profiled.\n"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", "ok", ""),
        ('==PROF== Profiling "gemm": 0%....100% - 1 pass\n"ID","Kernel Name"\n"0","gemm"\n', "ok", ""),
        ("==WARNING== Found outstanding GPU clock reset, trying to revert...Success.\n", "ok", ""),
        (
            NO_KERNELS,
            "no_kernels",
            "ncu saw no kernel: they ran in another process, a filter left none over, or nothing ran on the GPU",
        ),
        (
            "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check permission.\n",
            "lock_conflict",
            "ncu can't have its lock file /tmp/nsight-compute-lock (InterprocessLockFailed): another user left it "
            "there, or another ncu is running. Set TMPDIR to a folder that is yours alone.",
        ),
        (
            "InterprocessLockFailed",
            "lock_conflict",
            "ncu can't have its lock file (InterprocessLockFailed): another user left it there, or another ncu is "
            "running. Set TMPDIR to a folder that is yours alone.",
        ),
        (
            "==ERROR== An error was reported by the driver:\n==ERROR== Profiling failed because a driver resource was "
            "unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.\n",
            "lock_conflict",
            "another program holds the GPU's counters, DCGM as a rule. Pause it (dcgmi profile --pause) and try again.",
        ),
        (
            r"==ERROR== Failed to find metric regex:^flop_count_sp\.(sum|avg)$",
            "missing_metric",
            "this ncu or this GPU lacks a metric that was asked for: Failed to find metric "
            r"regex:^flop_count_sp\.(sum|avg)$. Use an ncu that has this GPU in its --list-chips. `roofline ncu --ask "
            "CC`, with the GPU's compute capability (8.9), lists those to ask for.",
        ),
        (
            "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n",
            "unsupported_platform",
            "ncu can't profile this GPU: Profiling is not supported on device 0. To find out supported GPUs refer "
            "--list-chips option.",
        ),
        (
            "==ERROR== An error was reported by the driver:\n"
            "==ERROR== Cuda driver is not compatible with Nsight Compute.\n",
            "failed",
            "ncu: Cuda driver is not compatible with Nsight Compute.",
        ),
        (
            "==ERROR== The application returned an error code (1).\n",
            "failed",
            "ncu: The application returned an error code (1).",
        ),
        (
            "==ERROR== \n==ERROR== An error was reported by the driver\n",
            "failed",
            "ncu: An error was reported by the driver",
        ),
        (
            "==ERROR== An error was reported by the counter measurement library:\n==ERROR== Out of space.\n",
            "failed",
            "ncu: Out of space.",
        ),
    ],
)
def test_each_status(tmp_path: Path, text: str, status: str, reason: str) -> None:
    """By the words of ncu's own lines, with what helps where something does."""
    assert classify(text, Stubs(tmp_path).system()) == (status, reason)


def test_only_ncus_lines_count(tmp_path: Path) -> None:
    """What the application prints is not what ncu found."""
    text = "epoch 1: no kernels were profiled, failed to find metric, driver resource was unavailable\n"
    assert classify(text, Stubs(tmp_path).system()) == ("ok", "")


def test_a_lock_is_no_matter_of_permission(tmp_path: Path) -> None:
    """Whatever else is said: with the lock solved the rest shows itself."""
    assert classify(f"{DENIED}InterprocessLockFailed\n", Stubs(tmp_path).system())[0] == "lock_conflict"


def test_a_warning_about_a_metric_is_none(tmp_path: Path) -> None:
    """Alternatives are asked for: one that this version doesn't know costs only its own column."""
    assert classify("==WARNING== Failed to find metric x\n", Stubs(tmp_path).system())[0] == "ok"


def test_the_remedy_names_both_programs_with_their_paths(tmp_path: Path) -> None:
    """sudo replaces PATH: a command that leaves them out fails for the next reason."""
    python = Path("/home/me/my env/bin/python")
    status, reason = classify(DENIED, Stubs(tmp_path).system(python=python), NCU)
    assert status == "permission_denied"
    assert reason == (
        "the driver gives its counters to administrators only (ERR_NVGPUCTRPERM). Run as root: sudo env "
        f"ROOFLINE_NCU={NCU} '/home/me/my env/bin/python' -m pytest ...; or allow all users for good: put the line "
        "'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file of /etc/modprobe.d and restart the machine."
    )
    assert (
        "sudo /usr/bin/python3 -m pytest"
        in classify(DENIED, Stubs(tmp_path).system(python=Path("/usr/bin/python3")))[1]
    )


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        (
            {"environment": {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "uid": 0},
            "Start the container with --cap-add=SYS_ADMIN, or load the driver on its host with the module option "
            "NVreg_RestrictProfilingToAdminUsers=0; on a rented machine only its owner can do either: ask the host.",
        ),
        (
            {"platform": "win32", "uid": None},
            "Use an administrator's prompt, or allow all users in the NVIDIA Control Panel (Developer, Manage GPU "
            "Performance Counters).",
        ),
        (
            {"uid": 0},
            "This is root already; on a virtual GPU whoever runs its host has to allow profiling: ask them.",
        ),
    ],
)
def test_each_situation_has_its_remedy(tmp_path: Path, changes: dict[str, Any], remedy: str) -> None:
    """sudo is no help in a container, on Windows, or to root."""
    status, reason = classify(DENIED, Stubs(tmp_path).system(**changes), NCU)
    assert (status, reason.partition("). ")[2]) == ("permission_denied", remedy)


def test_root_without_its_capabilities(tmp_path: Path) -> None:
    """A sandbox may take them away."""
    system = Stubs(tmp_path).system(uid=0)
    (system.proc / "self").mkdir()
    (system.proc / "self" / "status").write_text("CapEff:\t0000000000000000\n")
    assert classify(DENIED, system)[1].endswith("leave the sandbox that took it away.")


NOT_LOADED = (
    "==ERROR== An error was reported by the counter measurement library:\n"
    "==ERROR== Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver library is loaded.\n"
    "==ERROR== The application returned an error code (9).\n"
    "==WARNING== No kernels were profiled.\n"
)


@pytest.mark.parametrize("release", ["4.19.0-gvisor", "4.4.0"])
def test_in_gvisor_only_the_host_can_help(tmp_path: Path, release: str) -> None:
    """No setting inside of the sandbox does; no other ncu either."""
    assert classify(NOT_LOADED, Stubs(tmp_path).system(kernel_release=release), NCU) == (
        "unsupported_platform",
        "the sandbox (gVisor) keeps the GPU's counters from all that runs in it (LibraryNotLoaded). Nothing inside "
        "changes that. Its host can, with a gVisor of August 2026 or later, started with "
        "--nvproxy-allowed-driver-capabilities=all,profiling: ask them.",
    )


@pytest.mark.parametrize("release", ["6.8.0-31-generic", "4.4.0-210-generic"])
def test_an_ncu_that_is_older_than_the_gpu(tmp_path: Path, release: str) -> None:
    """It fails in the same words, and a newer one helps."""
    status, reason = classify(NOT_LOADED, Stubs(tmp_path).system(kernel_release=release), NCU)
    assert status == "unsupported_platform"
    assert reason.startswith("ncu finds no counters in this GPU's driver (LibraryNotLoaded). Use an ncu that has this ")


@pytest.mark.parametrize(
    "text",
    [
        DENIED,
        NO_KERNELS,
        "==ERROR== Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux (WSL).\n",
    ],
)
def test_wsl_is_no_matter_of_permission(tmp_path: Path, text: str) -> None:
    """Its driver refuses with the same code, older versions with silence: no setting helps, so none is named."""
    system = Stubs(tmp_path).system(kernel_release="6.6.87.2-microsoft-standard-WSL2")
    assert classify(text, system, NCU) == (
        "unsupported_platform",
        "a GPU's counters are not available in WSL2. Profile on Linux that runs on the machine itself.",
    )
