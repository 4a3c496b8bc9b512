"""What was read of a timeline profiler's file, shown: as tables for people, and as one JSON document for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from roofline.profilers.timeline import (
    CopyRow,
    DeviceRow,
    DramRow,
    KernelRow,
    KindRow,
    OperatorRow,
    RangeRow,
    Timeline,
)
from roofline.schema.record_json import without_nonfinite
from roofline.show import kernel_notes, operation_notes
from roofline.show.columns import percent_of
from roofline.show.tables import Column, Table
from roofline.text.units import percent, scaled

_WIDE, _NARROW = 60, 36
"""Characters of a kernel's name that a terminal shows."""

Row = TypeVar("Row")


def document(timeline: Timeline) -> dict[str, Any]:
    """Everything, in SI units: seconds, bytes, byte/s, shares from 0 to 1. What can't be had is null, and its section
    says why.
    """
    content = {
        "file": str(timeline.path),
        "layout": timeline.layout,
        "tool": timeline.tool,
        "schema": timeline.schema,
        "rank": timeline.rank,
        "state": timeline.state,
        "error": timeline.error,
        "sections": {
            name: {"state": section.state, "reason": section.reason} for name, section in timeline.sections.items()
        },
        "gpu_time_s": timeline.gpu_time_s,
        "kernels": _plain(_kernel_columns(timeline), timeline.kernels),
        "kinds": _plain(_kind_columns(timeline), timeline.by_kind()),
        "devices": _plain(_DEVICES, timeline.devices),
        "memcpy": _plain(_COPIES, timeline.copies),
        "dram": _plain(_DRAM, timeline.dram),
        "nvtx": _plain(_range_columns(timeline), timeline.ranges),
        "operators": _plain(_operator_columns(timeline), timeline.operators),
        "steps": None
        if timeline.steps is None
        else {"count": timeline.steps.count, "median_s": timeline.steps.median_s},
        "notes": list(timeline.notes),
    }
    result: dict[str, Any] = without_nonfinite(content)
    return result


def rows_table(timeline: Timeline) -> Table[Any]:
    """The one table that CSV has: every kernel, or every operator of what ran without a GPU."""
    if timeline.operators and not timeline.kernels:
        return Table(title="Operators", columns=_operator_columns(timeline), rows=timeline.operators)
    return Table(title="Kernels", columns=_kernel_columns(timeline), rows=timeline.kernels)


def tables(timeline: Timeline, top: int) -> list[Table[Any]]:
    """Those that have a row; below the last one what a reader of the numbers must know. Of a useless file its error
    tells that.

    :param top: rows of kernels, ranges and operators to show; the others stand in one, so that the columns add up.
    """
    made: list[Table[Any]] = []
    if timeline.kernels:
        made.append(_kernels(timeline, top))
        made.append(Table(title="Kinds of kernels", columns=_kind_columns(timeline), rows=timeline.by_kind()))
    if timeline.devices:
        made.append(Table(title="GPUs", columns=_DEVICES, rows=timeline.devices))
    if timeline.copies:
        made.append(Table(title="Copies and fills", columns=_COPIES, rows=timeline.copies))
    if timeline.dram:
        made.append(Table(title="DRAM while there was work", columns=_DRAM, rows=timeline.dram))
    if timeline.ranges:
        made.append(_ranges(timeline, top))
    if timeline.operators:
        made.append(_operators(timeline, top))
    notes = [] if timeline.useless else about(timeline)
    if not made or not notes:
        return made
    return [*made[:-1], replace(made[-1], notes=notes)]


def about(timeline: Timeline) -> list[str]:
    """The state of every section that isn't whole, and what else must be known."""
    sections = [
        f"{name}: {section.state}: {section.reason}"
        for name, section in timeline.sections.items()
        if section.state != "ok"
    ]
    steps = timeline.steps
    marked = [] if steps is None else [f"{steps.count} steps marked, median {scaled(steps.median_s, 's')}"]
    return [*sections, *marked, *timeline.notes]


def _plain(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{column.name: column.get(row) for column in columns} for row in rows]


