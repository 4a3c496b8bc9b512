"""Several files of a timeline profiler, as a job of many ranks leaves them: what each has, and what they have together.

Nothing is summed up over files: their clocks and GPUs are their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from roofline.profilers.timeline import Section, Timeline
from roofline.profilers.timeline_report import document, rows_table, tables
from roofline.show.tables import Column, Table
from roofline.text.units import percent, scaled

UNREADABLE = "unreadable"
"""The error of a file of which nothing is known but why."""


def unreadable(path: Path, reason: str) -> Timeline:
    """What stands for a file that can't be read, so that those beside it can be shown."""
    sections = {"file": Section(state="failed", reason=reason)}
    return Timeline(path=path, layout=None, sections=sections, error=UNREADABLE)


def documents(timelines: Sequence[Timeline]) -> dict[str, Any]:
    """Of each file what `document` has of it, those included that can't be used."""
    return {"files": [document(one) for one in timelines]}


def joined_rows(timelines: Sequence[Timeline]) -> Table[dict[str, Any]]:
    """The one table that CSV has: the kernels of every file, or the operators where none has a kernel.

    :param timelines: one or more.
    """
    chosen = [one for one in timelines if (one.kernels if _on_gpu(timelines) else one.operators)] or timelines
    own = [(str(one.path), rows_table(one)) for one in chosen]
    names = ["file", *(column.name for column in own[0][1].columns)]
    rows = [
        {"file": file, **{column.name: column.get(row) for column in table.columns}}
        for file, table in own
        for row in table.rows
    ]
    columns: list[Column[dict[str, Any]]] = [Column(name=name, title=name, get=itemgetter(name)) for name in names]
    return Table(title=own[0][1].title, columns=columns, rows=rows)


def without_rows(timelines: Sequence[Timeline]) -> list[Path]:
    """Files with operators and no kernel, which have no row in `joined_rows` where others have kernels."""
    return [one.path for one in timelines if _on_gpu(timelines) and one.operators and not one.kernels]


def _on_gpu(timelines: Sequence[Timeline]) -> bool:
    return any(one.kernels for one in timelines)


def tables_of_files(timelines: Sequence[Timeline], top: int) -> list[Table[Any]]:
    """One with a row a file, then those of each file under its name.

    :param top: as of `tables`.
    """
    names = _names([one.path for one in timelines])
    made: list[Table[Any]] = [_overview(timelines, names)]
    for one in timelines:
        made += [replace(table, title=f"{names[one.path]}: {table.title}") for table in tables(one, top)]
    return made


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """What each is called among the others: the name of the file, where no two have the same."""
    short = {path.name for path in paths}
    return {path: path.name if len(short) == len(paths) else str(path) for path in paths}


def _overview(timelines: Sequence[Timeline], names: dict[Path, str]) -> Table[Timeline]:
    columns: list[Column[Timeline]] = [
        Column(name="file", title="file", get=lambda one: names[one.path], right=False),
        Column(name="rank", title="rank", get=lambda one: one.rank, drop=3),
        Column(name="state", title="state", get=lambda one: one.state, right=False),
        Column(name="gpu_time_s", title="kernels'\ntime", get=lambda one: one.gpu_time_s, show=_seconds),
        Column(name="launches", title="launches", get=_launches, drop=4),
        Column(name="busy_share", title="busy", get=_busy, show=percent, drop=1),
        Column(name="step_s", title="step,\nmedian", get=_step, show=_seconds, drop=2),
    ]
    several = sum(len(one.devices) > 1 for one in timelines)
    notes = [f"No busy share of a file with several GPUs ({several}): each GPU has its own."] if several else []
    return Table(title=f"{len(timelines)} files", columns=columns, rows=timelines, notes=notes)


def _seconds(value: float) -> str:
    return scaled(value, "s")


def _launches(timeline: Timeline) -> int | None:
    return sum(row.instances for row in timeline.kernels) if timeline.kernels else None


def _busy(timeline: Timeline) -> float | None:
    return timeline.devices[0].busy.share if len(timeline.devices) == 1 else None


def _step(timeline: Timeline) -> float | None:
    return None if timeline.steps is None else timeline.steps.median_s
