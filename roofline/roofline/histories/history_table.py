"""Show histories as a table: a row for each level of a case, or for each point in time."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.effect import Effect
from roofline.comparison.observations.runs import setup_differences
from roofline.histories.change_points import SHORTEST, Change, FoundLevels
from roofline.histories.judged_series import JudgedSeries, name_of
from roofline.histories.series import Entry, commits_between
from roofline.show.machine_columns import differences_under_a_label
from roofline.show.tables import Column, Table, ends, number, seconds, share, words
from roofline.text.units import (
    SHOWS_ALL,
    counted,
    first_lines,
    minute,
    named,
    percent,
    short_commit,
    signed,
    signed_range,
    significant,
)

By = Literal["level", "point"]

_SHARED_BY = 3
"""Cases of a machine that change together, at the least, to be told as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """Points of a series from one change to the next. ``change`` is the one it began with; None for the first level."""

    of: JudgedSeries
    change: Change | None
    entries: Sequence[Entry]

    @property
    def levels(self) -> FoundLevels | None:
        return self.of.levels

    @property
    def step_time_s(self) -> float:
        return math.exp(statistics.fmean(math.log(entry.step_time_s) for entry in self.entries))

    @property
    def verdict(self) -> str | None:
        if self.change is not None:
            return "slower" if self.change.effect.log_ratio > 0 else "faster"
        if self.levels is None:
            return "too short"
        if self.levels.changes:
            return None
        return "drifts" if self.levels.drifts else "steady"

    @property
    def lasts(self) -> bool | None:
        return None if self.change is None else self.of.lasts(self.change)

    def interval(self, effect: Effect) -> list[float]:
        """Of the relative change that an effect is."""
        return [end - 1 for end in effect.interval(self.of.settings.confidence)]

    @property
    def change_interval(self) -> list[float] | None:
        return None if self.change is None else self.interval(self.change.effect)

    def entry(self, place: Callable[[Change], int]) -> Entry | None:
        """A point of the series that the change tells of."""
        return None if self.change is None else self.of.series.entries[place(self.change)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """One point of a series. ``level_s`` is what its level is without scatter; None where no level was fitted."""

    of: JudgedSeries
    entry: Entry
    level_s: float | None
    change: Change | None


def history_table(judged: Sequence[JudgedSeries], left_out: Sequence[str], by: By, *, verbose: bool) -> Table[Any]:
    """Show the histories, those with changes first.

    :param left_out: lines on what isn't in them.
    :param verbose: have levels of cases that are too short to be judged, too, and all lines below the table.
    """
    settings = judged[0].settings if judged else Settings()
    short_hidden = by == "level" and not verbose
    shown = [one for one in judged if one.levels is not None or not short_hidden]
    rows: list[Any] = [row for one in shown for row in (_levels_of(one) if by == "level" else _points_of(one))]
    columns = _level_columns(settings.confidence) if by == "level" else _POINT_COLUMNS
    display = _displayed(settings.confidence) if by == "level" else columns
    needed = {"machine": len({one.series.machine for one in judged}) > 1, "drift": any(one.drifts for one in judged)}
    return Table(
        title=sentence(judged),
        columns=columns,
        rows=rows,
        display=[column for column in display if needed.get(column.name, True)],
        notes=[
            *_too_short(judged, hidden=short_hidden),
            *_notes(judged, verbose=verbose),
            *left_out,
        ],
    )


def changes_table(judged: Sequence[JudgedSeries]) -> Table[Any]:
    """Show the changes alone, a row each in the order of the series.

    :param judged: at least one, of one machine.
    """
    columns = _displayed(judged[0].settings.confidence)
    rows = [row for one in judged for row in _levels_of(one) if row.change is not None]
    return Table(
        title=sentence(judged), columns=[column for column in columns if column.name in _OF_CHANGES], rows=rows
    )


def sentence(judged: Sequence[JudgedSeries]) -> str:
    """Say what the histories show."""
    asked = [change for one in judged for change in one.asked]
    slower = sum(change.effect.log_ratio > 0 for change in asked)
    open_ended = [one for one in judged if not one.ended]
    counts = {
        "became slower": slower,
        "became faster": len(asked) - slower,
        "drift": sum(one.drifts for one in judged),
        "not measured": sum(one.ended for one in judged),
        "too short": sum(one.levels is None for one in open_ended),
        "not judged": sum(one.levels is not None and one.why_not_judged is not None for one in open_ended),
    }
    parts = [f"{count} {words}" for words, count in counts.items() if count]
    said = f"History of {counted(len(judged), 'case')}"
    if judged and judged[0].revision:
        said += f" after {judged[0].revision}"
    said += f": {', '.join(parts) or 'no change'}"
    earlier = sum(change.place < (one.since or 0) for one in judged for change in one.changes)
    return f"{said} ({counted(earlier, 'change')} before it)" if earlier else said


def _levels_of(one: JudgedSeries) -> list[_Level]:
    entries = one.series.entries
    starts: list[Change | None] = [None, *one.changes]
    ends = [0, *(change.place for change in one.changes), len(entries)]
    return [
        _Level(of=one, change=change, entries=entries[ends[index] : ends[index + 1]])
        for index, change in enumerate(starts)
    ]


def _points_of(one: JudgedSeries) -> list[_Point]:
    began = {change.place: change for change in one.changes}
    return [
        _Point(
            of=one,
            entry=entry,
            level_s=None if one.levels is None else one.levels.fitted_s[place],
            change=began.get(place),
        )
        for place, entry in enumerate(one.series.entries)
    ]


_CASE: Column[Any] = words("case", get="of.series.case", dtype="category")
_MACHINE: Column[Any] = replace(words("machine", get="of.series.machine", dtype="category"), fill=True)
_CHANGE: Column[Any] = number(
    "change", get=lambda row: None if row.change is None else row.change.effect.ratio - 1, show=signed
)


def _time(name: str, title: str, get: Callable[[Any], str | None], *, drop: int = 0) -> Column[Any]:
    return words(name, title, get, minute, drop=drop, dtype="datetime64[us, UTC]")


def _commit(name: str, get: Callable[[Any], Entry | None]) -> Column[Any]:
    def commit(row: Any) -> str | None:
        entry = get(row)
        return None if entry is None else entry.commit

    return words(name, get=commit)


def _level_columns(confidence: float) -> list[Column[Any]]:
    return [
        _CASE,
        _MACHINE,
        words("verdict", dtype="category"),
        _CHANGE,
        *ends("change", lambda row: row.change_interval),
        number("confidence", get=lambda _: confidence),
        words("lasts", get="lasts", show=lambda value: "yes" if value else "no", dtype="boolean"),
        _time("started_at", "since", lambda row: row.entries[0].started_at),
        _time("last_at", "until", lambda row: row.entries[-1].started_at),
        _commit("commit", lambda row: row.entries[0]),
        _commit("last_commit", lambda row: row.entries[-1]),
        _commit("before_commit", lambda row: row.entry(lambda change: change.place - 1)),
        _commit("surely_after_commit", lambda row: row.entry(lambda change: change.earliest - 1)),
        _commit("surely_by_commit", lambda row: row.entry(lambda change: change.latest)),
        number("points", get=lambda row: len(row.entries), dtype="Int64"),
        seconds("step_time_s", "step"),
        share("scatter", "scatter\n%", "levels.scatter"),
        number("drift", get=lambda row: None if row.levels is None else row.levels.drift.ratio - 1, show=signed),
        *ends("drift", lambda row: None if row.levels is None else row.interval(row.levels.drift)),
        number("least_detectable", "detectable\nfrom", "levels.least_detectable", percent),
    ]


_OF_CHANGES = ("case", "verdict", "change", "interval", "started_at", "commits", "surely", "points", "step_time_s")


def _displayed(confidence: float) -> list[Column[Any]]:
    """Where space is short, what gives way last is what a level is: verdict, change and the commits of it."""
    sure = f"{significant(100 * confidence, 2)} %"
    shown = {column.name: column for column in _level_columns(confidence)}

    def commits(before: Callable[[Change], int], after: Callable[[Change], int]) -> Callable[[_Level], str | None]:
        def get(row: _Level) -> str | None:
            first, last = row.entry(before), row.entry(after)
            return None if first is None or last is None else commits_between(first, last)

        return get

    return [
        _CASE,
        _MACHINE,
        shown["verdict"],
        _CHANGE,
        number("interval", f"{sure} interval", "change_interval", signed_range, drop=5),
        replace(shown["started_at"], drop=2),
        words(
            "commits",
            "likeliest",
            commits(lambda change: change.place - 1, lambda change: change.place),
            narrow=_shorter,
            drop=1,
        ),
        words(
            "surely",
            f"{sure} within",
            commits(lambda change: change.earliest - 1, lambda change: change.latest),
            narrow=_shorter,
            drop=6,
        ),
        replace(shown["points"], drop=4),
        replace(shown["step_time_s"], drop=3),
        number("drift", get=lambda row: shown["drift"].get(row) if row.of.drifts else None, show=signed, drop=2),
        replace(shown["scatter"], drop=7),
        replace(shown["least_detectable"], drop=8),
    ]


def _shorter(commits: str) -> str:
    """Shorten commits to as many digits as git itself shows."""
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]+", r"\1", commits)


