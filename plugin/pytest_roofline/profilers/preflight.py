"""Whether ncu, nsys and perf are usable here: asked before any test, so that nobody waits for what can't be had."""

from __future__ import annotations

import csv
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device.system import PERFMON, SYS_ADMIN, Ended, System, unwound_when_terminated
from pytest_roofline.profilers import tools
from pytest_roofline.profilers.ncu import probe_kernel
from pytest_roofline.profilers.ncu.status import (
    IN_WSL,
    OUTSIDE_WSL,
    Status,
    Verdict,
    judge,
    permission_remedy,
    sentences,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What became of a tool.

    :param why: why it is not usable; for a usable one what was seen.
    :param remedy: what helps here, where something does.
    :param path: where it is, where one was found.
    """

    tool: str
    status: Status
    why: str
    remedy: str | None = None
    path: Path | None = None
    version: str | None = None

    @property
    def usable(self) -> bool:
        return self.status == "ok"

    @property
    def reason(self) -> str:
        """Why, and what helps: for the ``reason`` of a record."""
        return sentences(self.why, self.remedy)

    @property
    def line(self) -> str:
        """The one line of the summary."""
        named = f"{self.tool} {self.version}" if self.version else self.tool
        return f"{named}: usable ({self.path})" if self.usable else f"{named}: {self.status}: {self.reason}"


def check_ncu(system: System, asked: Path | None = None) -> Finding:
    """Find ncu and let it count one tiny kernel, in at most `PROBE_S`.

    :param asked: the path that was given, which then is the only place.
    """
    if system.platform == "darwin":
        return Finding(tool="ncu", status="unsupported_platform", why="ncu counts NVIDIA GPUs, and macOS has none")
    tool = tools.find(tools.NCU, system, asked)
    if tool.verdict.status == "not_found" and system.wsl:
        # Nobody should go and install it for nothing.
        return Finding(tool="ncu", status="not_found", why=f"{tool.verdict.why}, and {IN_WSL}", remedy=OUTSIDE_WSL)
    return _finding("ncu", tool, _tried(tool, _count_a_kernel, system))


def check_nsys(system: System, asked: Path | None = None) -> Finding:
    """Find nsys and see that it starts: it needs no permission to follow CUDA."""
    if system.platform == "darwin":
        return Finding(tool="nsys", status="unsupported_platform", why="nsys follows programs on Linux and Windows")
    tool = tools.find(tools.NSYS, system, asked)
    return _finding("nsys", tool, Verdict("ok", "it starts") if tool.works else tool.verdict)


def check_perf(system: System, asked: Path | None = None) -> Finding:
    """Find perf and let it count the cycles and instructions of a program that does nothing."""
    if not system.platform.startswith("linux"):
        return Finding(tool="perf", status="unsupported_platform", why="perf is a part of Linux")
    tool = tools.find(tools.PERF, system, asked)
    return _finding("perf", tool, _tried(tool, _count_cycles, system))


def check_all(
    system: System, *, ncu: Path | None = None, nsys: Path | None = None, perf: Path | None = None
) -> tuple[Finding, ...]:
    """All three, each with the path that was given for it."""
    return check_ncu(system, ncu), check_nsys(system, nsys), check_perf(system, perf)


def check_permission(system: System, ncu: Path | None = None) -> Finding:
    """What the driver's own settings say of its counters, whether or not there is an ncu.

    Status ``not_found``: there is no driver that would tell. ``sudo`` runs need no capability of this process, so the
    probe of `check_ncu` is what counts.

    :param ncu: its path, which a remedy has to name.
    """
    text = system.read("driver/nvidia/params")
    if system.wsl:
        return Finding(tool="counters", status="unsupported_platform", why=IN_WSL, remedy=OUTSIDE_WSL)
    if text is None:
        return Finding(tool="counters", status="not_found", why="no NVIDIA driver tells who may read them")
    found = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    if found is None or found.group(1) == "0":
        told = f"RmProfilingAdminOnly: {found.group(1)}" if found else "the driver has no RmProfilingAdminOnly"
        return Finding(tool="counters", status="ok", why=f"any user may read them ({told})")
    why = "administrators only (RmProfilingAdminOnly: 1)"
    for name, number in (("SYS_ADMIN", SYS_ADMIN), ("PERFMON, which drivers from 565 on accept", PERFMON)):
        if system.capable(number):
            return Finding(tool="counters", status="ok", why=f"{why}; this process has the capability {name}")
    return Finding(
        tool="counters",
        status="permission_denied",
        why=f"{why}, and this is none",
        remedy=permission_remedy(system, ncu),
    )


def _tried(tool: tools.Tool, probe: Callable[[Path, System], Verdict], system: System) -> Verdict:
    """What comes of trying a tool.

    One that did not say who it is is tried as well, for it may be somebody's script around the tool: what the probe
    finds then counts, unless it only finds that nothing works.
    """
    if tool.path is None or tool.answer is None:
        return tool.verdict
    verdict = probe(tool.path, system)
    return verdict if tool.works or verdict.status not in ("failed", "timeout") else tool.verdict


def _finding(name: str, tool: tools.Tool, verdict: Verdict) -> Finding:
    return Finding(
        tool=name,
        status=verdict.status,
        why=verdict.why,
        remedy=verdict.remedy,
        path=tool.path,
        version=tool.version,
    )


def _count_a_kernel(ncu: Path, system: System) -> Verdict:
    """What comes of `probe_kernel` under ncu."""
    try:
        # ncu keeps its lock file in TMPDIR: one in a folder that all users share may belong to somebody else.
        with (
            unwound_when_terminated(),
            tempfile.TemporaryDirectory(prefix="roofline-", ignore_cleanup_errors=True) as folder,
        ):
            log = Path(folder) / "ncu.csv"
            probe = Path(probe_kernel.__file__).absolute()
            ended = system.run(
                [ncu, *_PROBE_FLAGS, "--log-file", log, system.python, "-I", "-S", probe],
                timeout_s=PROBE_S,
                environment={**system.environment, "TMPDIR": folder, "LC_ALL": "C"},
            )
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    except OSError as error:
        return Verdict("failed", f"no temporary folder for ncu can be had ({error.strerror or error})")
    return _verdict(said, ended, ncu, system)


def _verdict(said: str, ended: Ended, ncu: Path, system: System) -> Verdict:
    if ended.fault == "timeout":
        return Verdict(
            "timeout",
            f"ncu had not counted one tiny kernel after {PROBE_S:g} s",
            "See in nvidia-smi whether another program holds the GPU.",
        )
    if ended.fault == "cannot_start":
        return Verdict("failed", f"ncu can't be started ({ended.reason})")
    answers = list(_answers(said)) or list(_answers(ended.out))
    if any(map(_is_number, answers)):
        return Verdict("ok", f"it counted a kernel ({PROBE_METRIC})")
    verdict = judge(f"{said}\n{ended.text}", system, ncu)
    if verdict.status in ("ok", "failed", "no_kernels"):
        # Of a probe that failed ncu says only that there was no kernel.
        for line in ended.err.splitlines():
            if line.startswith(probe_kernel.NO_GPU):
                return Verdict("unsupported_platform", f"no GPU to count: {line.removeprefix(probe_kernel.NO_GPU)}")
            if line.startswith(probe_kernel.SAYS):
                return Verdict("failed", f"no kernel could be launched: {line.removeprefix(probe_kernel.SAYS)}")
    if verdict.status != "ok":
        return verdict
    if answers:
        return Verdict("missing_metric", f"ncu has no value for {PROBE_METRIC}: {answers[0]!r}")
    if ended.code is not None and ended.code < 0:
        return Verdict("failed", f"ncu was ended by signal {-ended.code}")
    words = next((line.strip() for line in f"{said}\n{ended.text}".splitlines() if line.strip()), "")
    more = f": {words[:100]!r}" if words else ""
    return Verdict("failed", f"ncu ended with code {ended.code} and gave no counters{more}")


def _answers(text: str) -> Iterator[str]:
    """What stands under the probe's metric, kernel by kernel; on a page without such a column, in the last."""
    try:
        rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    except csv.Error:
        return
    header: list[str] = []
    for row in rows:
        if "Kernel Name" in row:
            header = row
        elif header and len(row) == len(header) and row[header.index("Kernel Name")]:
            yield row[header.index(PROBE_METRIC) if PROBE_METRIC in header else -1]


def _count_cycles(perf: Path, system: System) -> Verdict:
    """What comes of a tiny program under ``perf stat``."""
    ended = system.run(
        [perf, "stat", "-x", ",", "-e", ",".join(_PERF_EVENTS), "--", system.python, "-I", "-S", "-c", ""],
        timeout_s=PROBE_S,
        environment={**system.environment, "LC_ALL": "C"},
    )
    if ended.fault == "timeout":
        return Verdict("timeout", f"perf had not counted a program that does nothing after {PROBE_S:g} s")
    if ended.fault == "cannot_start":
        return Verdict("failed", f"perf can't be started ({ended.reason})")
    counts = [line.split(",")[0] for line in ended.text.splitlines() if any(one in line for one in _PERF_EVENTS)]
    if any(map(_is_number, counts)):
        return Verdict("ok", "it counts cycles and instructions")
    if _PERF_DENIED.search(ended.text):
        return _perf_denied(system)
    if any(count in ("<not supported>", "<not counted>") for count in counts):
        return Verdict(
            "missing_metric",
            "this machine counts no processor events, as is usual in a virtual machine",
            "Measure on the machine itself, or have its host pass the counters on.",
        )
    words = next((line.strip() for line in ended.text.splitlines() if line.strip()), "")
    return Verdict("failed", f"perf ended with code {ended.code}{f': {words[:100]!r}' if words else ''}")


def _perf_denied(system: System) -> Verdict:
    level = (system.read("sys/kernel/perf_event_paranoid") or "").strip()
    why = f"the kernel lets this user count nothing{f' (perf_event_paranoid is {level})' if level else ''}"
    if system.container is not None:
        return Verdict(
            "permission_denied", why, "Start the container with --cap-add=PERFMON, or ask who runs its host to do so."
        )
    return Verdict("permission_denied", why, f"Run sudo sysctl kernel.perf_event_paranoid={_PARANOID_MOST}.")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace(",", "")))
    except ValueError:
        return False
