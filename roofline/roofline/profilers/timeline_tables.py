"""Show what was read of a timeline profiler's files: as tables for people, and as records for programs.

Nothing is summed up over several files, as a job of many ranks leaves them: their clocks and GPUs are their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from roofline.profilers.timeline import KernelRow, OperatorRow, RangeRow, Section, Timeline
from roofline.schema.record_json import strict
from roofline.show.step import step_notes
from roofline.show.tables import Column, Table, number, seconds, share, topped, words
from roofline.text.units import percent, scaled

UNREADABLE = "unreadable"
"""The error of a file of which nothing is known but why."""

_WIDE, _NARROW = 60, 36
"""Characters of a kernel's name that a terminal shows."""


def unreadable(path: Path, reason: str) -> Timeline:
    """Make what stands for a file that can't be read, so that those beside it can be shown."""
    sections = {"file": Section(state="failed", reason=reason)}
    return Timeline(path=path, layout=None, sections=sections, error=UNREADABLE)


def records(timeline: Timeline) -> list[dict[str, Any]]:
    """Everything as records of JSON, in SI units: seconds, bytes, byte/s, shares from 0 to 1.

    ``table`` says of which table a record is: ``files`` has the one of the file itself, ``sections`` whether each part
    of it is whole. What can't be had is null, and its section says why.
    """
    steps = timeline.steps
    about_file = {name: getattr(timeline, name) for name in _ABOUT_FILE}
    marked = {"steps": steps and steps.count, "step_s": steps and steps.median_s}
    content = [("files", about_file | marked)]
    content += [
        ("sections", {"section": name, "state": section.state, "reason": section.reason})
        for name, section in timeline.sections.items()
    ]
    content += [
        (name, {column.name: column.get(row) for column in table.columns})
        for name, table in _tables(timeline).items()
        for row in table.rows
    ]
    result: list[dict[str, Any]] = strict(
        [{"table": name, "file": str(timeline.path), **values} for name, values in content]
    )
    return result


_ABOUT_FILE = ("layout", "tool", "schema", "rank", "state", "error", "gpu_time_s")


def rows_table(timeline: Timeline) -> Table[Any]:
    """The one table that CSV has: every kernel, or every operator of what ran without a GPU."""
    return _tables(timeline)["operators" if timeline.operators and not timeline.kernels else "kernels"]


def tables(timeline: Timeline, top: int) -> list[Table[Any]]:
    """Those that have a row; below the last one what a reader of the numbers must know. Of a useless file its error
    says that.

    :param top: rows of kernels, ranges and operators to show; the others stand in one, so that the columns add up.
    """
    made = [
        replace(one, rows=topped(one.rows, top, _together)) if name in _LONG else one
        for name, one in _tables(timeline).items()
        if one.rows
    ]
    if made and not timeline.useless:
        made[-1] = replace(made[-1], notes=about(timeline))
    return made


_LONG = ("kernels", "nvtx", "operators")
"""Tables that may have very many rows."""


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


def joined_rows(timelines: Sequence[Timeline]) -> Table[dict[str, Any]]:
    """The one table that CSV has of several files: the kernels of every file, or the operators where none has a kernel.

    :param timelines: one or more.
    """
    chosen = [one for one in timelines if (one.kernels if _on_gpu(timelines) else one.operators)] or timelines
    own = [(str(one.path), rows_table(one)) for one in chosen]
    rows = [
        {"file": file, **{column.name: column.get(row) for column in table.columns}}
        for file, table in own
        for row in table.rows
    ]
    first = own[0][1]
    columns = [words("file", dtype="category"), *first.columns]
    return Table(title=first.title, columns=[replace(one, get=itemgetter(one.name)) for one in columns], rows=rows)


def without_rows(timelines: Sequence[Timeline]) -> list[Path]:
    """Files with operators and no kernel, which have no row in `joined_rows` where others have kernels."""
    return [one.path for one in timelines if _on_gpu(timelines) and one.operators and not one.kernels]


def _on_gpu(timelines: Sequence[Timeline]) -> bool:
    return any(one.kernels for one in timelines)


def tables_of_files(timelines: Sequence[Timeline], top: int) -> list[Table[Any]]:
    """One with a row a file, then those of each file under its name: that of the file, where no two have the same.

    :param top: as of `tables`.
    """
    short = len({one.path.name for one in timelines}) == len(timelines)
    names = {one.path: one.path.name if short else str(one.path) for one in timelines}
    several = sum(len(one.devices) > 1 for one in timelines)
    files: Table[Any] = Table(
        title=f"{len(timelines)} files",
        columns=[words("file", get=lambda one: names[one.path]), *_FILES],
        rows=timelines,
        notes=[f"No busy share of a file with several GPUs ({several}): each GPU has its own."] if several else [],
    )
    own = [replace(table, title=f"{names[one.path]}: {table.title}") for one in timelines for table in tables(one, top)]
    return [files, *own]


