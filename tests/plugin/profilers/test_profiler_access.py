"""Before any test: which profilers are usable here, and if not, why and what helps."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_roofline.device.system import PERFMON, SYS_ADMIN, Ended, System
from pytest_roofline.profilers import profiler_access as access
from pytest_roofline.profilers.diagnosis import CountersStatus
from pytest_roofline.profilers.ncu import probe_kernel
from pytest_roofline.profilers.profiler_access import check_ncu, check_nsys, check_perf, check_permission
from tests.plugin.profilers.stubs import NCU_VERSION, Stubs

WSL = {"kernel_release": "6.6.87.2-microsoft-standard-WSL2"}


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "path")


def machine(stubs: Stubs, *, probe: str = "", **changes: Any) -> System:
    """A machine on which the probe says ``probe`` on standard error, and fails if it says something."""
    return stubs.system(python=stubs.python(probe), **changes)


def test_ncu_counts(stubs: Stubs) -> None:
    """One kernel with a value is the proof; the line says which ncu that is."""
    ncu = stubs.ncu()
    found = check_ncu(machine(stubs))
    assert (found.status, found.usable, found.path, found.version) == ("ok", True, ncu, "2025.3.1.0")
    assert found.line == f"ncu 2025.3.1.0: usable ({ncu})"


def test_the_probe_is_tiny_and_alone(stubs: Stubs) -> None:
    """No package is loaded for it, and its lock file and log are where no other user's are; nothing of them is left."""
    stubs.ncu("lock")
    system = machine(stubs)
    assert check_ncu(system).usable
    (call,) = stubs.calls("ncu")
    python, *arguments = call.wrapped
    assert (python, arguments[:2], Path(arguments[2]).name) == (str(system.python), ["-I", "-S"], "probe_kernel.py")
    assert call.environment["LC_ALL"] == "C"
    assert "PATH" in call.environment
    folder = Path(call.environment["TMPDIR"])
    assert folder not in (Path("/tmp"), Path(tempfile.gettempdir()))
    assert not folder.exists()


@pytest.mark.parametrize(
    ("behaviour", "status", "why"),
    [
        # What ncu's words mean is test_status's; here, that they are read wherever they stand.
        ("permission", "permission_denied", "the driver gives its counters to administrators only (ERR_NVGPUCTRPERM)"),
        ("permission_on_stdout", "permission_denied", "the driver gives its counters to administrators only"),
        ("no_kernels", "no_kernels", "ncu saw no kernel"),
        ("crash", "failed", "ncu ended with code -9 and gave no counters"),
        ("garbage", "failed", "ncu ended with code 0 and gave no counters: "),
        ("silent", "failed", "ncu ended with code 0 and gave no counters"),
    ],
)
def test_ncu_does_not_count(stubs: Stubs, behaviour: Any, status: str, why: str) -> None:
    """Each failure has its status, in one line, however well the program says it ended."""
    stubs.ncu(behaviour)
    found = check_ncu(machine(stubs))
    assert (found.status, found.usable) == (status, False)
    assert found.why.startswith(why)
    assert found.line.startswith(f"ncu 2025.3.1.0: {status}: {why}")
    assert "\n" not in found.line


