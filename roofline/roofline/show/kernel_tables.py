"""The tables of a step's kernels: by the profiler's times, by hardware counters, and counted against counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from roofline.counters.counted_kernels import CountedKernel, counted_kernels, flop_by_pipe, without_flop
from roofline.counters.kernel_kinds import kind_of
from roofline.counters.reconciliation import Reconciled, reconcile
from roofline.model.operations import exceeds
from roofline.model.points import Point
from roofline.schema.amounts import total_of, usable, usable_or_zero
from roofline.schema.record import KernelTime, Record
from roofline.show import kernel_notes
from roofline.show.columns import percent_of, prefixed
from roofline.show.operation_notes import about_busy, kernel
from roofline.show.tables import Column, Table
from roofline.text.units import scaled, shares, significant

_WIDE, _NARROW = 50, 30
"""Characters of a kernel's name that a terminal shows; CSV and JSON have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLine:
    """One row: all launches of a kernel in one step, or of several kernels together, ``kernels`` of them.

    ``time_s`` is by torch's profiler or, under the counters, by ncu; ``whole_s`` what its share is of: the timed step
    where it is no less than they add up to, or all kernels under the counters.
    """

    point: Point
    source: Literal["profiler", "counters"]
    name: str
    kind: str | None
    kernels: int = 1
    launches: float
    time_s: float | None
    whole_s: float | None
    counted: CountedKernel | None = None


def profiled_table(point: Point, top: int) -> Table[KernelLine] | None:
    """The kernels that torch's profiler saw, longest first, the others in one row; None where it saw none."""
    rows = _profiled(point)
    if not rows:
        return None
    return Table(
        title=f"Kernels of {point.id}, by torch's profiler",
        columns=_KERNELS,
        rows=_topped(rows, top),
        display=[*_pick("kernel", "kind", "launches", "time_s"), *_of_step()],
        notes=_about_profiled(point),
    )


def counted_table(point: Point, top: int) -> Table[KernelLine] | None:
    """The kernels that hardware counters were read of, as `profiled_table`; None where there are none."""
    rows = _counted(point)
    if not rows:
        return None
    return Table(
        title=f"Kernels of {point.id}, by hardware counters",
        columns=_KERNELS,
        rows=_topped(rows, top),
        display=_pick(
            *("kernel", "kind", "launches", "time_s", "share", "flop", "tensor_share", "dram_byte"),
            *("intensity_flop_per_byte", "bound"),
        ),
        notes=_about_counted(point, rows),
    )


def profiled_kinds_table(point: Point) -> Table[KernelLine] | None:
    """The kinds of the kernels that torch's profiler saw, that with the most time first; None where it saw none."""
    rows = _kinds(_profiled(point))
    if not rows:
        return None
    return Table(
        title=f"Kinds of kernels of {point.id}, by torch's profiler",
        columns=_KINDS,
        rows=rows,
        display=[*_pick("kind", "kernels", "launches", "time_s"), *_of_step()],
        notes=_about_profiled(point),
    )


def counted_kinds_table(point: Point) -> Table[KernelLine] | None:
    """The sums by kind of the kernels that hardware counters were read of; None where there are none.

    A sum of which a part isn't known isn't known either.
    """
    rows = _counted(point)
    if not rows:
        return None
    return Table(
        title=f"Kinds of kernels of {point.id}, by hardware counters",
        columns=_KINDS,
        rows=_kinds(rows),
        display=_pick(
            *("kind", "kernels", "launches", "time_s", "share", "flop", "tensor_share", "dram_byte", "l2_byte"),
            *("l1_byte", "intensity_flop_per_byte"),
        ),
        notes=_about_counted(point, rows),
    )


def kernel_kinds_table(points: Sequence[Point]) -> Table[KernelLine]:
    """Every kind of kernels, by the profiler and by counters, for a program to read."""
    rows = [row for point in points for row in (*_kinds(_profiled(point)), *_kinds(_counted(point)))]
    notes = [note for point in points for note in kernel_notes.about_status(_record(point))]
    return Table(title="Kinds of kernels", columns=_KINDS, rows=rows, notes=notes)


def kernels_table(points: Sequence[Point]) -> Table[KernelLine]:
    """Every kernel, by the profiler and by counters, for a program to read. A case without a record has none."""
    points = [point for point in points if point.benchmark.record is not None]
    rows = [row for point in points for row in (*_profiled(point), *_counted(point))]
    notes = [note for point in points for note in kernel_notes.about_status(_record(point))]
    return Table(title="Kernels", columns=_KERNELS, rows=rows, notes=notes)


def reconciliation_table(point: Point) -> Table[Reconciled] | None:
    """What was counted against what the counters saw; None without counters."""
    record = _record(point)
    rows = reconcile(record, counted_kernels(record, point.roofs))
    if not rows:
        return None
    return Table(
        title=f"Counted against counters, {point.id}",
        columns=_RECONCILED,
        rows=rows,
        display=[column for column in _RECONCILED if column.name in _RECONCILED_SHOWN],
        notes=kernel_notes.about_reasons(rows),
    )


