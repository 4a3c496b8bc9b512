"""Every timed round of cases as a figure: how far rounds, repeats and sessions lie from the case's median.

A row has the rounds of one case on one machine in their order, from top to bottom, those of all its sessions one after
the other. Of a single case each session has a row of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.model.point_groups import machine_names
from roofline.model.points import Point
from roofline.plots.row_axes import MOST_ROWS, Rows, draw_rows, row_labels
from roofline.plots.style import NoFigure, handle
from roofline.results.result import plain_times_s
from roofline.schema.amounts import usable
from roofline.show.tables import grouped
from roofline.text.units import counted
from roofline.timing.step_time import has_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_ROW, _LEAST_HEIGHT = 0.32, 1.6
"""Inches."""
_TAKEN = 0.7
"""Share of its row that a case's rounds take."""
_ROUND, _DISTURBED, _STEP_TIME = "#0072B2", "#D55E00", "#000000"


@dataclass(frozen=True, slots=True)
class _Session:
    """Times of one step in seconds: of each round, of each repeat, and the session's own."""

    point: Point
    step_s: float
    rounds_s: Sequence[float]
    disturbed: Sequence[bool]
    repeats_s: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    median_s: float
    sessions: Sequence[_Session]

    @property
    def changes(self) -> list[float]:
        """The difference of each time from the median, relative."""
        times = (time_s for one in self.sessions for time_s in (*one.rounds_s, *one.repeats_s, one.step_s))
        return [time_s / self.median_s - 1 for time_s in times]


class Variability(Rows):
    """Rounds of cases relative to each case's median, by machine: the median of its sessions' step times.

    :param points: all sessions of the cases. Above `MOST_ROWS` cases, those that vary most are drawn.
    :raises NoFigure: no case has rounds with times.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        rows = _rows_of(points)
        if not rows:
            raise NoFigure("no case has the times of its rounds")
        kept = {id(row) for row in sorted(rows, key=lambda row: -max(map(abs, row.changes)))[:MOST_ROWS]}
        self.rows = [row for row in rows if id(row) in kept]
        self.height = max(_LEAST_HEIGHT, _ROW * len(self.rows))
        self.lines = [
            "time of a step in each round, relative to the case's median; in a row, rounds in their order from the top"
        ]
        self.footer = [f"Not drawn: {counted(len(rows) - len(kept), 'case')} that vary less"] * (len(rows) > len(kept))
        sessions = [one for row in self.rows for one in row.sessions]
        self.legend = _legend(
            disturbed=any(any(one.disturbed) for one in sessions), repeats=any(one.repeats_s for one in sessions)
        )

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        for place, row in enumerate(self.rows):
            _draw_row(axes, place, row)
        changes = [change for row in self.rows for change in row.changes]
        labels, remarks = [row.label for row in self.rows], [_remark(row) for row in self.rows]
        draw_rows(axes, labels, remarks, changes, "step time relative to the case's median")


def has_rounds(points: Sequence[Point]) -> bool:
    """Tell whether a case has the times of its rounds."""
    return any(_session_of(point) is not None for point in points)


def _rows_of(points: Sequence[Point]) -> list[_Row]:
    names = machine_names(points)
    sessions = map(_session_of, sorted(points, key=lambda point: point.result.when))
    known = (one for one in sessions if one is not None)
    groups = grouped(known, lambda one: (one.point.machine, *one.point.workload))
    several_machines = len({one.point.machine for group in groups.values() for one in group}) > 1
    one_case = len({one.point.id for group in groups.values() for one in group}) == 1
    named: list[tuple[str, str]] = []
    rows: list[tuple[float, Sequence[_Session]]] = []
    for group in groups.values():
        median_s = statistics.median(one.step_s for one in group)
        point = group[-1].point
        machine = names[point.machine] if several_machines else ""
        if one_case and len(group) > 1:
            named += [(one.point.result.when or one.point.result.path.name, machine) for one in group]
            rows += [(median_s, [one]) for one in group]
        else:
            named.append((machine, "") if one_case and machine else (point.id, machine))
            rows.append((median_s, group))
    return [_Row(label, *row) for label, row in zip(row_labels(named), rows, strict=True)]


def _session_of(point: Point) -> _Session | None:
    record, step_s = point.benchmark.record, point.step_time_s
    if step_s is None or not usable(step_s):
        return None
    if record is None:
        times = plain_times_s(point.benchmark.stats)
        return _Session(point, step_s, times, [False] * len(times), ()) if times else None
    if record.timing is None or not has_times(record.timing.rounds):
        return None
    rounds = record.timing.rounds
    times = [wall_s / rounds.steps for wall_s in rounds.wall_s]
    marks = rounds.disturbed if rounds.disturbed is not None and len(rounds.disturbed) == len(times) else ()
    disturbed = [mark is not None for mark in marks] or [False] * len(times)
    repeats = [time_s for time_s in record.timing.repeat_step_time_s if usable(time_s)]
    return _Session(point, step_s, times, disturbed, repeats)


def _draw_row(axes: Axes, place: int, row: _Row) -> None:
    count = sum(len(one.rounds_s) for one in row.sessions)
    begin = 0
    for one in row.sessions:
        end = begin + len(one.rounds_s)
        heights = [place + _TAKEN * ((index + 0.5) / count - 0.5) for index in range(begin, end)]
        middle = place + _TAKEN * ((begin + end) / 2 / count - 0.5)
        away = [time_s / row.median_s - 1 for time_s in one.rounds_s]
        for disturbed, marker, color in ((False, "o", _ROUND), (True, "x", _DISTURBED)):
            chosen = [index for index, mark in enumerate(one.disturbed) if mark is disturbed]
            if chosen:
                axes.plot(
                    [away[index] for index in chosen],
                    [heights[index] for index in chosen],
                    marker,
                    color=color,
                    markersize=5 if disturbed else 3.2,
                    markeredgewidth=1.2 if disturbed else 0,
                    alpha=0.9 if disturbed else 0.5,
                    zorder=3,
                    label="_disturbed" if disturbed else "_rounds",
                )
        if one.repeats_s:
            places = [time_s / row.median_s - 1 for time_s in one.repeats_s]
            axes.plot(places, [middle] * len(places), "D", zorder=5, label="_repeats", **_REPEAT)
        half = _TAKEN / 2 * (end - begin) / count
        axes.plot(
            [one.step_s / row.median_s - 1] * 2,
            [middle - half, middle + half],
            color=_STEP_TIME,
            linewidth=1.8,
            zorder=4,
            label="_step time",
        )
        begin = end


def _remark(row: _Row) -> str:
    disturbed = sum(sum(one.disturbed) for one in row.sessions)
    parts = [
        counted(sum(len(one.rounds_s) for one in row.sessions), "round"),
        *([f"{len(row.sessions)} sessions"] if len(row.sessions) > 1 else []),
        *([f"{disturbed} disturbed"] if disturbed else []),
        *([] if all(one.point.valid for one in row.sessions) else ["invalid"]),
    ]
    return ", ".join(parts)


_REPEAT: dict[str, Any] = {
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgecolor": _STEP_TIME,
    "markeredgewidth": 1.0,
}


def _legend(*, disturbed: bool, repeats: bool) -> list[Line2D]:
    handles = [handle("a round", color=_ROUND, alpha=0.6, markersize=4)]
    if disturbed:
        handles.append(handle("a disturbed round", marker="x", color=_DISTURBED, markersize=6))
    handles.append(handle("step time of a session", marker="|", color=_STEP_TIME, markersize=11))
    if repeats:
        handles.append(handle("step time of a repeat", marker="D", **_REPEAT))
    return handles