def _kernels(timeline: Timeline, top: int) -> Table[KernelRow]:
    rows, rest = list(timeline.kernels[:top]), timeline.kernels[top:]
    others: KernelRow | None = None
    if rest:
        instances, total_s = sum(row.instances for row in rest), sum(row.total_s for row in rest)
        others = KernelRow(name=_others(len(rest)), instances=instances, total_s=total_s, avg_s=total_s / instances)
        rows.append(others)
    launches = sum(row.instances for row in timeline.kernels)
    title = f"Kernels: {scaled(timeline.gpu_time_s, 's')} in {launches} launches"
    return Table(title=title, columns=_kernel_columns(timeline, others), rows=rows)


def _others(count: int) -> str:
    return f"{count} other{'s' if count > 1 else ''}"


def _ranges(timeline: Timeline, top: int) -> Table[RangeRow]:
    rows, rest = list(timeline.ranges[:top]), timeline.ranges[top:]
    if rest:
        instances, total_s = sum(row.instances for row in rest), sum(row.total_s for row in rest)
        rows.append(RangeRow(name=_others(len(rest)), instances=instances, total_s=total_s, avg_s=total_s / instances))
    columns = _range_columns(timeline)
    named = any(row.domain is not None for row in timeline.ranges)
    display = [column for column in columns if column.name != "process_kernels" and (named or column.name != "domain")]
    return Table(title="NVTX ranges", columns=columns, rows=rows, display=display)


def _operators(timeline: Timeline, top: int) -> Table[OperatorRow]:
    rows, rest = list(timeline.operators[:top]), timeline.operators[top:]
    if rest:
        rows.append(
            OperatorRow(
                name=_others(len(rest)),
                calls=sum(row.calls for row in rest),
                self_s=sum(row.self_s for row in rest),
                total_s=None,
            )
        )
    return Table(title="Operators on the host", columns=_operator_columns(timeline), rows=rows)


def _kernel_columns(timeline: Timeline, others: KernelRow | None = None) -> list[Column[KernelRow]]:
    """:param others: the row that stands for several kernels, which have no kind in common."""
    total_s = timeline.gpu_time_s
    return [
        _number("time_share", "% of\ntime", lambda row: _share(row.total_s, total_s), percent_of),
        _number("total_s", "total", lambda row: row.total_s, _seconds),
        _number("instances", "instances", lambda row: row.instances, drop=1),
        _number("avg_s", "avg", lambda row: row.avg_s, _seconds, drop=2),
        _number("med_s", "med", lambda row: row.med_s, _seconds, drop=4),
        _number("min_s", "min", lambda row: row.min_s, _seconds, drop=6),
        _number("max_s", "max", lambda row: row.max_s, _seconds, drop=5),
        _words("kind", "kind", lambda row: None if row is others else row.kind, drop=3),
        _name(lambda row: row.name),
    ]


def _kind_columns(timeline: Timeline) -> list[Column[KindRow]]:
    total_s = timeline.gpu_time_s
    return [
        _words("kind", "kind", lambda row: row.kind),
        _number("time_share", "% of\ntime", lambda row: _share(row.total_s, total_s), percent_of),
        _number("total_s", "total", lambda row: row.total_s, _seconds),
        _number("instances", "instances", lambda row: row.instances),
        _number("kernels", "kernels", lambda row: row.kernels),
    ]


def _range_columns(timeline: Timeline) -> list[Column[RangeRow]]:
    total_s = sum(row.total_s for row in timeline.ranges)
    return [
        _number("time_share", "% of\ntime", lambda row: _share(row.total_s, total_s), percent_of),
        _number("total_s", "total", lambda row: row.total_s, _seconds),
        _number("instances", "instances", lambda row: row.instances, drop=1),
        _number("avg_s", "avg", lambda row: row.avg_s, _seconds, drop=4),
        _number("med_s", "med", lambda row: row.med_s, _seconds, drop=7),
        _number("min_s", "min", lambda row: row.min_s, _seconds, drop=10),
        _number("max_s", "max", lambda row: row.max_s, _seconds, drop=9),
        _words("style", "style", lambda row: row.style, drop=8),
        _number("kernels", "kernels", lambda row: row.kernels, drop=5),
        _number("kernel_s", "kernels'\ntime", lambda row: row.kernel_s, _seconds, drop=2),
        _number("process_kernels", "kernels of\nall threads", lambda row: row.process_kernels),
        _number("process_kernel_s", "all threads'\ntime", lambda row: row.process_kernel_s, _seconds, drop=3),
        _words("domain", "domain", lambda row: row.domain, drop=6),
        _name(lambda row: row.name, str),
    ]


