"""Stand-ins for ncu, nsys, perf and nvidia-smi on a private PATH: each replays success or one of the failures."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pytest_roofline.device.system import System

Broken = Literal["hang", "crash", "garbage", "silent"]
"""``hang``: with a child of its own, for ten minutes. ``crash``: killed. ``silent``: ends well and says nothing."""

NcuBehaviour = (
    Broken
    | Literal[
        "ok",  # runs the program, then writes a CSV with the metrics asked for
        "permission",  # ERR_NVGPUCTRPERM in its log, and code 0
        "permission_on_stdout",  # the same on standard output, whatever --log-file says
        "lock",  # InterprocessLockFailed unless TMPDIR is a folder of this user alone; else ok
        "busy",  # another tool, as DCGM, has the counters
        "no_kernels",
        "unknown_metric",  # a name that this ncu doesn't know
        "wsl",  # as newer versions tell it
    ]
)
PerfBehaviour = Broken | Literal["ok", "denied", "not_supported", "not_counted"]

NCU_VERSION = """NVIDIA (R) Nsight Compute Command Line Profiler
Copyright (c) 2018-2025 NVIDIA Corporation
Version 2025.3.1.0 (build 36398880) (public-release)"""
NSYS_VERSION = "NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0"
PERF_VERSION = "perf version 6.8.12"

H200 = {"name": "NVIDIA H200", "driver_version": "580.65.06", "compute_cap": "9.0"}


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A launch that the stand-in for ncu tells of; ``values`` by metric, ``"n/a"`` for one that the chip lacks."""

    name: str
    values: Mapping[str, float | str] = field(default_factory=dict)


KERNELS = (Kernel(name="void gemm<float, 256>(int, char*)"), Kernel(name="relu(float*)"))


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a stand-in, but for those that ask its version."""

    arguments: list[str]
    wrapped: list[str]
    """The program to run under the tool, and its arguments."""
    environment: dict[str, str]
    cwd: str
    pid: int


@dataclass(frozen=True)
class Stubs:
    """A folder that is a whole PATH.

    The methods named after a tool put its stand-in there and return its path. They take a behaviour for each call in
    turn; the last goes for all that follow. ``version`` is what ``--version`` prints; None for a tool that doesn't
    start. Asking the version is no call.
    """

    folder: Path

    def ncu(
        self,
        *behaviours: NcuBehaviour,
        kernels: Sequence[Kernel] = KERNELS,
        values: Mapping[str, float | str] | None = None,
        absent: Sequence[str] = (),
        rejects: Sequence[str] = (),
        version: str | None = NCU_VERSION,
        compute_capability: str = "9.0",
        passes: int = 1,
    ) -> Path:
        """:param values: by metric, for all kernels; by default 2000 ns, 4096 byte and 1024 of everything else.
        :param absent: metrics that get no column.
        :param rejects: metrics of which it says that it doesn't know them, where it is asked for one, and ends.
        """
        return self._put(
            "ncu",
            behaviours,
            version=version,
            kernels=[{"name": one.name, "values": dict(one.values)} for one in kernels],
            values=dict(values or {}),
            absent=list(absent),
            rejects=list(rejects),
            compute_capability=compute_capability,
            passes=passes,
        )

    def nsys(self, *behaviours: Broken | Literal["ok"], version: str | None = NSYS_VERSION) -> Path:
        return self._put("nsys", behaviours, version=version)

    def perf(
        self,
        *behaviours: PerfBehaviour,
        values: Mapping[str, float] | None = None,
        absent: Sequence[str] = (),
        version: str | None = PERF_VERSION,
        version_code: int = 0,
    ) -> Path:
        """:param values: by event; a million by default.
        :param absent: events that are not supported.
        """
        return self._put(
            "perf",
            behaviours,
            version=version,
            version_code=version_code,
            values=dict(values or {}),
            absent=list(absent),
        )

    def nvidia_smi(
        self, *behaviours: Broken | Literal["ok", "no_driver"], devices: Sequence[Mapping[str, str]] = (H200,)
    ) -> Path:
        return self._put("nvidia-smi", behaviours, version="", devices=[dict(one) for one in devices])

    def python(self, says: str = "") -> Path:
        """An interpreter that does nothing; with words, it says them on standard error and fails."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "python"
        path.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n" if says else "#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def calls(self, tool: str) -> list[Call]:
        """What a tool was called with so far. A line that it is still writing is none yet."""
        try:
            lines = (self.folder / f"{tool}.calls.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return [Call(**json.loads(line)) for line in lines if line.endswith("\n")]

    def system(self, **changes: Any) -> System:
        """A Linux machine whose PATH is this folder, and on which nothing else is installed: no container, no WSL,
        no driver; this process's user is not root.
        """
        root = self.folder / "root"
        proc = root / "proc"
        proc.mkdir(parents=True, exist_ok=True)
        machine = System(
            environment={"PATH": str(self.folder)},
            platform="linux",
            kernel_release="6.8.0-31-generic",
            uid=1000,
            python=Path(sys.executable),
            root=root,
            proc=proc,
        )
        return replace(machine, **changes)

    def _put(self, tool: str, behaviours: Sequence[str], **config: Any) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / tool
        source = Path(__file__).with_name("stub_program.py").read_text(encoding="utf-8")
        path.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        path.chmod(0o755)
        config = {"tool": tool, "behaviours": list(behaviours or ("ok",)), **config}
        path.with_name(f"{tool}.json").write_text(json.dumps(config), encoding="utf-8")
        return path