def _tables(timeline: Timeline) -> Mapping[str, Table[Any]]:
    """Every table, with all of its rows, by its name in JSON."""
    ranges = [_share_of("total_s", timeline.ranges), *_RANGES]
    named = any(row.domain is not None for row in timeline.ranges)
    shown = [one for one in ranges if one.name != "process_kernels" and (named or one.name != "domain")]
    return {
        "kernels": Table(
            title=f"Kernels: {scaled(timeline.gpu_time_s, 's')} in {timeline.launches or 0} launches",
            columns=[_share_of("total_s", timeline.kernels), *_KERNELS],
            rows=timeline.kernels,
        ),
        "kinds": Table(
            title="Kinds of kernels",
            columns=[_KINDS[0], _share_of("total_s", timeline.kernels), *_KINDS[1:]],
            rows=timeline.by_kind(),
        ),
        "devices": Table(title="GPUs", columns=_DEVICES, rows=timeline.devices),
        "memcpy": Table(title="Copies and fills", columns=_COPIES, rows=timeline.copies),
        "dram": Table(title="DRAM while there was work", columns=_DRAM, rows=timeline.dram),
        "nvtx": Table(title="NVTX ranges", columns=ranges, rows=timeline.ranges, display=shown),
        "operators": Table(
            title="Operators on the host",
            columns=[_share_of("self_s", timeline.operators, "self_share"), *_OPERATORS],
            rows=timeline.operators,
        ),
    }


def _together(rest: Sequence[Any], name: str) -> KernelRow | RangeRow | OperatorRow:
    if isinstance(rest[0], OperatorRow):
        calls, self_s = sum(row.calls for row in rest), sum(row.self_s for row in rest)
        return OperatorRow(name=name, calls=calls, self_s=self_s, total_s=None)
    instances, total_s = sum(row.instances for row in rest), sum(row.total_s for row in rest)
    values = {"name": name, "instances": instances, "total_s": total_s, "avg_s": total_s / instances}
    return RangeRow(**values) if isinstance(rest[0], RangeRow) else KernelRow(**values, others=True)


def _name(plain: Callable[[str], str] = step_notes.plain_kernel) -> Column[Any]:
    """:param plain: leaves out of a name what a reader has no use for."""
    return words(
        "name",
        show=lambda name: step_notes.kernel(plain(name), _WIDE),
        narrow=lambda name: step_notes.kernel(plain(name), _NARROW),
    )


def _share_of(part: str, rows: Sequence[Any], name: str = "time_share") -> Column[Any]:
    """Of the sum over all rows."""
    of, whole = attrgetter(part), sum(map(attrgetter(part), rows))
    return share(name, "% of\ntime", lambda row: of(row) / whole if whole else None)


_rate = partial(number, show=lambda value: scaled(value, "B/s"))

_KERNELS = (
    seconds("total_s", "total"),
    number("instances", drop=1, dtype="Int64"),
    seconds("avg_s", "avg", drop=2),
    seconds("med_s", "med", drop=4),
    seconds("min_s", "min", drop=6),
    seconds("max_s", "max", drop=5),
    words("kind", drop=3, dtype="category"),
    _name(),
)
_KINDS = (
    words("kind", dtype="category"),
    seconds("total_s", "total"),
    number("instances", dtype="Int64"),
    number("kernels", dtype="Int64"),
)
_RANGES = (
    seconds("total_s", "total"),
    number("instances", drop=1, dtype="Int64"),
    seconds("avg_s", "avg", drop=4),
    seconds("med_s", "med", drop=7),
    seconds("min_s", "min", drop=10),
    seconds("max_s", "max", drop=9),
    words("style", drop=8, dtype="category"),
    number("kernels", drop=5, dtype="Int64"),
    seconds("kernel_s", "kernels'\ntime", drop=2),
    number("process_kernels", "kernels of\nall threads", dtype="Int64"),
    seconds("process_kernel_s", "all threads'\ntime", drop=3),
    words("domain", drop=6, dtype="category"),
    _name(str),
)
_OPERATORS = (
    seconds("self_s", "self"),
    seconds("total_s", "with\ncallees", drop=2),
    number("calls", drop=1, dtype="Int64"),
    _name(),
)
_DEVICES = (
    words("device", "GPU", dtype="category"),
    number("busy_share", "busy", show=percent, get="busy.share"),
    number("kernel_share", "kernels\nalone", show=percent),
    seconds("busy_s", "busy for", get="busy.busy_s"),
    seconds("kernel_busy_s", "kernels\nfor", drop=1),
    seconds("span_s", "of", get="busy.span_s"),
    number("gaps", drop=3, get="busy.gaps", dtype="Int64"),
    seconds("longest_gap_s", "longest\ngap", drop=2, get="busy.longest_gap_s"),
    seconds("median_gap_s", "median\ngap", drop=4, get="busy.median_gap_s"),
    number("streams", drop=5, dtype="Int64"),
    number("events", drop=6, dtype="Int64"),
)
_COPIES = (
    words("kind", dtype="category"),
    number("count", dtype="Int64"),
    seconds("total_s", "total"),
    number("byte", "bytes", show=lambda value: scaled(value, "B")),
    _rate("byte_per_s", "rate"),
)
_DRAM = (
    words("device", "GPU", dtype="category"),
    _rate("read_byte_per_s", "read"),
    _rate("write_byte_per_s", "written"),
    share("read_share", "read, %\nof peak"),
    share("write_share", "written, %\nof peak"),
    _rate("peak_byte_per_s", "peak", drop=1),
    _rate("resolution_byte_per_s", "a sample\ntells", drop=2),
    seconds("window_s", "over", drop=3),
    number("samples", drop=4, dtype="Int64"),
)
_FILES = (
    number("rank", drop=3, dtype="Int64"),
    words("state", dtype="category"),
    seconds("gpu_time_s", "kernels'\ntime"),
    number("launches", drop=4, dtype="Int64"),
    number("busy_share", "busy", show=percent, drop=1),
    seconds("step_s", "step,\nmedian", drop=2, get="steps.median_s"),
)