def test_a_probe_that_hangs_is_stopped(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pre-flight never keeps anybody waiting."""
    monkeypatch.setattr(access, "PROBE_S", 0.5)
    stubs.ncu("hang")
    stubs.perf("hang")
    for found in (check_ncu(machine(stubs)), check_perf(machine(stubs))):
        assert found.status == "timeout"
        assert found.why.endswith(" after 0.5 s")


@pytest.mark.parametrize(
    ("value", "status"), [("n/a", "missing_metric"), ("nan", "missing_metric"), ("", "missing_metric"), ("1,234", "ok")]
)
def test_a_counter_without_a_value(stubs: Stubs, value: str, status: str) -> None:
    """A row is not enough: there has to be a number in it."""
    stubs.ncu(values={access.PROBE_METRIC: value})
    assert check_ncu(machine(stubs)).status == status


@pytest.mark.parametrize(
    ("probe", "status", "why"),
    [
        (
            "roofline probe: no GPU: cuInit failed with 100 (CUDA_ERROR_NO_DEVICE)",
            "unsupported_platform",
            "no GPU to count: cuInit failed with 100 (CUDA_ERROR_NO_DEVICE)",
        ),
        (
            "roofline probe: cuModuleLoadData failed with 2 (CUDA_ERROR_OUT_OF_MEMORY)",
            "failed",
            "no kernel could be launched: cuModuleLoadData failed with 2 (CUDA_ERROR_OUT_OF_MEMORY)",
        ),
    ],
)
def test_what_kept_the_probe_from_launching(stubs: Stubs, probe: str, status: str, why: str) -> None:
    """ncu only says that the program failed and that there was no kernel."""
    stubs.ncu("no_kernels")
    found = check_ncu(machine(stubs, probe=probe))
    assert (found.status, found.why) == (status, why)


def test_windows_decides_on_the_counters_in_wsl(stubs: Stubs) -> None:
    """Its Linux doesn't tell: the probe does."""
    found = check_permission(machine(stubs, **WSL))
    assert found.status == "not reported"
    assert "NVIDIA Control Panel" in found.reason


def test_no_ncu(stubs: Stubs) -> None:
    """The line says what to do."""
    assert check_ncu(machine(stubs)).line == (
        "ncu: not_found: no ncu on PATH or where it is usually installed. Install Nsight Compute (it comes with the "
        "CUDA toolkit), or set ROOFLINE_NCU to its path."
    )


def test_no_temporary_folder(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full or read-only disk is told."""

    def none(**_: Any) -> None:
        raise OSError(30, "Read-only file system")

    stubs.ncu()
    monkeypatch.setattr(tempfile, "TemporaryDirectory", none)
    why = check_ncu(machine(stubs)).why
    assert why == "no temporary folder for ncu can be had (Read-only file system)"


def test_other_platforms(stubs: Stubs) -> None:
    """macOS has none of them, Windows no perf; nothing is looked for."""
    for check in (check_ncu, check_nsys, check_perf):
        assert check(machine(stubs, platform="darwin")).status == "unsupported_platform"
    assert check_perf(machine(stubs, platform="win32")).line == "perf: unsupported_platform: perf is a part of Linux"


def test_perf_counts(stubs: Stubs) -> None:
    """In numbers with a point, whatever the user's language."""
    perf = stubs.perf()
    assert check_perf(machine(stubs)).line == f"perf 6.8.12: usable ({perf})"
    assert stubs.calls("perf")[0].environment["LC_ALL"] == "C"
    stubs.perf(absent=("instructions",))
    assert check_perf(machine(stubs)).usable


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        ("not_supported", "missing_metric", "this machine counts no processor events"),
        ("not_counted", "missing_metric", "this machine counts no processor events"),
        (
            "denied",
            "permission_denied",
            "the kernel lets this user count nothing (perf_event_paranoid is 4). Run sudo sysctl "
            "kernel.perf_event_paranoid=2.",
        ),
        ("silent", "failed", "perf ended with code 0"),
        ("crash", "failed", "perf ended with code -9"),
    ],
)
def test_perf_does_not_count(stubs: Stubs, behaviour: Any, status: str, reason: str) -> None:
    """Each with its reason."""
    stubs.perf(behaviour)
    system = machine(stubs)
    level = system.proc / "sys/kernel/perf_event_paranoid"
    level.parent.mkdir(parents=True)
    level.write_text("4\n")
    found = check_perf(system)
    assert found.status == status
    assert found.reason.startswith(reason)


