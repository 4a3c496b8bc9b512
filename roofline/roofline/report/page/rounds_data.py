"""Rounds of a machine's cases relative to each case's median, as plain dicts: of all sessions, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.model.points import Point
from roofline.plots.variability import Variability
from roofline.report.page.cells import Data, rounded

_MARKS = "crosses: rounds that something outside disturbed; upright lines: repeats"


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


def _relative(time_s: float, median_s: float) -> float:
    return rounded(round(time_s / median_s - 1, 5))
