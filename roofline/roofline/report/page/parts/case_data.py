"""Fill the panel of a case: figures, proofs, flags, command and rounds; and which results have a panel."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from roofline.model.points import Point
from roofline.report.page.cells import Data, rounded, table_data
from roofline.report.page.parts.step_data import step_data
from roofline.schema.amounts import usable
from roofline.schema.record import Check, Flag
from roofline.show.columns import CASE_COLUMNS, pick
from roofline.show.render import one_line, shown
from roofline.show.tables import Column, grouped, words
from roofline.text.printable import printable
from roofline.text.units import counted, minute, short_commit, unit_of

_CHECKS: tuple[Column[Check], ...] = (
    words("proof", get="name"),
    words("outcome", get="status", show=lambda status: status.replace("_", " ")),
    words("evidence"),
)
_FLAGS: tuple[Column[Flag], ...] = (
    words("flag", get="name"),
    words("effect", get=lambda flag: "row is invalid" if flag.invalid else "to be known"),
    words("evidence"),
)
_STEP, *_READINGS = pick("step_time_s", "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c")
"""Columns of a case that name, title and show the readings of its rounds as well."""


def figure_names() -> list[Data]:
    """Name every figure that `case_data` may have, in its order."""
    return [
        {"name": column.name, "title": one_line(column.title), "meaning": column.meaning} for column in CASE_COLUMNS
    ]


def case_data(
    point: Point, machine: str, run: int = 0, standing: str | None = None, sessions: int | None = None
) -> Data:
    """Make the panel of a case. ``figures`` has the texts of those known, by their place in `figure_names`.
    What a case has none of isn't there.

    :param machine: its name on the page.
    :param run: the place of its run among those whose environments the page has.
    :param standing: which result of its case it is, in words; None for the newest.
    :param sessions: the place of the table of its case's sessions; None where it is the only one.
    """
    record = point.benchmark.record
    checks = () if record is None else record.checks
    parts = {
        "standing": standing,
        "unknown": point.placement.why_not,
        "checks": table_data(_CHECKS, checks) if checks else None,
        "flags": table_data(_FLAGS, point.flags) if point.flags else None,
        "rounds": _rounds(point),
        "step": step_data(point),
    }
    texts = [shown(column, point) for column in CASE_COLUMNS]
    return {
        "id": printable(point.id),
        "machine": printable(machine),
        "run": run,
        "figures": {str(index): text for index, text in enumerate(texts) if text not in ("-", "", point.id)},
        "command": command_of(point),
        **({} if sessions is None else {"sessions": sessions}),
        **{name: part for name, part in parts.items() if part},
    }


def command_of(point: Point) -> str:
    """The command line that measures this case alone, as its run did.

    The run's own arguments stand in it, without the files and folders that the test is in.
    """
    session, test = point.result.session, point.benchmark.fullname
    arguments = () if session is None else session.arguments
    return shlex.join(["pytest", *(one for one in arguments if not _holds(one, test)), test])


def _holds(argument: str, test: str) -> bool:
    """Tell whether an argument is the file of the test, a folder above it, or a test in that file."""
    path = PurePosixPath(test.partition("::")[0])
    named = PurePosixPath(argument.partition("::")[0])
    return bool(argument) and not argument.startswith("-") and (named == path or named in path.parents)


def _rounds(point: Point) -> Data | None:
    """Times of a step in each round, disturbed ones by what disturbed them, and readings beside; None without times.

    ``disturbed`` is None where nobody looked for what disturbs.
    """
    record = point.benchmark.record
    if record is None:
        times = [time for time in point.benchmark.stats.round_times_s or () if time is not None and usable(time)]
        return {"steps": 1, "time": _series(_STEP, times), "disturbed": None, "readings": []} if times else None
    rounds = None if record.timing is None else record.timing.rounds
    if rounds is None or rounds.steps < 1 or not rounds.wall_s or not all(map(usable, rounds.wall_s)):
        return None
    marks = rounds.disturbed
    readings = [(column, getattr(rounds, column.name)) for column in _READINGS]
    return {
        "steps": rounds.steps,
        "time": _series(_STEP, [wall / rounds.steps for wall in rounds.wall_s]),
        "disturbed": None if marks is None else {str(place): why for place, why in enumerate(marks) if why is not None},
        "readings": [_series(column, values) for column, values in readings if values],
    }


def _series(column: Column[Any], values: Sequence[float]) -> Data:
    """Values of the rounds; a reading that a round lacks is NaN there, and null here."""
    return {
        "name": column.name,
        "title": one_line(column.title),
        "unit": unit_of(column.name),
        "values": [rounded(value) if math.isfinite(value) else None for value in values],
        "shown": [column.show(value) for value in values],
    }


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
