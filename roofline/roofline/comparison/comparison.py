"""Every case of two sides with its verdict, the worst first."""

from __future__ import annotations

import math
import os
import shlex
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from roofline.comparison.effect import Effect, effect_of
from roofline.comparison.matching import MatchedCase, OneMachine, match
from roofline.comparison.observation import Observation
from roofline.comparison.runs import Identity, Run, changed_roofs
from roofline.comparison.session_observations import By, SessionResult, Side, read_side
from roofline.comparison.verdict import (
    CONFIDENCE,
    LEAST_CONFIDENCE,
    LEAST_EFFECT,
    MOST_CONFIDENCE,
    NoNumber,
    Verdict,
    judge,
)
from roofline.files.decoding import ReadError
from roofline.files.paths import real_path
from roofline.machine.published import DeviceTable
from roofline.results.reader import result_files
from roofline.results.stored_runs import is_store, is_stored
from roofline.text.units import scaled, significant, some_of

LARGE_IMPROVEMENT = 0.1
"""Share of the time won beyond which an old baseline would hide a loss."""

BIMODAL_SHARE = 0.5
"""A side of which so many sessions or more fall into two clusters each has no time to be judged by."""

_UNIT = 1000.0
_UNIT_TOLERANCE = 1.5

Outcome = Literal["slower", "removed", "not comparable", "invalid", "inconclusive", "new", "faster", "same"]
OUTCOMES: tuple[Outcome, ...] = (
    *("slower", "removed", "not comparable", "invalid"),
    *("inconclusive", "new", "faster", "same"),
)
"""Worst first, as they are shown."""

MATCHED: tuple[Outcome, ...] = ("slower", "faster", "same", "inconclusive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """:param least_effect: the least difference that matters, relative.
    :param confidence: that no case is called slower or faster by chance, over all cases together.
    :param floor_s: differences of the step time below it never matter.
    :param by: what is compared: times, on one machine; or times over what each machine's own measured roofs allow.
    """

    least_effect: float = LEAST_EFFECT
    confidence: float = CONFIDENCE
    floor_s: float = 0.0
    by: By = "time"

    def __post_init__(self) -> None:
        """:raises ValueError: a setting by which nothing can be judged, or everything would pass."""
        allowed = {
            "least_effect": (
                _is_number(self.least_effect) and 0 < self.least_effect < 1,
                "a share above 0 and below 1, such as 0.02",
            ),
            "confidence": (
                _is_number(self.confidence) and LEAST_CONFIDENCE <= self.confidence <= MOST_CONFIDENCE,
                f"a share from {LEAST_CONFIDENCE:g} to {MOST_CONFIDENCE:g}, such as {CONFIDENCE:g}",
            ),
            "floor_s": (_is_number(self.floor_s) and 0 <= self.floor_s < math.inf, "seconds, 0 or more"),
            "by": (self.by in get_args(By), f"one of {', '.join(get_args(By))}"),
        }
        for name, (holds, what) in allowed.items():
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}: give {what}.")


def _is_number(value: object) -> bool:
    """Tell a number from a text such as ``2%``, which only the command reads."""
    return isinstance(value, int | float)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSummary:
    """A case on one side: geometric means over its sessions. Fractions are of the machine's own measured roofs.

    Of all ``rounds`` of the sessions ``outliers`` are far longer than their session's median (see
    `roofline.comparison.observation.OUTLIER`), and the slowest is ``slowest_round`` times the median.
    """

    step_time_s: float
    fraction_of_roof: float | None
    fraction_of_speed_of_light: float | None
    rounds: int
    outliers: int
    slowest_round: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One case. What wasn't judged has no ``effect``; ``least`` is the least effect that mattered in it.

    ``by_figures``: ``why`` says no more than the effect and its interval do. ``more_sessions`` and ``no_number`` are
    the verdict's.
    """

    match: MatchedCase
    outcome: Outcome
    why: str = ""
    by_figures: bool = False
    more_sessions: int | None = None
    no_number: NoNumber | None = None
    least: float | None = None
    effect: Effect | None = None
    base: SideSummary | None = None
    new: SideSummary | None = None

    @property
    def change(self) -> float | None:
        """Of the time, relative: 0.05 is 5 % longer."""
        return None if self.effect is None else self.effect.ratio - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``cases`` are sorted, the worst first. ``left_out``: sessions, rows and files that nothing was compared with, and
    why. ``unreadable``: files of a folder, and parts of files, that should be results and can't be read.

    The runs of a side include the sessions left out.
    """

    settings: Settings
    cases: tuple[Compared, ...]
    base_runs: tuple[Run, ...]
    new_runs: tuple[Run, ...]
    left_out: tuple[str, ...]
    unreadable: tuple[str, ...] = ()

    def of(self, *outcomes: Outcome) -> tuple[Compared, ...]:
        return tuple(case for case in self.cases if case.outcome in outcomes)

    @property
    def counts(self) -> Counter[Outcome]:
        return Counter(case.outcome for case in self.cases)

    @property
    def matched(self) -> int:
        return len(self.of(*MATCHED))

    @property
    def judged(self) -> int:
        """How many of the matched cases have an effect: sessions of disturbed hours alone have none."""
        return sum(case.effect is not None for case in self.of(*MATCHED))

    @property
    def below_floor(self) -> tuple[Compared, ...]:
        """Matched cases that aren't slower, and of which no small slowdown could be: the floor is as long as they."""
        floor_s = self.settings.floor_s
        matched = (case for case in self.of(*MATCHED) if case.outcome != "slower" and case.base is not None)
        return tuple(case for case in matched if case.base is not None and case.base.step_time_s <= floor_s)

    @property
    def one_session_a_side(self) -> bool:
        """Whether each side was given as one session: nothing then shows how far sessions scatter."""
        return len(self.base_runs) == len(self.new_runs) == 1

    @property
    def machines(self) -> tuple[Identity, ...]:
        return tuple(dict.fromkeys(case.match.machine for case in self.cases))


