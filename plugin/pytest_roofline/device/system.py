"""The machine as the profilers' checks see it. All that they ask is here, so that a test stands in for any machine."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import pytest_roofline
import roofline

INJECTION = "CUDA_INJECTION64_PATH"
"""The CUDA driver's own variable: it loads the library that it names when CUDA starts, for CUPTI to record or count.

Profilers set it for the program they start; on some clusters it is set for good, for a monitor.
"""

SYS_ADMIN = 21
PERFMON = 38
"""Numbers of Linux capabilities (linux/capability.h)."""

_KILLED_S = 5.0
"""Time for a killed program to be gone."""

_CONTAINER_GROUPS = ("docker", "kubepods", "containerd", "libpod", "lxc")
"""Words in the name of a control group that container engines make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended. ``code`` is None where it was stopped at its time limit, or never started.

    :param fault: ``timeout`` or ``cannot_start``; None for a program that ended by itself.
    :param reason: why it could not start, in the system's words.
    """

    code: int | None
    out: str = ""
    err: str = ""
    fault: Literal["timeout", "cannot_start"] | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """All that it said."""
        return "\n".join(part for part in (self.out, self.err) if part)

    @property
    def first_line(self) -> str:
        """The first line of it that isn't blank, or nothing."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def run_program(
    command: Sequence[str | Path], *, timeout_s: float | None, environment: Mapping[str, str], cwd: Path | None = None
) -> Ended:
    """Run a program, without input, in a session of its own. What it started is stopped with it at the time limit, and
    where this process is interrupted.

    :param timeout_s: None for no limit.

    Nothing is raised for a program that can't be started: `Ended` says so.
    """
    try:
        # Files and no pipes: a grandchild that survived would hold a pipe open, and the reader would wait for it.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=dict(environment),
                cwd=cwd,
                start_new_session=True,
            )
            code = _wait(process, timeout_s)
            return Ended(code=code, out=_text(out), err=_text(err), fault="timeout" if code is None else None)
    except OSError as error:
        return Ended(code=None, fault="cannot_start", reason=error.strerror or str(error))


def _wait(process: subprocess.Popen[bytes], timeout_s: float | None) -> int | None:
    """The program's exit code; None where it had to be stopped."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:  # as after Ctrl-C, which doesn't reach another session
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started."""
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # what hangs in a driver may not even be killed
        process.wait(_KILLED_S)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Where the profilers would run.

    :param platform: as ``sys.platform`` names it.
    :param kernel_release: as ``uname -r`` tells it.
    :param uid: the effective user; None where the platform has none.
    :param python: the running interpreter, absolute; a link is not followed, for a virtual environment is one.
    :param root: the file system's root, below which install folders and marks of containers are looked for.
    :param proc: the mounted proc file system.
    """

    environment: Mapping[str, str]
    platform: str
    kernel_release: str
    uid: int | None
    python: Path
    root: Path = Path("/")
    proc: Path = Path("/proc")
    run: Callable[..., Ended] = run_program

    @classmethod
    def here(cls) -> System:
        """This process on this machine."""
        return cls(
            environment=dict(os.environ),
            platform=sys.platform,
            kernel_release=platform.release(),
            uid=os.geteuid() if hasattr(os, "geteuid") else None,
            python=Path(sys.executable).absolute(),
        )

    @property
    def wsl(self) -> bool:
        """Tell whether this is Linux inside Windows: its GPU driver is Windows' own, behind a device of its own."""
        if not self.platform.startswith("linux"):
            return False
        return "microsoft" in self.kernel_release.lower() or (self.root / "dev" / "dxg").exists()

    @property
    def gvisor(self) -> bool:
        """Tell whether this is a sandbox of gVisor. Its kernel is its own and calls itself so, or a bare 4.4.0."""
        return self.platform.startswith("linux") and (
            "gvisor" in self.kernel_release.lower() or self.kernel_release == "4.4.0"
        )

    @property
    def container(self) -> str | None:
        """Say what shows that this process is in a container; None where nothing does."""
        if not self.platform.startswith("linux"):
            return None
        for mark in (".dockerenv", "run/.containerenv"):
            if (self.root / mark).exists():
                return f"/{mark}"
        for name in ("KUBERNETES_SERVICE_HOST", "container"):
            if self.environment.get(name):
                return f"{name}={self.environment[name]}"
        groups = self.read("self/cgroup") or ""
        return next((f"a control group of {word}" for word in _CONTAINER_GROUPS if word in groups), None)

    @property
    def python_path(self) -> str:
        """PYTHONPATH with which a process of this interpreter finds these packages, installed or not."""
        own = {str(Path(one.__file__).parents[1]) for one in (pytest_roofline, roofline) if one.__file__}
        return os.pathsep.join(filter(None, [*sorted(own), self.environment.get("PYTHONPATH", "")]))

    def read(self, name: str) -> str | None:
        """The text of a file below ``proc``; None where it can't be read."""
        try:
            return (self.proc / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def capable(self, number: int) -> bool | None:
        """Tell whether this process has a capability in effect; None where the kernel doesn't tell."""
        for line in (self.read("self/status") or "").splitlines():
            name, _, value = line.partition(":")
            if name == "CapEff":
                with suppress(ValueError):
                    return bool(int(value, 16) >> number & 1)
        return None
