"""One program under ncu: its command and environment, what it wrote, and whether there is anything to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers.diagnosis import Diagnosis, Status
from pytest_roofline.profilers.ncu.status import judge

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