def compare(base: Side, new: Side, settings: Settings) -> Comparison:
    """:raises roofline.comparison.matching.OneMachine: by roof, a side of several machines."""
    matching = match(base, new, settings.by)
    judged = [_Judging(case, settings) for case in matching.cases if case.standing == "matched"]
    family = [one for one in judged if one.other_unit is None]
    effects, least = [one.effect for one in family], [one.least for one in family]
    verdicts = judge(effects, least, [settings.confidence] * len(family))
    cases = [_not_judged(case) for case in matching.cases if case.standing != "matched"]
    cases += [one.compared(verdict) for one, verdict in zip(family, verdicts, strict=True)]
    cases += [one.not_comparable(one.other_unit) for one in judged if one.other_unit is not None]
    return Comparison(
        settings=settings,
        cases=tuple(sorted(cases, key=_worst_first)),
        base_runs=base.runs,
        new_runs=new.runs,
        left_out=(*matching.left_out, *base.skipped, *new.skipped, *base.repeated, *new.repeated),
        unreadable=(*base.unreadable, *new.unreadable),
    )


def compare_paths(base: Sequence[Path], new: Sequence[Path], settings: Settings, devices: DeviceTable) -> Comparison:
    """Read both sides and judge every case.

    :param base: files and folders, as ``new``.
    :raises ReadError: a side isn't there, can't be read, or is of several machines where it may not be.
    """
    for path in base:
        if not _exists(path):
            raise ReadError(f"no baseline: {path} doesn't exist. {how_to_make(path)}")
    for path in new:
        if not _exists(path):
            raise ReadError(f"no new results: {path} doesn't exist.")
    base, new = [_plain(path) for path in base], [_plain(path) for path in new]
    of_new = read_side(new, settings.by, devices)
    files = frozenset(real_path(path) for path, _ in result_files(new))
    of_base = read_side(base, settings.by, devices, without=files, others=of_new.sessions)
    try:
        return compare(of_base, of_new, settings)
    except OneMachine as error:
        raise ReadError(str(error)) from error


def _exists(path: Path) -> bool:
    """Whether it is a file or folder, a store behind a URL, or a run in a store."""
    return path.exists() or is_stored(path) or is_store(path)


def _plain(path: Path) -> Path:
    """Without ``..``, as messages show it; but for where that leads elsewhere, as it may behind a link."""
    plain = Path(os.path.normpath(path))
    return plain if plain.exists() and plain.samefile(path) else path


def how_to_make(path: Path) -> str:
    """A sentence with the command that makes a baseline."""
    if path.suffix == ".json":
        command = f"pytest TESTS --benchmark-json={shlex.quote(str(path))}"
    else:
        folder = "FOLDER" if path.exists() and not path.is_dir() else shlex.quote(str(path))
        command = f"pytest TESTS --roofline-sessions=5 --roofline-results={folder}"
    return f"Make one on this machine, of code that is good: {command}"


def _worst_first(case: Compared) -> tuple[int, float, str]:
    size = 0.0 if case.effect is None else -abs(case.effect.log_ratio)
    return OUTCOMES.index(case.outcome), size, case.match.id


def _not_judged(case: MatchedCase) -> Compared:
    assert case.standing != "matched"
    if case.standing == "disturbed":
        return Compared(match=case, outcome="inconclusive", why=f"{case.why}; measure again on a quieter machine")
    return Compared(match=case, outcome=case.standing, why=case.why)


