"""Tell what is known of all sessions of a machine's cases, as plain dicts: their rounds, and their history."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.verdict import CONFIDENCE
from roofline.histories.change_points import SHORTEST, LacksRuptures
from roofline.histories.history_table import changes_table
from roofline.histories.judged_series import JudgedSeries, judge_changed
from roofline.histories.series import commits_between, series_of
from roofline.model.points import MachineKey, Point
from roofline.plots.style import NoFigure, style_for
from roofline.plots.variability import Variability
from roofline.report.page.cells import Data, rounded, table_data
from roofline.report.page.parts.case_data import SESSION_COLUMNS
from roofline.show.columns import pick
from roofline.show.tables import Column, grouped
from roofline.text.units import minute, percent, short_commit, signed

_MARKS = "crosses: rounds that something outside disturbed; upright lines: repeats"
_LEAST_SESSIONS = 3
"""Two are a comparison."""
_READ_HISTORY = (
    "Step time of each session relative to the median of the case's sessions; bars: margins; invalid results stand in"
    " the table alone; a point opens the panel of its session"
)
_READ_CHANGES = (
    "Upright lines: where a level changed, as roofline history finds it; shaded: where that surely lies"
    f" ({percent(CONFIDENCE)})"
)
_NO_CHANGES = f"No level is known to have changed; that can be known of a case with {SHORTEST} sessions or more"

_HISTORY: tuple[Column[Point], ...] = (*pick("case"), *SESSION_COLUMNS, *pick("file"))


def rounds_data(sessions: Sequence[Point], points: Sequence[Point]) -> Data | None:
    """A row for each case; None where no case has times of its rounds.

    :param sessions: all results of the machine's cases.
    :param points: the newest, all rows of its table, in their order. ``row`` is the place there.
    """
    try:
        found = Variability(sessions)
    except NoFigure:
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
    """Tell whether a case of a machine was measured in three sessions or more.

    :param sessions: all results of the machine's cases.
    """
    return bool(_histories(sessions))


def changed_histories(sessions: Sequence[Point]) -> tuple[dict[MachineKey, list[JudgedSeries]], str | None]:
    """Judge the histories of all machines together, as `roofline history` does: those that changed, by machine.

    :returns: and why there are none, where they can't be judged.
    """
    of_case = grouped(sessions, lambda point: (point.machine, point.workload))
    # To observe a session takes time, too.
    long = [point for of_one in of_case.values() if len(of_one) >= SHORTEST for point in of_one]
    if not long:
        return {}, None
    try:
        judged = judge_changed(series_of(long)[0], Settings())
    except LacksRuptures as error:
        return {}, f"No changes are marked. {error}"
    return grouped(judged, lambda one: one.series.entries[0].sessions[0].machine), None


def history_data(
    sessions: Sequence[Point],
    points: Sequence[Point],
    number: Callable[[Point], int | None],
    changed: Sequence[JudgedSeries] = (),
    why_not: str | None = None,
) -> Data:
    """Each case that has a history, session by session: a table in order of time, and places of a chart.

    ``of`` has for each row of the table that of its case among the newest, ``points`` the places: the row, the run on
    the axis of ``runs``, the step time relative to the median of its case, and the margin on the same scale. ``colors``
    are those of the cases, by the row among the newest: each has its own, as several of one model are drawn.
    ``changes`` are a table, and a place of the chart for each of its rows; None where there is none.

    :param sessions: all results of the machine's cases.
    :param points: the newest, all rows of its table, in their order.
    :param number: that of a result, by which it is opened; None where it can't be.
    :param changed: the histories that changed; ``why_not``: why none is known.
    """
    row_of = {point.workload: row for row, point in enumerate(points)}
    histories = sorted(_histories(sessions), key=lambda history: row_of[history[0].workload])
    rows = [point for history in histories for point in history]
    runs = {_run_of(point): point.result for point in sorted(rows, key=_run_of)}
    of = [row_of[point.workload] for point in rows]
    drawn = [str(row) for row in dict.fromkeys(of)]
    place_of = {run: place for place, run in enumerate(runs)}
    colors = style_for(drawn, ())
    return {
        "table": table_data(_HISTORY, rows, opens=[number(point) for point in rows], extra=("file",)),
        "of": of,
        "colors": {row: colors.color(row) for row in drawn},
        "runs": [
            [text for text in (minute(run.when), short_commit(run.commit or "")) if text] for run in runs.values()
        ],
        "points": _places(histories, place_of),
        "changes": _changes(changed, number, {id(point): row for row, point in enumerate(rows)}, place_of),
        "notes": [_READ_HISTORY, why_not or (_READ_CHANGES if changed else _NO_CHANGES)],
    }


def _changes(
    changed: Sequence[JudgedSeries],
    number: Callable[[Point], int | None],
    row_of: Mapping[int, int],
    place_of: Mapping[tuple[str, str], int],
) -> Data | None:
    """Places are those of runs, ``at`` lies between two. ``row`` is that of the first session after the change.

    :param row_of: the row of each session in the table of all.
    """
    if not changed:
        return None
    places: list[Data] = []
    opens: list[int | None] = []
    for one in changed:
        first, last = ([place_of[_run_of(entry.sessions[end])] for entry in one.series.entries] for end in (0, -1))
        for change in one.changes:
            before, after = one.series.entries[change.place - 1], one.series.entries[change.place]
            opens.append(number(after.sessions[0]))
            places.append(
                {
                    "row": row_of[id(after.sessions[0])],
                    "change": rounded(change.effect.ratio - 1),
                    "text": signed(change.effect.ratio - 1),
                    "commits": commits_between(before, after),
                    "at": (last[change.place - 1] + first[change.place]) / 2,
                    "from": last[change.earliest - 1],
                    "to": first[change.latest],
                }
            )
    table = changes_table(changed)
    return {"places": places, "table": table_data(table.columns, table.rows, opens=opens)}


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
    found = grouped(sorted(sessions, key=_run_of), lambda point: point.workload)
    return [one for one in found.values() if len(set(map(_run_of, one))) >= _LEAST_SESSIONS]


def _run_of(point: Point) -> tuple[str, str]:
    """Sorts by time, and tells runs apart."""
    return point.result.when, str(point.result.path)


def _relative(time_s: float, median_s: float) -> float:
    return rounded(round(time_s / median_s - 1, 5))
