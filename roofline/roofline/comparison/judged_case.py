"""One case of two sides, and what comes of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.effect import Effect, Prior, effect_of
from roofline.comparison.effects.exact import ExactChange, exact_change
from roofline.comparison.effects.verdict import Verdict
from roofline.comparison.observations.observation import Observation
from roofline.comparison.observations.runs import changed_roofs
from roofline.comparison.sides.compared_figures import FIGURES, FigureName, FigureOutcome
from roofline.comparison.sides.matching import MatchedCase
from roofline.comparison.sides.session_results import By, SessionResult
from roofline.text.units import significant, some_of

BIMODAL_SHARE = 0.5
"""A side of which so many sessions or more fall into two clusters each has no time to be judged by."""

Outcome = FigureOutcome | Literal["removed", "not comparable", "invalid", "new"]
OUTCOMES: tuple[Outcome, ...] = (
    *("slower", "more", "removed", "not comparable", "invalid"),
    *("inconclusive", "new", "faster", "less", "same"),
)
"""Worst first, as they are shown."""

WORSE: tuple[Outcome, ...] = ("slower", "more")
BETTER: tuple[Outcome, ...] = ("faster", "less")

MATCHED: tuple[Outcome, ...] = (*WORSE, *BETTER, "same", "inconclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSummary:
    """A case on one side: geometric means over its sessions. ``value`` is of the figure that is compared, in its unit.
    Fractions are of the machine's own measured roofs.

    Of the sessions' rounds ``outliers`` are far longer than their session's median (see
    `roofline.comparison.observations.observation.OUTLIER`), and the slowest is ``slowest_round`` times the median.
    """

    value: float
    fraction_of_roof: float | None
    fraction_of_speed_of_light: float | None
    outliers: int
    slowest_round: float


@dataclass(slots=True, kw_only=True)
class Compared:
    """One case. What wasn't judged has no ``effect``; ``least`` is the least effect that mattered in it.

    ``by_figures``: ``why`` says no more than the effect and its interval do. ``more_sessions`` and
    ``least_detectable`` are the verdict's. ``own`` is its effect beside a change that all cases share, ``apart``
    whether that is shown and matters.
    """

    match: MatchedCase
    outcome: Outcome
    why: str = ""
    by_figures: bool = False
    more_sessions: int | None = None
    least_detectable: float | None = None
    least: float | None = None
    effect: Effect | ExactChange | None = None
    base: SideSummary | None = None
    new: SideSummary | None = None
    figure: FigureName = "step_time"
    own: Effect | None = None
    apart: bool = False

    @property
    def change(self) -> float | None:
        """Of the figure, relative: 0.05 is 5 % more."""
        return None if self.effect is None else self.effect.ratio - 1

    @property
    def kind(self) -> str:
        """The verdict with the figure it is of, where that isn't the step time: ``more (peak memory)``."""
        named = "" if self.figure == "step_time" else f" ({FIGURES[self.figure].title})"
        return f"{self.outcome}{named}"

    def judge_by(self, prior: Prior | None) -> None:
        """Take what is known of the case's scatter from ``prior``; None for a figure that has none."""
        before, now = map(_observations, (self.match.base, self.match.new))
        self.effect = exact_change(before, now) if prior is None else effect_of(before, now, prior)

    def decide(self, verdict: Verdict, by: By) -> None:
        """Take the verdict, unless something beside the effect is in its way."""
        if (bimodal := self._bimodal()) is not None:
            self.outcome, self.why = "inconclusive", bimodal
        elif verdict.kind == "same" and any(one.side == "new" for one in self.match.missing):
            self.outcome = "inconclusive"
            self.why = f"no difference that matters, but not in every session: {self.match.why_missing}"
        elif verdict.kind in ("slower", "faster") and by == "roof" and (changed := self._changed_roofs()) is not None:
            self.outcome, self.why = "not comparable", changed
        else:
            self.outcome, self.why = FIGURES[self.figure].outcome(verdict.kind), verdict.why
            self.by_figures, self.more_sessions = verdict.by_figures, verdict.more_sessions
            self.least_detectable = verdict.least_detectable

    def _changed_roofs(self) -> str | None:
        """Say why a difference by roof is that of the roofs; None where the step times differ, too."""
        assert self.base is not None
        assert self.new is not None
        assert self.least is not None
        changed = self.new.value / self.base.value
        if abs(math.log(changed)) >= math.log1p(self.least):
            return None
        if not changed_roofs([one.run for one in self.match.base], [one.run for one in self.match.new]):
            return None
        return (
            f"the roofs changed, not the case: its step time differs by {significant(100 * (changed - 1))} %."
            " Compare times (--by time), or measure both sides again on an idle machine"
        )

    def _bimodal(self) -> str | None:
        """Say why the times of a side are the time of nothing; None where they can be judged.

        They can where every round of one side took longer than any of the other: whichever cluster is meant.
        """
        base, new = self.match.base, self.match.new
        assert self.least is not None
        for name, side in (("baseline", base), ("new", new)):
            found = [one for one in side if one.bimodal]
            if len(found) >= BIMODAL_SHARE * len(side) and not _apart(base, new, self.least):
                return f"bimodal: {name}: {found[0].bimodal} ({found[0].run.file})"
        return None


def matched_case(case: MatchedCase, settings: Settings) -> Compared:
    """A case with its effect by what is assumed of its scatter, before it is decided."""
    base, new = _summary(case.base), _summary(case.new)
    least = max(settings.least_effect, settings.floor_s / base.value)
    found = Compared(match=case, outcome="inconclusive", least=least, base=base, new=new, figure=settings.figure)
    found.judge_by(FIGURES[settings.figure].prior)
    return found


def measured(summary: SideSummary, side: Sequence[SessionResult], figure: FigureName) -> str:
    """The figure of a side and where it is from: ``99.7 ms in base.json``, or of several sessions, in none of which
    it stands, ``99.7 ms over 4 sessions (base/00.json and 3 more)``.
    """
    value, file = FIGURES[figure].show(summary.value), side[0].run.file
    if len(side) == 1:
        return f"{value} in {file}"
    return f"{value} over {len(side)} sessions ({some_of([seen.run.file for seen in side], 1)})"


def _apart(base: Sequence[SessionResult], new: Sequence[SessionResult], least: float) -> bool:
    def beyond(fast: Sequence[SessionResult], slow: Sequence[SessionResult]) -> bool:
        return min(seen.fastest_s for seen in slow) > (1 + least) * max(seen.slowest_s for seen in fast)

    return beyond(base, new) or beyond(new, base)


def _observations(side: Sequence[SessionResult]) -> list[Observation]:
    return [seen.observation for seen in side if seen.observation is not None]


def _summary(side: Sequence[SessionResult]) -> SideSummary:
    values = [seen.value for seen in side]
    return SideSummary(
        # Of one value to the last bit: a count stays a whole number.
        value=values[0] if len({*values}) == 1 else statistics.geometric_mean(values),
        fraction_of_roof=_mean([seen.fraction_of_roof for seen in side]),
        fraction_of_speed_of_light=_mean([seen.fraction_of_sol for seen in side]),
        outliers=sum(one.outliers for one in _observations(side)),
        slowest_round=max(one.slowest for one in _observations(side)),
    )


def _mean(fractions: Sequence[float | None]) -> float | None:
    """None where a session has none."""
    known = [fraction for fraction in fractions if fraction is not None]
    return statistics.geometric_mean(known) if known and len(known) == len(fractions) else None
