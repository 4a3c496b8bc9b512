"""Hold what a timeline profiler recorded, whichever wrote it: sums over kernels and copies, and how busy devices were.

Each part of a file is a section with a state of its own: what is missing is never taken for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.counters.kernel_kinds import kind_of

if TYPE_CHECKING:
    import pandas as pd
    from numpy import int64
    from numpy.typing import NDArray

State = Literal["ok", "partial", "skipped", "failed"]
Style = Literal["PushPop", "StartEnd"]
"""Of an NVTX range: nested in its thread, or not. The words are nsys's."""

_SIDES = {"H": "Host", "D": "Device", "A": "Array", "P": "Peer"}
_DIRECTION = re.compile(r"\b([HDAP])to([HDAP])\b")
_COPY = re.compile(r"(?:CUDA )?(?P<unified>Unified )?(?:Memory )?memcpy (?=\S)", re.IGNORECASE)
_FILL = re.compile(r"(?:CUDA )?memset\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """``skipped``: not recorded. ``partial``: some rows of it can't be used. ``failed``: none can. ``reason`` says why;
    it is None for ``ok`` alone.
    """

    state: State
    reason: str | None = None


OK = Section(state="ok")

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """All instances of one kernel, or of others together. What the file doesn't tell is None."""

    name: str
    instances: int
    total_s: float
    avg_s: float
    med_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    others: bool = False

    @property
    def kind(self) -> str | None:
        """None of others together, which may have none in common."""
        return None if self.others else kind_of(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """All kernels of one kind. ``kernels`` counts names."""

    kind: str
    kernels: int
    instances: int
    total_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRow:
    """All copies of one direction, or all fills (``memset``). What the file doesn't tell is None."""

    kind: str
    count: int
    total_s: float | None = None
    byte: float | None = None

    @property
    def byte_per_s(self) -> float | None:
        """All bytes over all time: never a mean of rates."""
        return self.byte / self.total_s if self.byte is not None and self.total_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """``span_s`` is from the first start to the last end, ``busy_s`` the part of it in which at least one interval ran.

    The rest are ``gaps``: times in which nothing ran, between two intervals. The longest and the median of them are
    None where there is none.
    """

    start_ns: int
    end_ns: int
    span_s: float
    busy_s: float
    gaps: int
    longest_gap_s: float | None
    median_gap_s: float | None

    @property
    def share(self) -> float | None:
        """Of the span; None for one of no length, as where a single event of no duration was recorded."""
        return self.busy_s / self.span_s if self.span_s > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRow:
    """One GPU: its streams merged, kernels, graphs, copies and fills together.

    ``kernel_busy_s`` is the part of the span in which at least one kernel ran; None: not known, for graphs hide theirs.
    """

    device: str
    streams: int
    events: int
    busy: Busy
    kernel_busy_s: float | None = None

    @property
    def kernel_share(self) -> float | None:
        """Of the same span as that of ``busy``."""
        span_s = self.busy.span_s
        return self.kernel_busy_s / span_s if self.kernel_busy_s is not None and span_s > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DramRow:
    """DRAM traffic of one GPU by samples of its own counters: means over ``window_s``, the span of its work.

    The samples are shares of the peak. ``peak_byte_per_s`` is what the driver says; None: it says nothing, and then
    there are no rates. ``resolution_byte_per_s`` is the least difference that two samples can have: they are whole
    percents.
    """

    device: str
    samples: int
    window_s: float
    read_share: float | None
    write_share: float | None
    peak_byte_per_s: float | None

    @property
    def read_byte_per_s(self) -> float | None:
        return self._rate(self.read_share)

    @property
    def write_byte_per_s(self) -> float | None:
        return self._rate(self.write_share)

    @property
    def resolution_byte_per_s(self) -> float | None:
        return self._rate(0.01)

    def _rate(self, share: float | None) -> float | None:
        return None if share is None or self.peak_byte_per_s is None else share * self.peak_byte_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """All calls of one operator on the host. ``self_s`` is without the operators that it called; ``total_s`` with them,
    where a call inside a call of the same name counts once. It is None for several operators together: they may have
    called each other.
    """

    name: str
    calls: int
    self_s: float
    total_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow:
    """All instances of one NVTX range, from where the host opened it to where it closed it: of one name, style and
    domain (None: the default one). Ranges lie inside of each other, and each has all of its time.

    ``kernels`` and ``kernel_s`` are number and time of the kernels that its thread launched while it was open, whenever
    they ran; ``process_kernels`` and ``process_kernel_s`` of those that any thread of its process did. A kernel counts
    once a row. What the file doesn't tell is None, and so is what several ranges together can't have.
    """

    name: str
    instances: int
    total_s: float
    avg_s: float
    style: Style | None = None
    domain: str | None = None
    med_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    kernels: int | None = None
    kernel_s: float | None = None
    process_kernels: int | None = None
    process_kernel_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps that the program marked for the profiler."""

    count: int
    median_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All that is read of one file. ``error`` is the name of what makes it useless for what it is read for.

    ``layout`` is None where it can't be read. ``tool`` is the program that wrote it, ``schema`` the version of its
    layout, as far as the file tells. Kernels, copies, ranges and operators are sorted by time, longest first. ``notes``
    is what a reader of the numbers must know.
    """

    path: Path
    layout: Literal["nsys_export", "nsys_stats", "chrome_trace"] | None
    sections: Mapping[str, Section]
    tool: str | None = None
    schema: str | None = None
    rank: int | None = None
    kernels: tuple[KernelRow, ...] = ()
    copies: tuple[CopyRow, ...] = ()
    devices: tuple[DeviceRow, ...] = ()
    dram: tuple[DramRow, ...] = ()
    ranges: tuple[RangeRow, ...] = ()
    operators: tuple[OperatorRow, ...] = ()
    steps: Steps | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def gpu_time_s(self) -> float | None:
        """Of all kernels, added up: more than the time that passed where they overlap. None: no kernel was seen."""
        return sum(row.total_s for row in self.kernels) if self.kernels else None

    @property
    def launches(self) -> int | None:
        """Of all kernels. None: no kernel was seen."""
        return sum(row.instances for row in self.kernels) if self.kernels else None

    @property
    def busy_share(self) -> float | None:
        """Of the file's one GPU; of several each has its own."""
        return self.devices[0].busy.share if len(self.devices) == 1 else None

    @property
    def state(self) -> State:
        """Of the whole file. It is read for kernels, or for operators of what ran without a GPU: one that has neither
        is ``partial`` at best.
        """
        states = {section.state for section in self.sections.values()}
        if not states & {"ok", "partial"}:
            return "failed" if "failed" in states else "skipped"
        whole = {name for name, section in self.sections.items() if section.state == "ok"}
        complete = "kernels" in whole or ("operators" in whole and not self.devices)
        return "ok" if complete and not states & {"failed", "partial"} else "partial"

    @property
    def useless(self) -> bool:
        """Tell whether it lacks what it is read for, whatever else is in it."""
        return self.error is not None or self.state in ("skipped", "failed")

    def by_kind(self) -> tuple[KindRow, ...]:
        """The kernels by kind, longest first."""
        groups: dict[str, list[KernelRow]] = {}
        for row in self.kernels:
            groups.setdefault(kind_of(row.name), []).append(row)
        rows = (
            KindRow(
                kind=kind,
                kernels=len(rows),
                instances=sum(row.instances for row in rows),
                total_s=sum(row.total_s for row in rows),
            )
            for kind, rows in groups.items()
        )
        return tuple(sorted(rows, key=lambda row: -row.total_s))


def busy(start_ns: NDArray[int64], end_ns: NDArray[int64]) -> Busy | None:
    """The union of intervals, in whatever order and however they overlap: streams run side by side.

    :param start_ns: of n intervals, whole nanoseconds below 2**54, where sums are still exact.
    :param end_ns: of the same n intervals; none is before its start.
    :returns: None where n is 0.
    """
    import numpy as np

    if not len(start_ns):
        return None
    order = np.argsort(start_ns, kind="stable")
    starts = start_ns[order]
    reached = np.maximum.accumulate(end_ns[order])
    between = starts[1:] - reached[:-1]
    gaps = between[between > 0]
    span_ns = int(reached[-1] - starts[0])
    return Busy(
        start_ns=int(starts[0]),
        end_ns=int(reached[-1]),
        span_s=span_ns / NS_PER_S,
        busy_s=(span_ns - int(gaps.sum())) / NS_PER_S,
        gaps=len(gaps),
        longest_gap_s=int(gaps.max()) / NS_PER_S if len(gaps) else None,
        median_gap_s=float(np.median(gaps)) / NS_PER_S if len(gaps) else None,
    )


def device_row(device: str, work: pd.DataFrame, kernels: pd.DataFrame | None, streams: int) -> DeviceRow:
    """One GPU.

    :param device: its name.
    :param work: ``start`` and ``end`` in ns of all that ran on it, one row or more.
    :param kernels: the same of its kernels; None where they aren't known.
    """
    one = busy(work["start"].to_numpy(), work["end"].to_numpy())
    assert one is not None
    alone = None if kernels is None else busy(kernels["start"].to_numpy(), kernels["end"].to_numpy())
    kernel_busy_s = None if kernels is None else alone.busy_s if alone else 0.0
    return DeviceRow(device=device, streams=streams, events=len(work), busy=one, kernel_busy_s=kernel_busy_s)


def kernel_rows(names: Sequence[str], which: NDArray[int64], duration_ns: NDArray[int64]) -> tuple[KernelRow, ...]:
    """A row a kernel, longest first.

    :param names: of the kernels, each once.
    :param which: of n launches, the index of its name.
    :param duration_ns: of the same n launches.
    """
    return longest_first([KernelRow(name=names[own], **one) for own, one in durations(which, duration_ns)])


def durations(which: NDArray[int64], duration_ns: NDArray[int64]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Of each kind of event its index, and the fields that `KernelRow` and `RangeRow` have in common.

    :param which: of n events, the index of its kind.
    :param duration_ns: of the same n events.
    """
    import pandas as pd

    # Whole nanoseconds add up exactly in a float up to 2**53 of them, 104 days.
    found = pd.Series(duration_ns, dtype=float).groupby(which).agg(["size", "sum", "median", "min", "max"])
    for own, instances, total_ns, median_ns, least_ns, most_ns in found.itertuples():
        yield (
            int(own),
            {
                "instances": int(instances),
                "total_s": total_ns / NS_PER_S,
                "avg_s": total_ns / NS_PER_S / instances,
                "med_s": median_ns / NS_PER_S,
                "min_s": least_ns / NS_PER_S,
                "max_s": most_ns / NS_PER_S,
            },
        )


def longest_first(rows: Sequence[KernelRow]) -> tuple[KernelRow, ...]:
    """By total time; of equal ones by name, so that two readings agree."""
    return tuple(sorted(rows, key=lambda row: (-row.total_s, row.name)))


def copies_first(rows: Sequence[CopyRow]) -> tuple[CopyRow, ...]:
    """By total time, else by bytes; of equal ones by name."""
    return tuple(sorted(rows, key=lambda row: (-(row.total_s or 0.0), -(row.byte or 0.0), row.kind)))


def with_faults(section: Section, faults: Sequence[str]) -> Section:
    """The state of a section whose rows are there, but lack a figure.

    :param faults: which, and why; none leaves the section as it is.
    """
    if not faults:
        return section
    return Section(state="partial", reason="; ".join([*([section.reason] if section.reason else []), *faults]))


def direction(text: str) -> str:
    """A copy's direction in nsys's words of today: ``Memcpy HtoD`` and ``[CUDA memcpy HtoD]`` are ``Host-to-Device``.

    What stands behind it stays: ``Memcpy HtoD (Pageable -> Device)`` is ``Host-to-Device (Pageable -> Device)``.
    """
    bare = text.strip().removeprefix("[").removesuffix("]")
    if _FILL.match(bare):
        return "memset"
    if match := _COPY.match(bare):
        bare = f"{match['unified'] or ''}{bare[match.end() :]}"
    return _DIRECTION.sub(lambda match: f"{_SIDES[match[1]]}-to-{_SIDES[match[2]]}", bare)