def test_perf_in_a_container(stubs: Stubs) -> None:
    """Its engine forbids the call: the kernel's level is no matter."""
    stubs.perf("denied")
    found = check_perf(machine(stubs, environment={"PATH": str(stubs.folder), "container": "podman"}))
    assert found.remedy == "Start the container with --cap-add=PERFMON, or ask who runs its host to do so."


def test_what_is_gone_when_it_is_tried(stubs: Stubs) -> None:
    """A program that told its version may still not start."""

    def run(command: Any, **_: Any) -> Ended:
        if len(command) == 2:
            return Ended(code=0, out="Nsight Compute\nVersion 2025.3.1.0\nperf version 6.8")
        return Ended(code=None, fault="cannot_start", reason="Text file busy")

    stubs.ncu()
    stubs.perf()
    system = machine(stubs, run=run)
    assert check_ncu(system).why == "ncu can't be started (Text file busy)"
    assert check_perf(system).why == "perf can't be started (Text file busy)"


@pytest.mark.parametrize(
    ("params", "capabilities", "status", "why"),
    [
        (None, 0, "not_found", "no NVIDIA driver tells who may read them"),
        ("RmProfilingAdminOnly: 0\n", 0, "ok", "any user may read them (RmProfilingAdminOnly: 0)"),
        ("Mobile: 1\n", 0, "ok", "any user may read them (the driver has no RmProfilingAdminOnly)"),
        (
            "Mobile: 1\nRmProfilingAdminOnly: 1\n",
            0,
            "permission_denied",
            "administrators only (RmProfilingAdminOnly: 1), and this is none",
        ),
        (
            "RmProfilingAdminOnly: 1\n",
            1 << SYS_ADMIN,
            "ok",
            "administrators only (RmProfilingAdminOnly: 1); this process has the capability SYS_ADMIN",
        ),
        (
            "RmProfilingAdminOnly: 1\n",
            1 << PERFMON,
            "ok",
            "administrators only (RmProfilingAdminOnly: 1); this process has the capability PERFMON, which drivers "
            "from 565 on accept",
        ),
    ],
)
def test_what_the_drivers_settings_say(
    stubs: Stubs, params: str | None, capabilities: int, status: str, why: str
) -> None:
    """Who may read counters, by the driver and what this process may do."""
    system = machine(stubs)
    (system.proc / "self").mkdir()
    (system.proc / "self" / "status").write_text(f"CapEff:\t{capabilities:016x}\n")
    if params is not None:
        (system.proc / "driver" / "nvidia").mkdir(parents=True)
        (system.proc / "driver" / "nvidia" / "params").write_text(params)
    found = check_permission(system)
    assert (found.status, found.why) == (status, why)
    assert (found.remedy is not None) == (status == "permission_denied")


PIECES = (
    *('"ID","Kernel Name","gpu__time_duration.sum"\n', '"0","gemm<a, b>","', '"","",""\n', '"0","', '"', ","),
    *("2000", "n/a", "\n", "\r", "\0", "\u2028", "==ERROR== ", "==WARNING== No kernels were profiled.\n"),
    *("ERR_NVGPUCTRPERM", "InterprocessLockFailed", "/tmp/nsight-compute-lock", "Failed to find metric "),
    f"{probe_kernel.SAYS}x\n",
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join), st.sampled_from([0, 9, -11]))
def test_whatever_ncu_says_there_is_one_line(text: str, code: int) -> None:
    """Never a traceback, and usable only by a number under the metric."""

    def run(command: Any, **_: Any) -> Ended:
        return Ended(code=0, out=NCU_VERSION) if "--version" in command else Ended(code=code, out=text, err=text)

    none = Path("/none")
    system = System(
        environment={}, platform="linux", kernel_release="6.8", uid=0, python=none, root=none, proc=none, run=run
    )
    found = check_ncu(system, Path(sys.executable))
    assert found.status in get_args(CountersStatus)
    assert len(found.line.splitlines()) == 1
    if found.usable:
        assert "Kernel Name" in text
        assert any(map(str.isdigit, text))
