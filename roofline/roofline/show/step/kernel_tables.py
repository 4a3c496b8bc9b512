"""The tables of a step's kernels: by the profiler's times, by hardware counters, and counted against counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.counters.counted_kernels import CountedKernel, counted_kernels, flop_by_pipe, without_flop
from roofline.counters.kernel_kinds import kind_of
from roofline.counters.quantities import BY_NAME, LEVELS
from roofline.counters.reconciliation import Reconciled, reconcile
from roofline.model.operations import exceeds
from roofline.model.points import Point
from roofline.schema.amounts import total_of, usable, usable_or_zero
from roofline.schema.record import KernelTime, Record
from roofline.show.columns import between, notes_of, pick, short_bound
from roofline.show.step import step_notes
from roofline.show.step.step_notes import about_busy, kernel
from roofline.show.tables import Column, Table, grouped, number, seconds, share, topped, words
from roofline.text.units import prefixed, scaled, shares, significant

Source = Literal["profiler", "counters"]
_SOURCES: Mapping[Source, str] = {"profiler": "torch's profiler", "counters": "hardware counters"}

_WIDE, _NARROW = 50, 30
"""Characters of a kernel's name that a terminal shows; CSV and JSON have all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLine:
    """One row: all launches of a kernel in one step, or of several kernels together, ``kernels`` of them.

    ``time_s`` is by torch's profiler or, under the counters, by ncu; ``whole_s`` what its share is of: the timed step
    where it is no less than they add up to, or all kernels under the counters.
    """

    point: Point
    source: Source
    name: str
    kind: str | None
    kernels: int = 1
    launches: float
    time_s: float | None
    whole_s: float | None
    counted: CountedKernel | None = None


def kernel_table(point: Point, source: Source, top: int, *, by_kind: bool = False) -> Table[KernelLine] | None:
    """The kernels that torch's profiler saw, or that counters were read of, longest first; None where there are none.

    :param top: how many to show; the others stand in one row.
    :param by_kind: a row for each kind of them. A sum of which a part isn't known isn't known either.
    """
    kernels = _lines(point, source)
    if not kernels:
        return None
    what, columns, thing = ("Kinds of kernels", _KINDS, "kind") if by_kind else ("Kernels", _KERNELS, "kernel")
    return Table(
        title=f"{what} of {point.id}, by {_SOURCES[source]}",
        columns=columns,
        rows=topped(_kinds(kernels) if by_kind else kernels, top, _sum, f"other {thing}"),
        display=_display(source, by_kind=by_kind),
        notes=_about(point, source, kernels),
    )


def kernels_table(points: Sequence[Point], *, by_kind: bool = False) -> Table[KernelLine]:
    """Every kernel, or kind, by both sources, for a program to read; none of a case without a record."""
    points = [point for point in points if point.benchmark.record is not None]
    lines = [_lines(point, source) for point in points for source in _SOURCES]
    return Table(
        title="Kinds of kernels" if by_kind else "Kernels",
        columns=[*(_KINDS if by_kind else _KERNELS), *notes_of(points, of="point")],
        rows=[row for own in lines for row in (_kinds(own) if by_kind else own)],
        notes=[note for point in points for note in step_notes.about_status(_record(point))],
    )


def reconciliation_table(point: Point) -> Table[Reconciled] | None:
    """Hold what was counted against what the counters saw; None without counters."""
    record = _record(point)
    rows = reconcile(record, counted_kernels(record, point.roofs))
    if not rows:
        return None
    return Table(
        title=f"Counted against counters, {point.id}",
        columns=_RECONCILED,
        rows=rows,
        display=[column for column in _RECONCILED if column.name in _RECONCILED_SHOWN],
        notes=step_notes.about_reasons(rows),
    )


def _record(point: Point) -> Record:
    """:param point: of a case, which has a record."""
    record = point.benchmark.record
    assert record is not None
    return record


def _lines(point: Point, source: Source) -> list[KernelLine]:
    """A row for each kernel."""
    record = _record(point)
    kernels: Sequence[CountedKernel | KernelTime]
    if source == "counters":
        kernels = counted_kernels(record, point.roofs)
    else:
        seen = () if record.profile is None else record.profile.kernels
        kernels = [one for one in seen if usable_or_zero(one.time_s) and usable_or_zero(one.launches)]
    whole_s = total_of(one.time_s for one in kernels)
    if source == "profiler":
        step_s = point.step_time_s
        whole_s = None if step_s is None or exceeds(whole_s or 0.0, step_s) else step_s
    return [
        KernelLine(
            point=point,
            source=source,
            name=one.name,
            kind=kind_of(one.name),
            launches=one.launches,
            time_s=one.time_s,
            whole_s=whole_s,
            counted=one if isinstance(one, CountedKernel) else None,
        )
        for one in kernels
    ]


