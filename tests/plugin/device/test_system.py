"""The machine as the profilers' checks see it, and running programs on it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from pytest_roofline.device.system import PERFMON, SYS_ADMIN, run_program
from tests.plugin.profilers.stubs import Stubs

HERE = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize(
    ("release", "platform", "wsl", "gvisor"),
    [
        ("6.6.87.2-microsoft-standard-WSL2", "linux", True, False),
        ("4.4.0-19041-Microsoft", "linux", True, False),
        ("6.8.0-1021-azure", "linux", False, False),
        ("6.6.87.2-microsoft-standard-WSL2", "win32", False, False),
        ("4.19.0-gvisor", "linux", False, True),
        ("4.4.0", "linux", False, True),
        ("4.4.0-210-generic", "linux", False, False),
        ("4.4.0", "sunos5", False, False),
    ],
)
def test_wsl_and_gvisor_by_the_kernels_name(
    tmp_path: Path, release: str, platform: str, wsl: bool, gvisor: bool
) -> None:
    """Linux inside Windows has Microsoft's kernel, or Windows' GPU device; gVisor's has no name of a build."""
    system = Stubs(tmp_path).system(kernel_release=release, platform=platform)
    assert (system.wsl, system.gvisor) == (wsl, gvisor)
    (system.root / "dev").mkdir()
    (system.root / "dev" / "dxg").touch()
    assert system.wsl == (platform == "linux")


def test_another_process_finds_these_packages(tmp_path: Path) -> None:
    """By folders that go before the user's own."""
    code = "import pytest_roofline.device.system, roofline.text.units, mine"
    (tmp_path / "mine.py").touch()
    system = Stubs(tmp_path / "bin").system(environment={"PYTHONPATH": str(tmp_path)})
    assert system.python_path.endswith(f"{os.pathsep}{tmp_path}")
    # Without the packages that are installed: only PYTHONPATH leads to them.
    ended = run_program(
        [sys.executable, "-S", "-c", code], timeout_s=60.0, environment={"PYTHONPATH": system.python_path}
    )
    assert (ended.code, ended.text) == (0, "")


@pytest.mark.parametrize(
    ("file", "text", "environment", "mark"),
    [
        ("proc/self/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n", {}, None),
        ("proc/self/cgroup", "5:memory:/kubepods/besteffort/pod1\n", {}, "a control group of kubepods"),
        (".dockerenv", "", {}, "/.dockerenv"),
        ("run/.containerenv", "", {}, "/run/.containerenv"),
        ("other", "", {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "KUBERNETES_SERVICE_HOST=10.0.0.1"),
        ("other", "", {"container": "lxc"}, "container=lxc"),
    ],
)
def test_a_container_by_its_marks(
    tmp_path: Path, file: str, text: str, environment: dict[str, str], mark: str | None
) -> None:
    """Docker and podman leave a file, Kubernetes and systemd-nspawn a variable, engines name the control groups."""
    system = Stubs(tmp_path).system(environment=environment)
    path = system.proc / file.removeprefix("proc/") if file.startswith("proc/") else system.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert system.container == mark


def test_capabilities(tmp_path: Path) -> None:
    """Each is a bit of CapEff; without /proc nothing is known."""
    system = Stubs(tmp_path).system()
    assert system.capable(SYS_ADMIN) is None
    (system.proc / "self").mkdir()
    status = system.proc / "self" / "status"
    status.write_text(f"Name:\tpython\nCapPrm:\tffffffffffffffff\nCapEff:\t{1 << PERFMON:016x}\n")
    assert (system.capable(SYS_ADMIN), system.capable(PERFMON)) == (False, True)
    status.write_text("CapEff:\tunknown\n")
    assert system.capable(PERFMON) is None


def test_a_program_runs_to_its_end(tmp_path: Path) -> None:
    """Exit code, both outputs, working directory; nothing to read, and bytes that are no text."""
    ended = run_program(
        ["sh", "-c", "pwd; cat; printf '\\377bad' >&2; exit 3"], timeout_s=60, environment=HERE, cwd=tmp_path
    )
    assert (ended.code, ended.fault) == (3, None)
    assert ended.out == str(tmp_path.resolve())
    assert ended.err == "\ufffdbad"
    assert ended.text == f"{ended.out}\n{ended.err}"


def test_a_program_that_cannot_start(tmp_path: Path) -> None:
    """It is told, and nothing raised: no such file, no executable, no program."""
    text = tmp_path / "text"
    text.write_text("\0")
    reasons = []
    for path, mode in ((tmp_path / "none", None), (text, 0o644), (text, 0o755)):
        if mode is not None:
            path.chmod(mode)
        ended = run_program([path], timeout_s=60, environment=HERE)
        assert (ended.code, ended.fault) == (None, "cannot_start")
        reasons.append(ended.reason)
    assert reasons == ["No such file or directory", "Permission denied", "Exec format error"]


def test_without_a_temporary_folder_no_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full or read-only disk gives a reason, too."""

    def none() -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryFile", none)
    ended = run_program(["true"], timeout_s=60, environment=HERE)
    assert (ended.fault, ended.reason) == ("cannot_start", "No usable temporary directory found")


def test_what_hangs_is_stopped_with_all_that_it_started() -> None:
    """At the time limit; what it had said until then is kept."""
    ended = run_program(["sh", "-c", "sleep 600 & echo $!; wait"], timeout_s=1, environment=HERE)
    assert (ended.code, ended.fault) == (None, "timeout")
    assert _ends(int(ended.out))


def test_an_interrupted_wait_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches this process only: the other is in a session of its own."""
    started: list[subprocess.Popen[bytes]] = []
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if process in started:
            return wait(process, timeout)
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_program(["sleep", "600"], timeout_s=60, environment=HERE)
    assert started[0].poll() is not None


def _ends(pid: int) -> bool:
    """Whether a process that was killed is gone, or waits for nothing but to be asked for its exit code."""
    for _ in range(6000):  # a minute: a busy machine ends it later
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False
