"""Hold what Nsight Compute counted: launches of kernels with their metrics, whatever file they came from.

A run under ncu often takes several files: one for the bytes, which a single pass collects without disturbing the
caches, and one for the FLOPs. They are joined launch by launch where they launched the same kernels in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from roofline.files.decoding import ReadError
from roofline.text.units import some_of

_LISTED = 8
"""Ranges that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of a kernel, or all launches of one that a summary has together (``launches``).

    ``metrics`` are in base units (see `roofline.counters.quantities.Dimension`) and, of a summary, summed over its
    launches. ``absent`` are metrics that were asked for and did not answer, with what stood in their place.
    ``ranges`` are the names of the NVTX ranges that it was launched in; None: the file doesn't tell.
    """

    name: str
    launches: int = 1
    grid: str | None = None
    block: str | None = None
    compute_capability: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    ranges: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """The launches of one file, in order. ``notes``: what the reader of its figures must know.

    ``passes``: how often a kernel was replayed at most; ``passes_by_file`` the same of each file that was joined.
    """

    source: str
    launches: tuple[Launch, ...]
    passes: int | None = None
    passes_by_file: Mapping[str, int | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def compute_capability(self) -> str | None:
        """The chip's, where a launch tells it."""
        return next((one.compute_capability for one in self.launches if one.compute_capability), None)


def join(one: Capture, other: Capture) -> Capture:
    """Take the metrics of two files together; where both have one, the first file's.

    :raises ReadError: the first launch that differs.
    """
    launches: list[Launch] = []
    for number, (left, right) in enumerate(zip_longest(one.launches, other.launches), 1):
        if left is None or right is None or not _same(left, right):
            raise ReadError(
                f"{other.source}: not the launches of {one.source}, which {_described(left, number)} where this file"
                f" {_described(right, number)}. Files are joined launch by launch: give those of one program that"
                " launched the same kernels in the same order, or one file at a time."
            )
        chips = {one.compute_capability for one in (left, right)} - {None}
        if len(chips) > 1:
            raise ReadError(
                f"{other.source}: of another chip than {one.source}: launch {number} ran on compute capability"
                f" {right.compute_capability} here and {left.compute_capability} there. Figures of two chips make no"
                " intensity: give files of one, or one file at a time."
            )
        metrics = {**right.metrics, **left.metrics}
        absent = {name: why for name, why in {**right.absent, **left.absent}.items() if name not in metrics}
        capability = left.compute_capability or right.compute_capability
        ranges = right.ranges if left.ranges is None else left.ranges
        launches.append(replace(left, metrics=metrics, absent=absent, compute_capability=capability, ranges=ranges))
    new = {name for launch in other.launches for name in launch.metrics} - {
        name for launch in one.launches for name in launch.metrics
    }
    nothing = () if new else (f"{other.source} has no metric that {one.source} lacks: nothing of it is used.",)
    passes = [number for number in (one.passes, other.passes) if number is not None]
    return Capture(
        source=f"{one.source} + {other.source}",
        launches=tuple(launches),
        passes=max(passes, default=None),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes, *nothing))),
    )


def in_range(capture: Capture, name: str | None) -> Capture:
    """Keep the launches of one range; without a name all, with a note of the ranges there are.

    :raises ReadError: the file tells of no ranges, or has none of this name.
    """
    if name is None:
        there = _there(capture.launches)
        if not there:
            return capture
        note = f"Launches stand in NVTX ranges: {there}. --range NAME takes those of one alone."
        return replace(capture, notes=(*capture.notes, note))
    if all(one.ranges is None for one in capture.launches):
        raise ReadError(
            f"{capture.source}: no column of NVTX ranges, so --range has nothing to choose from. Run ncu with --nvtx,"
            " and print its report with --nvtx, too."
        )
    launches = tuple(one for one in capture.launches if name in (one.ranges or ()))
    if not launches:
        there = _there(capture.launches) or "none"
        raise ReadError(f"{capture.source}: no launch in an NVTX range {name!r}. Ranges in it: {there}.")
    of = f"{len(launches)} of {len(capture.launches)} launches are in the NVTX range {name!r}: the others are left out."
    return replace(capture, launches=launches, notes=(*capture.notes, of))


def _there(launches: Sequence[Launch]) -> str:
    """Ranges with their number of launches, in the order of the file."""
    counts = Counter(name for one in launches for name in dict.fromkeys(one.ranges or ()))
    named = [f"{name!r} ({count} launch{'' if count == 1 else 'es'})" for name, count in counts.items()]
    return some_of(named, _LISTED)


def _same(left: Launch, right: Launch) -> bool:
    """Kernel, number of launches, and, where both tell, grid and block."""
    sizes = ((left.grid, right.grid), (left.block, right.block))
    return (left.name, left.launches) == (right.name, right.launches) and all(
        one == other for one, other in sizes if one and other
    )


def _described(launch: Launch | None, number: int) -> str:
    if launch is None:
        return f"has only {number - 1} launches"
    where = ", ".join(f"{what} {size}" for what, size in (("grid", launch.grid), ("block", launch.block)) if size)
    return f"has {launch.name!r:.100}{f' ({where})' if where else ''} as launch {number}"