def _operator_columns(timeline: Timeline) -> list[Column[OperatorRow]]:
    total_s = sum(row.self_s for row in timeline.operators)
    return [
        _number("self_share", "% of\ntime", lambda row: _share(row.self_s, total_s), percent_of),
        _number("self_s", "self", lambda row: row.self_s, _seconds),
        _number("total_s", "with\ncallees", lambda row: row.total_s, _seconds, drop=2),
        _number("calls", "calls", lambda row: row.calls, drop=1),
        _name(lambda row: row.name),
    ]


def _share(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None


def _seconds(value: float) -> str:
    return scaled(value, "s")


def _rate(value: float) -> str:
    return scaled(value, "B/s")


def _number(
    name: str, title: str, get: Callable[[Row], Any], show: Callable[[Any], str] = str, drop: int = 0
) -> Column[Row]:
    return Column(name=name, title=title, get=get, show=show, drop=drop)


def _words(name: str, title: str, get: Callable[[Row], Any], drop: int = 0) -> Column[Row]:
    return Column(name=name, title=title, get=get, right=False, drop=drop)


def _name(get: Callable[[Row], str], plain: Callable[[str], str] = kernel_notes.plain) -> Column[Row]:
    """:param plain: leaves out of a name what a reader has no use for."""
    return Column(
        name="name",
        title="name",
        get=get,
        show=lambda name: operation_notes.kernel(plain(name), _WIDE),
        narrow=lambda name: operation_notes.kernel(plain(name), _NARROW),
        right=False,
    )


_DEVICES: list[Column[DeviceRow]] = [
    _words("device", "GPU", lambda row: row.device),
    _number("busy_share", "busy", lambda row: row.busy.share, percent),
    _number("kernel_share", "kernels\nalone", lambda row: row.kernel_share, percent),
    _number("busy_s", "busy for", lambda row: row.busy.busy_s, _seconds),
    _number("kernel_busy_s", "kernels\nfor", lambda row: row.kernel_busy_s, _seconds, drop=1),
    _number("span_s", "of", lambda row: row.busy.span_s, _seconds),
    _number("gaps", "gaps", lambda row: row.busy.gaps, drop=3),
    _number("longest_gap_s", "longest\ngap", lambda row: row.busy.longest_gap_s, _seconds, drop=2),
    _number("median_gap_s", "median\ngap", lambda row: row.busy.median_gap_s, _seconds, drop=4),
    _number("streams", "streams", lambda row: row.streams, drop=5),
    _number("events", "events", lambda row: row.events, drop=6),
]

_COPIES: list[Column[CopyRow]] = [
    _words("kind", "kind", lambda row: row.kind),
    _number("count", "count", lambda row: row.count),
    _number("total_s", "total", lambda row: row.total_s, _seconds),
    _number("byte", "bytes", lambda row: row.byte, lambda value: scaled(value, "B")),
    _number("byte_per_s", "rate", lambda row: row.byte_per_s, _rate),
]

_DRAM: list[Column[DramRow]] = [
    _words("device", "GPU", lambda row: row.device),
    _number("read_byte_per_s", "read", lambda row: row.read_byte_per_s, _rate),
    _number("write_byte_per_s", "written", lambda row: row.write_byte_per_s, _rate),
    _number("read_share", "read, %\nof peak", lambda row: row.read_share, percent_of),
    _number("write_share", "written, %\nof peak", lambda row: row.write_share, percent_of),
    _number("peak_byte_per_s", "peak", lambda row: row.peak_byte_per_s, _rate, drop=1),
    _number("resolution_byte_per_s", "a sample\ntells", lambda row: row.resolution_byte_per_s, _rate, drop=2),
    _number("window_s", "over", lambda row: row.window_s, _seconds, drop=3),
    _number("samples", "samples", lambda row: row.samples, drop=4),
]
