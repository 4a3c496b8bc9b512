"""What is known of all sessions of a machine's cases, as plain dicts: their rounds, and their history."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from roofline.model.points import Point
from roofline.plots.style import style_for
from roofline.plots.variability import Variability
from roofline.report.page.cells import Data, rounded, table_data
from roofline.report.page.panel.panels import SESSION_COLUMNS, short_commit
from roofline.show.columns import pick
from roofline.show.tables import Column
from roofline.text.units import minute

_MARKS = "crosses: rounds that something outside disturbed; upright lines: repeats"
_LEAST_SESSIONS = 3
"""Two are a comparison."""
_READ_HISTORY = (
    "Step time of each session relative to the median of the case's sessions; bars: margins; invalid results stand in"
    " the table alone; a point opens the panel of its session"
)

_HISTORY: tuple[Column[Point], ...] = (*pick("case"), *SESSION_COLUMNS, *pick("file"))


def rounds_data(sessions: Sequence[Point], points: Sequence[Point]) -> Data | None:
    """A row for each case; None where no case has times of its rounds.

    :param sessions: all results of the machine's cases.
    :param points: the newest, all rows of its table, in their order. ``row`` is the place there.
    """
    try:
        found = Variability(sessions)
    except ValueError:
        return None
    row_of = {id(point): row for row, point in enumerate(points)}
    rows = []
    for one in found.rows:
        own = [row for session in one.sessions if (row := row_of.get(id(session.point))) is not None]
        times = [time_s for session in one.sessions for time_s in session.rounds_s]
        marks = [mark for session in one.sessions for mark in session.disturbed]
        repeats = [time_s for session in one.sessions for time_s in session.repeats_s]
        rows.append(
            {
                "label": one.label,
                "row": own[-1] if own else None,
                "rounds": [_relative(time_s, one.median_s) for time_s in times],
                "disturbed": [index for index, mark in enumerate(marks) if mark],
                "repeats": [_relative(time_s, one.median_s) for time_s in repeats],
            }
        )
    return {"rows": rows, "notes": [*found.lines, _MARKS, *found.footer]}


def has_history(sessions: Sequence[Point]) -> bool:
    """Whether a case of a machine was measured in three sessions or more.

    :param sessions: all results of the machine's cases.
    """
    return bool(_histories(sessions))


def history_data(sessions: Sequence[Point], points: Sequence[Point], number: Callable[[Point], int | None]) -> Data:
    """Each case that has a history, session by session: a table in order of time, and places of a chart.

    ``of`` has for each row of the table that of its case among the newest, ``points`` the places: the row, the run on
    the axis of ``runs``, the step time relative to the median of its case, and the margin on the same scale. ``colors``
    are those of the cases, by the row among the newest: each has its own, as several of one model are drawn.

    :param sessions: all results of the machine's cases.
    :param points: the newest, all rows of its table, in their order.
    :param number: that of a result, by which it is opened; None where it can't be.
    """
    row_of = {point.workload: row for row, point in enumerate(points)}
    histories = sorted(_histories(sessions), key=lambda history: row_of[history[0].workload])
    rows = [point for history in histories for point in history]
    runs = {_run_of(point): point.result for point in sorted(rows, key=_run_of)}
    of = [row_of[point.workload] for point in rows]
    drawn = [str(row) for row in dict.fromkeys(of)]
    colors = style_for(drawn, ())
    return {
        "table": table_data(_HISTORY, rows, opens=[number(point) for point in rows], extra=("file",)),
        "of": of,
        "colors": {row: colors.color(row) for row in drawn},
        "runs": [
            [text for text in (minute(run.when), short_commit(run.commit or "")) if text] for run in runs.values()
        ],
        "points": _places(histories, {run: place for place, run in enumerate(runs)}),
        "notes": [_READ_HISTORY],
    }


def _places(histories: Sequence[Sequence[Point]], place_of: Mapping[tuple[str, str], int]) -> list[Data]:
    """:param place_of: place of each run in order of time."""
    made: list[Data] = []
    start = 0
    for history in histories:
        drawn = {row: time_s for row, one in enumerate(history, start) if one.valid and (time_s := one.step_time_s)}
        median_s = statistics.median(drawn.values()) if drawn else 0.0
        for row, time_s in drawn.items():
            point = history[row - start]
            made.append(
                {
                    "row": row,
                    "run": place_of[_run_of(point)],
                    "change": _relative(time_s, median_s),
                    "margin": rounded((point.margin or 0.0) * time_s / median_s),
                }
            )
        start += len(history)
    return made


def _histories(sessions: Sequence[Point]) -> list[list[Point]]:
    """The results of each workload in order of time, where there are enough."""
    found: dict[tuple[str, str], list[Point]] = {}
    for point in sorted(sessions, key=_run_of):
        found.setdefault(point.workload, []).append(point)
    return [one for one in found.values() if len(set(map(_run_of, one))) >= _LEAST_SESSIONS]


def _run_of(point: Point) -> tuple[str, str]:
    """Sorts by time, and tells runs apart."""
    return point.result.when, str(point.result.path)


def _relative(time_s: float, median_s: float) -> float:
    return rounded(round(time_s / median_s - 1, 5))
