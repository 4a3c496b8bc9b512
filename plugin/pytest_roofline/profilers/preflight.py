"""Whether ncu, nsys and perf are usable here: asked before any test, so that nobody waits for a run without counters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.profilers.ncu_status import Status
from pytest_roofline.profilers.system import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What became of a tool.

    :param why: why it is not usable, with what helps; for a usable one what was seen.
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
        """Why, and what helps: for a record's `reason`."""
        return " ".join(part for part in (self.why, self.remedy) if part)

    @property
    def line(self) -> str:
        """The one line of the summary."""
        named = f"{self.tool} {self.version}" if self.version else self.tool
        return f"{named}: usable ({self.path})" if self.usable else f"{named}: {self.status}: {self.reason}"


def check_ncu(system: System, asked: Path | None = None) -> Finding:
    """Find ncu and let it count one tiny kernel, in at most 20 s.

    :param asked: the path that was given, which then is the only place.
    """
    raise NotImplementedError


def check_nsys(system: System, asked: Path | None = None) -> Finding:
    """Find nsys and see that it starts: it needs no permission to follow CUDA."""
    raise NotImplementedError


def check_perf(system: System, asked: Path | None = None) -> Finding:
    """Find perf and let it count the cycles and instructions of a program that does nothing."""
    raise NotImplementedError


def check_all(
    system: System, *, ncu: Path | None = None, nsys: Path | None = None, perf: Path | None = None
) -> tuple[Finding, ...]:
    """All three, each with the path that was given for it."""
    return check_ncu(system, ncu), check_nsys(system, nsys), check_perf(system, perf)
