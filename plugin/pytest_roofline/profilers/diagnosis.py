"""Hold what `roofline doctor` and every profiler say of one thing of this machine: its state, why, and what helps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CountersStatus = Literal[
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
"""As `roofline.schema.record.Counters` has it."""

Status = CountersStatus | Literal["warning", "no", "not reported"]
"""Of a thing. ``no``: the thing isn't there or can't be used; ``not reported``: the system doesn't say."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was looked at, and what came of it.

    :param why: what was seen.
    :param remedy: what helps here, where something does.
    :param path: of a program that was found, with its ``version`` and what it answered when it was asked for it.
    """

    name: str
    status: Status
    why: str = ""
    remedy: str | None = None
    path: Path | None = None
    version: str | None = None
    answer: str | None = None

    @property
    def usable(self) -> bool:
        return self.status == "ok"

    @property
    def reason(self) -> str:
        """Why, and what helps: for the ``reason`` of a record."""
        return f"{self.why}. {self.remedy}" if self.remedy else self.why

    @property
    def line(self) -> str:
        """The one line of a run's summary."""
        named = f"{self.name} {self.version}" if self.version else self.name
        return f"{named}: usable ({self.path})" if self.usable else f"{named}: {self.status}: {self.reason}"

    @property
    def row(self) -> dict[str, str | None]:
        """The row of ``roofline doctor``: its ``state`` is ok, warning, no or not reported."""
        is_state = self.status in ("ok", "warning", "no", "not reported")
        why = self.why if is_state else f"{self.status}: {self.why}"
        if self.version:
            why = f"{self.version} ({self.path}): {why}"
        return {"what": self.name, "state": self.status if is_state else "no", "why": why, "remedy": self.remedy}
