"""Files of Nsight Compute, whatever they are, to the launches of one program.

A run under ncu often takes several: one for the bytes, which a single pass collects without disturbing the caches, and
one for the FLOPs. They are joined launch by launch where they launched the same kernels in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from roofline.files.text import ReadError
from roofline.profilers.captured_text import captured, decoded
from roofline.profilers.captures import Capture, Launch
from roofline.profilers.ncu import csv_pages as ncu_csv
from roofline.profilers.ncu import ranges as ncu_ranges
from roofline.profilers.ncu import report as ncu_report
from roofline.profilers.ncu.lines import how
from roofline.profilers.ncu.number_format import NumberFormat

_REPORT = (".ncu-rep", b"NVR\0")
_FOREIGN = (
    (b"SQLite format 3\0", "an SQLite database. If nsys exported it: `roofline nsys FILE`."),
    (b"\x1f\x8b", "compressed. If it is a trace of torch.profiler: `roofline trace FILE`; else unpack it."),
    (b"PK\x03\x04", "a ZIP archive or a spreadsheet."),
    (b"{", "JSON. If it is a trace of torch.profiler: `roofline trace FILE`."),
)


def read(path: Path, told: NumberFormat | None = None) -> Capture:
    """The launches of one file: what ``ncu --csv`` printed, or a report.

    :param told: how it writes its numbers, where the user knows.
    :raises ReadError: it can't be read, with file, line, what is wrong and what to give instead.
    """
    content = captured(path)
    suffix, magic = _REPORT
    if path.suffix == suffix or content.startswith(magic):
        return ncu_report.parse(path)
    start = content[:512].lstrip()
    for mark, what in _FOREIGN:
        if start.startswith(mark):
            raise ReadError(f"{path}: not of ncu: {what} {how()}")
    return ncu_csv.parse(path, decoded(content), told)


def read_all(paths: Sequence[Path], told: NumberFormat | None = None, nvtx_range: str | None = None) -> Capture:
    """The launches of one program, with the metrics of all files; where several have one metric, the first file's.

    :param nvtx_range: the name of the range whose launches alone are wanted.
    :raises ReadError: a file can't be read, two have other launches, or none is in the range.
    """
    captures = [read(path, told) for path in paths]
    joined = captures[0]
    for other in captures[1:]:
        joined = _join(joined, other)
    joined = ncu_ranges.chosen(joined, nvtx_range)
    return replace(joined, passes_by_file={one.source: one.passes for one in captures})


def _join(one: Capture, other: Capture) -> Capture:
    """:raises ReadError: the first launch that differs."""
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