_POINT_COLUMNS: tuple[Column[Any], ...] = (
    _CASE,
    _MACHINE,
    _time("started_at", "started (UTC)", lambda row: row.entry.started_at),
    words("commit", get="entry.commit", show=short_commit),
    words("changed", "with changes", "entry.dirty", lambda dirty: "yes" if dirty else "no", drop=1, dtype="boolean"),
    number("sessions", get=lambda row: len(row.entry.sessions), drop=2, dtype="Int64"),
    seconds("step_time_s", "step", "entry.step_time_s"),
    seconds("level_s", "level"),
    _CHANGE,
)


def _too_short(judged: Sequence[JudgedSeries], *, hidden: bool) -> list[str]:
    """At most a line on the cases that are too short.

    :param hidden: they have no rows.
    """
    count = sum(one.levels is None for one in judged)
    if not count:
        return []
    return [
        f"Too short: {counted(count, 'case')} with fewer than the {SHORTEST} points in which a change is seen, each a"
        f" session or a set of them{f' {SHOWS_ALL}' if hidden else ''}"
    ]


def _notes(judged: Sequence[JudgedSeries], *, verbose: bool) -> list[str]:
    undone = [
        f"Undone by later changes: {name_of(one)}: {signed(change.effect.ratio - 1)} since {_since(one, change)}"
        for one in judged
        for change in one.changes
        if not one.lasts(change)
    ]
    sessions = [point for one in judged for entry in one.series.entries for point in entry.sessions]
    return [
        *differences_under_a_label(sessions, partial(named, verbose=verbose)),
        *first_lines("Together", _together(judged), verbose=verbose),
        *first_lines("Beside the code", _beside_the_code(judged), verbose=verbose),
        *first_lines("Undone", undone, verbose=verbose),
    ]