def _record(point: Point) -> Record:
    """:param point: of a case, which has a record."""
    record = point.benchmark.record
    assert record is not None
    return record


def _profiled(point: Point) -> list[KernelLine]:
    profile = _record(point).profile
    kernels = [] if profile is None else [one for one in profile.kernels if _is_usable(one)]
    whole_s = point.step_time_s
    if whole_s is not None and exceeds(sum(one.time_s for one in kernels), whole_s):
        whole_s = None
    return [
        KernelLine(
            point=point,
            source="profiler",
            name=one.name,
            kind=kind_of(one.name),
            launches=one.launches,
            time_s=one.time_s,
            whole_s=whole_s,
        )
        for one in kernels
    ]


def _is_usable(kernel: KernelTime) -> bool:
    return usable_or_zero(kernel.time_s) and usable_or_zero(kernel.launches)


def _counted(point: Point) -> list[KernelLine]:
    kernels = counted_kernels(_record(point), point.roofs)
    whole_s = total_of(one.time_s for one in kernels)
    return [
        KernelLine(
            point=point,
            source="counters",
            name=one.name,
            kind=one.kind,
            launches=one.launches,
            time_s=one.time_s,
            whole_s=whole_s,
            counted=one,
        )
        for one in kernels
    ]


def _about_profiled(point: Point) -> list[str]:
    profile = _record(point).profile
    return [] if profile is None else about_busy(profile, point.step_time_s)


def _about_counted(point: Point, rows: Sequence[KernelLine]) -> list[str]:
    """Below a table of kernels by counters, and of their kinds.

    :param rows: a kernel each.
    """
    kernels = [row.counted for row in rows if row.counted is not None]
    told = without_flop(kernels)
    unread = [] if told is None else [f"{told[0].upper()}{told[1:]}"]
    return [*kernel_notes.about_counted(_record(point), kernels), *unread]


def _topped(rows: Sequence[KernelLine], top: int) -> list[KernelLine]:
    """The first ``top``, and all others in one row, so that the columns add up."""
    shown, rest = list(rows[:top]), rows[top:]
    if not rest:
        return shown
    return [*shown, _sum(rest, f"{len(rest)} other kernel{'' if len(rest) == 1 else 's'}", None)]


def _kinds(rows: Sequence[KernelLine]) -> list[KernelLine]:
    """A row for each kind, that with the most time first.

    :param rows: a kernel each, all of one source.
    """
    kinds: dict[str, list[KernelLine]] = {}
    for row in rows:
        kinds.setdefault(kind_of(row.name), []).append(row)
    return sorted((_sum(of, kind, kind) for kind, of in kinds.items()), key=lambda line: -(line.time_s or 0.0))


def _sum(rows: Sequence[KernelLine], name: str, kind: str | None) -> KernelLine:
    """Several kernels in one row.

    :param kind: of all of them; None where they may be of several.
    """
    counted = [row.counted for row in rows if row.counted is not None]
    return KernelLine(
        point=rows[0].point,
        source=rows[0].source,
        name=name,
        kind=kind,
        kernels=len(rows),
        launches=sum(row.launches for row in rows),
        time_s=total_of(row.time_s for row in rows),
        whole_s=rows[0].whole_s,
        counted=_together(counted) if counted else None,
    )


def _together(kernels: Sequence[CountedKernel]) -> CountedKernel:
    """Sums, as far as all parts of one are known; nothing bounds several."""
    flop = total_of(one.flop for one in kernels)
    return CountedKernel(
        name="others",
        kind="other",
        launches=sum(one.launches for one in kernels),
        time_s=total_of(one.time_s for one in kernels),
        flop=flop,
        flop_by_pipe=None if flop is None else flop_by_pipe(kernels),
        dram_byte=total_of(one.dram_byte for one in kernels),
        l2_byte=total_of(one.l2_byte for one in kernels),
        l1_byte=total_of(one.l1_byte for one in kernels),
        limit="undetermined",
        why="several kernels",
    )


def _share(line: KernelLine) -> float | None:
    if line.time_s is None or line.whole_s is None or not usable(line.whole_s):
        return None
    return line.time_s / line.whole_s


def _of(get: Callable[[CountedKernel], Any]) -> Callable[[KernelLine], Any]:
    return lambda line: None if line.counted is None else get(line.counted)


def _bound(line: KernelLine) -> str | None:
    return None if line.counted is None or line.kind is None else line.counted.limit


def _words(name: str, title: str, get: Callable[[KernelLine], Any], drop: int = 0) -> Column[KernelLine]:
    return Column(name=name, title=title, get=get, right=False, drop=drop)


