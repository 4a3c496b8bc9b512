"""Every series judged: its changes, which of them a gate asks about, and what the gate finds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.gate import Found
from roofline.histories.change_points import LEAST_POINTS, SHORTEST, Change, FoundLevels, find_levels, surest_chance
from roofline.histories.series import Series, commits_between
from roofline.text.units import counted, first_lines, signed, signed_range


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The commit after which changes are asked about; ``name`` is for people.

    ``known``: the commit itself, then those before it. What is asked about came after the last result of the first of
    these that a machine has results of.
    """

    name: str
    known: Sequence[Collection[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries:
    """A series and what it shows; ``levels`` is None where it has too few points to show a change. Of the ``settings``
    of a comparison it is judged by the least effect and the confidence.

    ``since`` is the first point after the revision that is asked about: 0 where all of the series is, and None where
    its machine has no result of the revision. ``revision`` is its name, empty where none was asked about.
    """

    series: Series
    settings: Settings
    levels: FoundLevels | None
    revision: str = ""
    since: int | None = 0

    @property
    def changes(self) -> tuple[Change, ...]:
        return () if self.levels is None else self.levels.changes

    @property
    def asked(self) -> tuple[Change, ...]:
        """The changes that are asked about."""
        return tuple(change for change in self.changes if self.since is not None and change.place >= self.since)

    @property
    def slower(self) -> tuple[Change, ...]:
        """Those of them that made it slower, and last."""
        return tuple(change for change in self.asked if change.effect.log_ratio > 0 and self.lasts(change))

    @property
    def drifts(self) -> bool:
        return self.levels is not None and self.levels.drifts

    def lasts(self, change: Change) -> bool:
        """Tell whether the last level is still on that side of the one before the change, by as much as matters."""
        since = sum(other.effect.log_ratio for other in self.changes if other.place >= change.place)
        return math.copysign(since, since * change.effect.log_ratio) >= math.log1p(self.settings.least_effect)

    @property
    def ended(self) -> bool:
        """Tell whether it was last measured before or at the revision."""
        return self.since == len(self.series.entries)

    @property
    def is_new(self) -> bool:
        """Tell whether it was first measured after the revision."""
        return bool(self.revision) and self.since == 0

    @property
    def why_not_judged(self) -> str | None:
        """Say why a change that is asked about could not be seen; None where it could."""
        count = len(self.series.entries)
        if self.since is None:
            return f"no result of {self.revision}, or of a commit before it, on its machine"
        if self.ended:
            return f"not measured after {self.revision}"
        if self.levels is None:
            return f"{counted(count, 'point')}: a change is seen in {SHORTEST} or more"
        if 0 < self.since < LEAST_POINTS or count - self.since < LEAST_POINTS:
            return (
                f"{counted(self.since, 'point')} up to {self.revision} and {count - self.since} after it: a level is"
                f" seen in {LEAST_POINTS} or more"
            )
        return None


def judge_all(series: Sequence[Series], settings: Settings, revision: Revision | None = None) -> list[JudgedSeries]:
    """Judge every series; what became slower stands first, then other changes, drifts, and what is too short last.

    :param revision: what is asked about came after it. Default: all is.
    :raises roofline.histories.change_points.LacksRuptures: it isn't installed.
    """
    known = () if revision is None else revision.known
    last_known = {machine: _last_known(series, machine, known) for machine in {one.machine for one in series}}
    sinces = [0 if revision is None else _since(one, last_known[one.machine]) for one in series]
    level = _level(_chances(series, settings), settings)
    judged = [
        JudgedSeries(
            series=one,
            settings=settings,
            levels=_levels_of(one, since, settings, level),
            revision="" if revision is None else revision.name,
            since=since,
        )
        for one, since in zip(series, sinces, strict=True)
    ]
    return sorted(judged, key=lambda one: (not one.slower, not one.changes, not one.drifts, one.levels is None))


def judge_changed(series: Sequence[Series], settings: Settings) -> list[JudgedSeries]:
    """Judge as `judge_all` does, and keep what changed, in the order given. Much quicker where little has.

    :raises roofline.histories.change_points.LacksRuptures: it isn't installed.
    """
    chances = _chances(series, settings)
    level = _level(chances, settings)
    judged = (
        JudgedSeries(series=one, settings=settings, levels=_levels_of(one, 0, settings, level))
        for one, chance in zip(series, chances, strict=True)
        if chance is not None and chance < 1
    )
    return [one for one in judged if one.changes]


def _last_known(series: Sequence[Series], machine: str, known: Sequence[Collection[str]]) -> str:
    """When a machine's last result of a revision began, as `Revision` has it; empty where there is none."""
    entries = [entry for one in series if one.machine == machine for entry in one.entries]
    lasts = (max((entry.started_at for entry in entries if entry.commit in commits), default="") for commits in known)
    return next(filter(None, lasts), "")


def _since(series: Series, last: str) -> int | None:
    """Count the entries that began no later than the last result of a revision; None where there is none."""
    return sum(entry.started_at <= last for entry in series.entries) if last else None


def _chances(series: Sequence[Series], settings: Settings) -> list[float | None]:
    """Tell how likely the surest change of each series is by chance; None of those too short to show one."""
    level = 1 - settings.confidence
    return [
        surest_chance(one.times_s, level=level, least=settings.least_effect) if len(one.entries) >= SHORTEST else None
        for one in series
    ]


def _level(chances: Iterable[float | None], settings: Settings) -> float:
    """So sure must a change be that of the series with one told no more than asked for have none.

    Y. Benjamini, Y. Hochberg, "Controlling the False Discovery Rate", Journal of the Royal Statistical Society B 57
    (1995): where no series has a change, that any is told one is no likelier, either.
    """
    level = 1 - settings.confidence
    judged = sorted(chance for chance in chances if chance is not None)
    sure = [rank for rank, chance in enumerate(judged, 1) if chance <= level * rank / len(judged)]
    # As sure as one more would have to be: so each series says what would have been told of it.
    return level * min(1.0, (max(sure, default=0) + 1) / max(1, len(judged)))


def _levels_of(one: Series, since: int | None, settings: Settings, level: float) -> FoundLevels | None:
    if len(one.entries) < SHORTEST:
        return None
    return find_levels(
        one.times_s, level=level, confidence=settings.confidence, least=settings.least_effect, asked=since or None
    )


def found_in(judged: Sequence[JudgedSeries], unreadable: Sequence[str], *, verbose: bool) -> list[Found]:
    """List what stands in the way of a pass, or is not covered by it.

    A case that is new since the revision passes in silence until it has points enough.

    :param unreadable: why files that should be results can't be read.
    """
    slower = [f"slower: {line_of(one, change)}" for one in judged for change in one.slower]
    unjudged = [(one, why) for one in judged if not one.is_new and (why := one.why_not_judged) is not None]
    ended = [(one, why) for one, why in unjudged if one.ended]
    nothing_after = len(ended) == len(judged)
    lines = {
        "slower": slower,
        "history too short": [f"{name_of(one)}: {why}" for one, why in unjudged if not one.ended],
        "not measured since": [] if nothing_after else [f"{name_of(one)}: {why}" for one, why in ended],
        "file not read": [f"not read: {reason}" for reason in unreadable],
    }
    found = [
        (situation, line) for situation, of in lines.items() for line in first_lines(situation, of, verbose=verbose)
    ]
    if nothing_after:
        revision = judged[0].revision
        found.append(("nothing to judge", f"nothing was measured after {revision}: give --since an earlier commit"))
    elif all(one.why_not_judged is not None for one in judged):
        found.append(("nothing to judge", "no case has a history in which a change could be seen"))
    return found


def name_of(one: JudgedSeries) -> str:
    return f"{one.series.case} on {one.series.machine}"


def line_of(one: JudgedSeries, change: Change) -> str:
    """Say a change in a line: by how much, where, and how surely."""
    entries, confidence = one.series.entries, one.settings.confidence
    low, high = change.effect.interval(confidence)
    return (
        f"{name_of(one)}: {signed(change.effect.ratio - 1)} ({signed_range((low - 1, high - 1))})"
        f" at {commits_between(entries[change.place - 1], entries[change.place])}, surely within"
        f" {commits_between(entries[change.earliest - 1], entries[change.latest])}"
    )