def _about(point: Point, source: Source, rows: Sequence[KernelLine]) -> list[str]:
    """List what stands below a table of kernels, and of their kinds.

    :param rows: a kernel each.
    """
    record = _record(point)
    if source == "profiler":
        return [] if record.profile is None else about_busy(record.profile, point.step_time_s)
    kernels = [row.counted for row in rows if row.counted is not None]
    why = without_flop(kernels)
    unread = [] if why is None else [f"{why[0].upper()}{why[1:]}"]
    return [*step_notes.about_counted(record, kernels), *unread]


def _kinds(rows: Sequence[KernelLine]) -> list[KernelLine]:
    """A row for each kind, that with the most time first.

    :param rows: a kernel each, all of one source.
    """
    kinds = grouped(rows, lambda row: kind_of(row.name))
    return sorted((_sum(of, kind, kind) for kind, of in kinds.items()), key=lambda line: -(line.time_s or 0.0))


def _sum(rows: Sequence[KernelLine], name: str, kind: str | None = None) -> KernelLine:
    """Several kernels in one row.

    :param kind: of all of them; None where they may be of several.
    """
    counted = [row.counted for row in rows if row.counted is not None]
    return KernelLine(
        point=rows[0].point,
        source=rows[0].source,
        name=name,
        kind=kind,
        kernels=sum(row.kernels for row in rows),
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
        byte={level: total_of(one.byte[level] for one in kernels) for level in LEVELS},
        limit="undetermined",
        why="several kernels",
    )


def _share(line: KernelLine) -> float | None:
    if line.time_s is None or line.whole_s is None or not usable(line.whole_s):
        return None
    return line.time_s / line.whole_s


def _bound(line: KernelLine) -> str | None:
    return None if line.counted is None or line.kind is None else line.counted.limit


def _intensity(level: str) -> Column[KernelLine]:
    name = "intensity_flop_per_byte" if level == "dram_byte" else f"{level.removesuffix('byte')}intensity_flop_per_byte"

    def get(line: KernelLine) -> float | None:
        return None if line.counted is None else line.counted.intensity(level)

    return number(name, "FLOP/\nbyte", get, significant)


_KERNELS: tuple[Column[KernelLine], ...] = (
    *pick("machine", "case", of="point"),
    words("source", dtype="category"),
    words(
        "kernel",
        get="name",
        show=lambda name: kernel(step_notes.plain_kernel(name), _WIDE),
        narrow=lambda name: kernel(step_notes.plain_kernel(name), _NARROW),
    ),
    words("kind", narrow=lambda kind: kind.replace("convolution", "conv"), drop=2, dtype="category"),
    number("launches", show=lambda launches: f"{launches:g}", drop=4),
    seconds("time_s", "time"),
    share("share", "% of\ntime", _share, drop=3),
    number("flop", "FLOP", "counted.flop", prefixed),
    words("flop_by_pipe", "FLOP of", "counted.flop_by_pipe", by=lambda pipes: shares(pipes) or None),
    share("tensor_share", "tensor\n%", "counted.tensor_share", drop=1),
    # Of the levels the one that is farthest from DRAM gives way first.
    *(number(level, BY_NAME[level].title, f"counted.byte.{level}", prefixed, drop=n) for n, level in enumerate(LEVELS)),
    *map(_intensity, LEVELS),
    words("bound", get=_bound, narrow=short_bound, dtype="category"),
    words("bound_why", "why", "counted.why"),
    *pick("valid", "file", of="point"),
)
_COLUMNS = {column.name: column for column in (*_KERNELS, number("kernels", drop=5, dtype="Int64"))}


def _pick(*names: str) -> list[Column[KernelLine]]:
    return [_COLUMNS[name] for name in names]


def _display(source: Source, *, by_kind: bool) -> list[Column[KernelLine]]:
    first = _pick(*(("kind", "kernels") if by_kind else ("kernel", "kind")), "launches", "time_s", "share")
    if source == "profiler":
        return [*first[:-1], replace(first[-1], title="% of\nstep")]
    levels, last = (LEVELS, ()) if by_kind else (("dram_byte",), ("bound",))
    return [*first, *_pick("flop", "tensor_share", *levels, "intensity_flop_per_byte", *last)]


_KINDS: tuple[Column[KernelLine], ...] = (
    *_pick("machine", "case", "source", "kind", "kernels"),
    *(column for column in _KERNELS[5:] if column.name not in ("bound", "bound_why")),
)


_RECONCILED: tuple[Column[Reconciled], ...] = (
    words("quantity", get="name", dtype="category"),
    words("unit", dtype="category"),
    number(
        "counted",
        get=lambda row: between(row.counted_low, row.counted_high, lambda value: scaled(value, row.unit)),
        dtype="string",
    ),
    number("counted_low", "least counted"),
    number("counted_high", "most counted"),
    number("counters", show=prefixed),
    number("counters_over_counted", "counters /\ncounted", "ratio", show=significant),
    words("standing", dtype="category"),
    number("launches", drop=1, dtype="Int64"),
    words("reasons", get=lambda row: list(row.reasons)),
)
_RECONCILED_SHOWN = ("quantity", "counted", "counters", "counters_over_counted", "standing", "launches")