def _number(
    name: str, title: str, get: Callable[[KernelLine], Any], show: Callable[[Any], str], drop: int = 0
) -> Column[KernelLine]:
    return Column(name=name, title=title, get=get, show=show, drop=drop)


_KERNELS: tuple[Column[KernelLine], ...] = (
    _words("machine", "machine", lambda line: line.point.result.machine_label),
    _words("case", "case", lambda line: line.point.id),
    _words("source", "source", lambda line: line.source),
    Column(
        name="kernel",
        title="kernel",
        get=lambda line: line.name,
        show=lambda name: kernel(kernel_notes.plain(name), _WIDE),
        narrow=lambda name: kernel(kernel_notes.plain(name), _NARROW),
        right=False,
    ),
    Column(
        name="kind",
        title="kind",
        get=lambda line: line.kind,
        narrow=lambda kind: kind.replace("convolution", "conv"),
        right=False,
        drop=2,
    ),
    _number("launches", "launches", lambda line: line.launches, lambda launches: f"{launches:g}", drop=4),
    _number("time_s", "time", lambda line: line.time_s, lambda time_s: scaled(time_s, "s")),
    _number("share", "% of\ntime", _share, percent_of, drop=3),
    _number("flop", "FLOP", _of(lambda one: one.flop), prefixed),
    _words("flop_by_pipe", "FLOP of", _of(lambda one: shares(one.flop_by_pipe or {}) or None)),
    _number("tensor_share", "tensor\n%", _of(lambda one: one.tensor_share), percent_of, drop=1),
    _number("dram_byte", "DRAM\nbyte", _of(lambda one: one.dram_byte), prefixed),
    _number("l2_byte", "L2\nbyte", _of(lambda one: one.l2_byte), prefixed, drop=1),
    _number("l1_byte", "L1\nbyte", _of(lambda one: one.l1_byte), prefixed, drop=2),
    _number("intensity_flop_per_byte", "FLOP/\nbyte", _of(lambda one: one.intensity(one.dram_byte)), significant),
    _number("l2_intensity_flop_per_byte", "of L2", _of(lambda one: one.intensity(one.l2_byte)), significant),
    _number("l1_intensity_flop_per_byte", "of L1", _of(lambda one: one.intensity(one.l1_byte)), significant),
    Column(
        name="bound",
        title="bound",
        get=_bound,
        narrow=lambda limit: "undet." if limit == "undetermined" else limit,
        right=False,
    ),
    _words("bound_why", "why", _of(lambda one: one.why)),
    _words("valid", "valid", lambda line: line.point.valid),
    _words("file", "file", lambda line: line.point.result.path.name),
)
_NUMBER_OF_KERNELS = _number("kernels", "kernels", lambda line: line.kernels, str, drop=5)
_BY_NAME = {column.name: column for column in (*_KERNELS, _NUMBER_OF_KERNELS)}


def _pick(*names: str) -> list[Column[KernelLine]]:
    return [_BY_NAME[name] for name in names]


def _of_step() -> list[Column[KernelLine]]:
    return [replace(column, title="% of\nstep") for column in _pick("share")]


_KINDS: tuple[Column[KernelLine], ...] = tuple(
    _pick(
        *("machine", "case", "source", "kind", "kernels", "launches", "time_s", "share", "flop", "flop_by_pipe"),
        *("tensor_share", "dram_byte", "l2_byte", "l1_byte", "intensity_flop_per_byte", "l2_intensity_flop_per_byte"),
        *("l1_intensity_flop_per_byte", "valid", "file"),
    )
)


def _counted_range(row: Reconciled) -> str | None:
    if row.counted_low is None or row.counted_high is None:
        return None
    low, high = scaled(row.counted_low, row.unit), scaled(row.counted_high, row.unit)
    return high if low == high else f"{low} to {high}"


_RECONCILED: tuple[Column[Reconciled], ...] = (
    Column(name="quantity", title="quantity", get=lambda row: row.name, right=False),
    Column(name="unit", title="unit", get=lambda row: row.unit, right=False),
    Column(name="counted", title="counted", get=_counted_range),
    Column(name="counted_low", title="least counted", get=lambda row: row.counted_low),
    Column(name="counted_high", title="most counted", get=lambda row: row.counted_high),
    Column(
        name="counters", title="counters", get=lambda row: row.counters, show=lambda value: scaled(value, "").strip()
    ),
    Column(name="counters_over_counted", title="counters /\ncounted", get=lambda row: row.ratio, show=significant),
    Column(name="standing", title="standing", get=lambda row: row.standing, right=False),
    Column(name="launches", title="launches", get=lambda row: row.launches, drop=1),
    Column(name="reasons", title="reasons", get=lambda row: list(row.reasons), right=False),
)
_RECONCILED_SHOWN = ("quantity", "counted", "counters", "counters_over_counted", "standing", "launches")
