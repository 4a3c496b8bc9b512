"""Which results have a panel, the numbers that open them, and the sessions of a case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from roofline.model.points import Point
from roofline.report.page.cells import Data, table_data
from roofline.show.columns import pick
from roofline.show.tables import Column, grouped, words
from roofline.text.units import counted, minute, short_commit

MOST_OLDER = 2000
"""Panels of results that aren't the newest of their case: each takes 4 ms, and up to 2.5 kB."""


SESSION_COLUMNS: tuple[Column[Point], ...] = (
    words("started_at", "started (UTC)", lambda point: point.result.when or None, minute),
    *(replace(column, show=short_commit) for column in pick("commit")),
    words("changed", "with changes", "result.commit_dirty", lambda dirty: "yes" if dirty else "no"),
    *pick("step_time_s", "margin", "samples_per_s", "flags"),
)
"""A session of a case, beside the file that it is in."""


class Panels:
    """The results that a reader can open. ``points`` are numbered by their place: those of the page in its order, then
    older ones of their cases and those of the baseline.

    :param shown: the results of the page, in its order: of each case the newest.
    :param sessions: all results of the page's cases.
    :param baseline: of each compared case the result that the page shows, if it does, and those of the baseline.
    """

    def __init__(
        self,
        shown: Sequence[Point],
        sessions: Sequence[Point],
        baseline: Iterable[tuple[Point | None, Sequence[Point]]] = (),
    ) -> None:
        of_case = grouped(sessions, _case_of)
        self._baseline: set[int] = set()
        for of_page, before in baseline:
            self._baseline.update(map(id, before))
            # A case that only the baseline has is one of its own.
            key: object = ("removed", len(of_case)) if of_page is None else _case_of(of_page)
            of_case.setdefault(key, []).extend(before)
        self._shown = set(map(id, shown))
        others = [point for of_one in of_case.values() for point in of_one if id(point) not in self._shown]
        newest_first = sorted(others, key=lambda point: point.result.when, reverse=True)
        kept = set(map(id, newest_first[:MOST_OLDER]))
        self._left_out = len(others) - len(kept)
        self.points = [*shown, *(point for point in others if id(point) in kept)]
        self._number = {id(point): number for number, point in enumerate(self.points)}
        self._several = [of_one for of_one in of_case.values() if len(of_one) > 1]
        self._place = {id(point): place for place, of_one in enumerate(self._several) for point in of_one}

    @property
    def notes(self) -> list[str]:
        """Say what has no panel."""
        if not self._left_out:
            return []
        return [f"{counted(self._left_out, 'older result')} can't be opened: the newest {MOST_OLDER} of them can"]

    def number(self, point: Point) -> int | None:
        """The number by which a result is opened; None where it has no panel."""
        return self._number.get(id(point))

    def standing(self, point: Point) -> str | None:
        """Say of a result that isn't the page's which one it is."""
        if id(point) in self._shown:
            return None
        what = "Baseline" if id(point) in self._baseline else "Older result"
        return f"{what}: {point.result.run_name}"

    def place(self, point: Point) -> int | None:
        """Give the place of its case's in `sessions`; None where it is the only one."""
        return self._place.get(id(point))

    def sessions(self) -> list[Data]:
        """A table of the sessions of each case that has several, the newest first."""
        side: Column[Point] = words("side", get=lambda point: "baseline" if id(point) in self._baseline else None)
        columns = [*pick("file"), side, *SESSION_COLUMNS]
        tables = []
        for of_one in self._several:
            rows = sorted(of_one, key=lambda point: point.result.when, reverse=True)
            tables.append(table_data(columns, rows, opens=[self.number(point) for point in rows]))
        return tables


def _case_of(point: Point) -> object:
    return point.machine, point.workload