def _since(one: JudgedSeries, change: Change) -> str:
    return minute(one.series.entries[change.place].started_at)


def _beside_the_code(judged: Sequence[JudgedSeries]) -> list[str]:
    """Lines for changes with which something else changed than the code: a version, a limit."""
    cases: dict[str, list[str]] = {}
    for one in judged:
        for change in one.changes:
            before, after = (one.series.entries[place] for place in (change.earliest - 1, change.latest))
            if differing := setup_differences([before.setup], [after.setup]):
                where = f"between {commits_between(before, after)}: {'; '.join(differing)}"
                cases.setdefault(where, []).append(one.series.case)
    return [f"Not only the code changed {where} ({named(of, verbose=False)})" for where, of in cases.items()]


def _together(judged: Sequence[JudgedSeries]) -> list[str]:
    """Lines for changes that half of a machine's cases or more have in common."""
    lines: dict[frozenset[int], str] = {}
    machines: dict[str, list[JudgedSeries]] = {}
    for one in judged:
        if one.levels is not None:
            machines.setdefault(one.series.machine, []).append(one)
    for machine, own in machines.items():
        changed = [one for one in own if one.changes]
        for one, change in [(series, change) for series in changed for change in series.changes]:
            alike = [found for other in changed if (found := _alike(one, change, other)) is not None]
            if len(alike) >= max(_SHARED_BY, len(own) / 2):
                sizes = [found.effect.ratio - 1 for found in alike]
                line = (
                    f"{len(alike)} of {len(own)} cases of {machine} changed together about {_since(one, change)}, by"
                    f" {signed_range((min(sizes), max(sizes)))}: look at the machine first, and at what they share"
                )
                lines.setdefault(frozenset(map(id, alike)), line)
    return list(lines.values())


def _alike(one: JudgedSeries, change: Change, other: JudgedSeries) -> Change | None:
    """The change of another series in the same direction, and perhaps at the same time."""
    began = one.series.entries[change.place].started_at
    for found in other.changes:
        entries = other.series.entries
        at_once = entries[found.earliest].started_at <= began <= entries[found.latest].started_at
        if at_once and found.effect.log_ratio * change.effect.log_ratio > 0:
            return found
    return None
