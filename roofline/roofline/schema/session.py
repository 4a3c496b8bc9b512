"""Define what a result file says of its run and machine: what belongs to the file and not to a single case.

The top-level key ``roofline`` of the file holds a `Session`, ``machine_info["roofline"]`` a `Machine`. Units and
missing values are as in `roofline.schema.record`, whose `SCHEMA` is the version of these parts, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from roofline.schema.record import SCHEMA, Device, Whole
from roofline.text.units import some_of

Outcome = Literal["failed", "skipped", "out_of_memory", "timeout", "error", "not_run"]
RoofKind = Literal["flop", "byte", "latency", "link"]
RoofSource = Literal["measured", "spec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofSample:
    """One sampling of a roof: the best value seen, when, and which kernel reached it."""

    value: float
    kernel: str
    at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling of a machine.

    ``kind`` ``flop``: FLOP/s of a compute dtype (``name`` is the dtype); ``byte``: byte/s of a level (``dram``,
    ``llc``) or link (``host_to_device``); ``latency``: seconds a kernel launch (``launch``) takes at least; ``link``:
    byte/s of the slowest link between ranks that all-reduce a message of some size. ``value`` is the best of
    ``samples`` (highest rate, least latency), ``spread`` (max - min) / value over them. ``detail`` says how bytes or
    FLOPs were counted.
    """

    kind: RoofKind
    name: str
    value: float
    source: RoofSource
    detail: str
    kernel: str | None = None
    samples: tuple[RoofSample, ...] = ()
    spread: float | None = None
    measured_at: str | None = None
    """UTC, ISO 8601: when `value` was seen. A roof older than the file was taken over from an earlier run."""
    from_file: str | None = None
    """Name of the earlier result file the roof was taken over from; None where this run measured it."""
    disturbed: str | None = None
    """What disturbed the machine while it was measured, by evidence; None where nothing did, or nobody looked."""

    @property
    def unit(self) -> str:
        """Of its value."""
        return {"flop": "FLOP/s", "byte": "B/s", "latency": "s", "link": "B/s"}[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMeasured:
    """A case that was selected and has no number, and why."""

    id: str
    outcome: Outcome
    reason: str

    @property
    def why(self) -> str:
        """Outcome and reason in words."""
        return f"{self.outcome.replace('_', ' ')}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSet:
    """Which of several runs of the same tests, each in a process of its own, a file is of. ``index`` counts from 1.

    ``count`` is how many were asked for: a set that was stopped has fewer files.
    """

    id: str
    index: Whole
    count: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Which part of the cases a file is of, where the jobs of an array share them. ``index`` counts from 1."""

    index: Whole
    count: Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of the suite: what belongs to the file and not to a single case."""

    schema: Whole = SCHEMA
    started_at: str
    label: str
    roofs: tuple[Roof, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()
    wall_s: float | None = None
    measuring_s: float | None = None
    """Seconds of ``wall_s`` spent in warm-up and timed rounds."""
    arguments: tuple[str, ...] = ()
    """pytest's command line, paths made relative."""
    notes: tuple[str, ...] = ()
    noted: dict[str, str] = field(default_factory=dict)
    """What the user noted of the run, such as its zone, image and storage."""
    set: SessionSet | None = None
    """None for a run by itself."""
    shard: Shard | None = None
    """None for a run of all its cases."""
    complete: bool = True
    """Whether every planned case ended: measured, or with its reason in ``not_measured``."""
    planned: Whole | None = None
    """How many cases the run was to measure; None in older files."""
    finished: Whole | None = None
    """How many of them ended."""
    not_run: tuple[str, ...] = ()
    """Ids of the others: the run ended in one of them or before it."""
    settings: dict[str, str] = field(default_factory=dict)
    """The plugin's settings that shape a measurement, by their names, and by their flags the project's own that were
    given; empty in older files."""
    segments: tuple[str, ...] = ()
    """UTC, ISO 8601: when each part of a run began that was resumed; empty for a run in one go."""

    @property
    def without_number(self) -> tuple[NotMeasured, ...]:
        """The planned cases without a valid number: those with a reason of their own, and those that were not run."""
        not_run = (NotMeasured(id=case, outcome="not_run", reason="the run did not end") for case in self.not_run)
        return (*self.not_measured, *not_run)

    @property
    def why_incomplete(self) -> str | None:
        """Say how far the run came, in words; None where it came to its end. A file that contradicts itself did not."""
        if self.complete and (self.not_run or self.planned != self.finished):
            return (
                f"the file says that the run ended, and that {self.finished} of {self.planned} cases finished, "
                f"{len(self.not_run)} not run: it was changed, or is damaged; measure again"
            )
        if self.complete:
            return None
        shown = some_of(self.not_run)
        return f"the run did not end: {self.finished} of {self.planned} cases finished; not run: {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What is stable about a machine. ``fingerprint`` is a hash over what changes its speed."""

    schema: Whole = SCHEMA
    fingerprint: str
    label: str
    device: Device
    cpu: str
    cpu_count: Whole
    memory_byte: Whole | None
    os: str
    versions: dict[str, str | None] = field(default_factory=dict)
    threads: dict[str, Whole | None] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    """cgroup quota, affinity, container, power limit; keys say the unit."""
    missing: dict[str, str] = field(default_factory=dict)