def measured(middle: SideSummary, side: Sequence[SessionResult]) -> str:
    """The step time of a side and where it is from: ``99.7 ms in base.json``, or of several sessions, in none of which
    it stands, ``99.7 ms over 4 sessions (base/00.json and 3 more)``.
    """
    time, file = scaled(middle.step_time_s, "s"), side[0].run.file
    if len(side) == 1:
        return f"{time} in {file}"
    return f"{time} over {len(side)} sessions ({some_of([seen.run.file for seen in side], 1)})"


class _Judging:
    """A matched case on its way to its verdict."""

    def __init__(self, case: MatchedCase, settings: Settings) -> None:
        base, new = _summary(case.base), _summary(case.new)
        self._match, self._by = case, settings.by
        self.effect = effect_of(_observations(case.base), _observations(case.new))
        self.least = max(settings.least_effect, settings.floor_s / base.step_time_s)
        self._as = partial(Compared, match=case, least=self.least, effect=self.effect, base=base, new=new)
        self._base, self._new = base, new

    @property
    def other_unit(self) -> str | None:
        """Why the difference is that of two units of time, and not of two versions of the code; None where it isn't."""
        larger = math.exp(abs(self.effect.log_ratio))
        if not any(_UNIT**power / _UNIT_TOLERANCE <= larger <= _UNIT**power * _UNIT_TOLERANCE for power in (1, 2, 3)):
            return None
        return (
            f"{significant(larger)} times as {'long' if self.effect.log_ratio > 0 else 'short'}: a file in another unit"
            f" of time? ({measured(self._base, self._match.base)}, {measured(self._new, self._match.new)}). If it is"
            " real, make the baseline anew"
        )

    def compared(self, verdict: Verdict) -> Compared:
        if (bimodal := self._bimodal()) is not None:
            return self._as(outcome="inconclusive", why=bimodal)
        if verdict.kind == "same" and any(one.side == "new" for one in self._match.missing):
            why = f"no difference that matters, but not in every session: {self._match.why_missing}"
            return self._as(outcome="inconclusive", why=why)
        if verdict.kind in ("slower", "faster") and (changed := self._changed_roofs()) is not None:
            return self.not_comparable(changed)
        return self._as(
            outcome=verdict.kind,
            why=verdict.why,
            by_figures=verdict.by_figures,
            more_sessions=verdict.more_sessions,
            no_number=verdict.no_number,
        )

    def not_comparable(self, why: str) -> Compared:
        return self._as(outcome="not comparable", why=why)

    def _changed_roofs(self) -> str | None:
        """Why a difference by roof is that of the roofs; None where the step times differ, too."""
        changed = math.log(self._new.step_time_s / self._base.step_time_s)
        if self._by == "time" or abs(changed) >= math.log1p(self.least):
            return None
        if not changed_roofs([one.run for one in self._match.base], [one.run for one in self._match.new]):
            return None
        return (
            f"the roofs changed, not the case: its step time differs by {significant(100 * math.expm1(changed))} %."
            " Compare times (--by time), or measure both sides again on an idle machine"
        )

    def _bimodal(self) -> str | None:
        """Why the times of a side are the time of nothing; None where they can be judged.

        They can where every round of one side took longer than any of the other: whichever cluster is meant.
        """
        base, new = self._match.base, self._match.new
        for name, side in (("baseline", base), ("new", new)):
            found = [one for one in side if one.bimodal]
            if len(found) >= BIMODAL_SHARE * len(side) and not _apart(base, new, self.least):
                return f"bimodal: {name}: {found[0].bimodal} ({found[0].run.file})"
        return None


def _apart(base: Sequence[SessionResult], new: Sequence[SessionResult], least: float) -> bool:
    def beyond(fast: Sequence[SessionResult], slow: Sequence[SessionResult]) -> bool:
        return min(seen.fastest_s for seen in slow) > (1 + least) * max(seen.slowest_s for seen in fast)

    return beyond(base, new) or beyond(new, base)


def _observations(side: Sequence[SessionResult]) -> list[Observation]:
    return [seen.observation for seen in side if seen.observation is not None]


def _summary(side: Sequence[SessionResult]) -> SideSummary:
    return SideSummary(
        step_time_s=statistics.geometric_mean([seen.step_time_s for seen in side]),
        fraction_of_roof=_mean([seen.fraction_of_roof for seen in side]),
        fraction_of_speed_of_light=_mean([seen.fraction_of_sol for seen in side]),
        rounds=sum(one.rounds for one in _observations(side)),
        outliers=sum(one.outliers for one in _observations(side)),
        slowest_round=max(one.slowest for one in _observations(side)),
    )


def _mean(fractions: Sequence[float | None]) -> float | None:
    """None where a session has none."""
    known = [fraction for fraction in fractions if fraction is not None]
    return statistics.geometric_mean(known) if known and len(known) == len(fractions) else None
