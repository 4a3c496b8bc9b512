"""Measure two sides in pairs of fresh processes until each case has its verdict or the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from roofline.ab.messages import Hello
from roofline.ab.process import MeasuringProcess
from roofline.ab.side import CannotMeasure, LoadedCode, MeasuredSide
from roofline.ab.turn_taking import Clock, TurnsOfTest, alternate
from roofline.comparison.effects.effect import Effect
from roofline.comparison.effects.paired import (
    LEAST_PAIRS,
    SIDES,
    PairObservation,
    PairTurns,
    SideName,
    confidence_of_a_look,
    effect_of_pairs,
    observe_pair,
    prior_scale,
    why_busy,
)
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT, Kind, Verdict, judge_effects
from roofline.comparison.observations.observation import Unusable
from roofline.text.units import counted

Outcome = Kind | Literal["not comparable", "new", "removed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Settings: the amount to measure, and the limits of a verdict.

    :param pairs: of fresh processes, at most.
    :param max_time_s: of a case's turns, both sides and all pairs together.
    :param least: the least effect that matters, relative.
    :param confidence: of the cases called slower or faster, over all looks, the share that is so and not by chance.
    """

    pairs: int = 5
    max_time_s: float = 60.0
    least: float = LEAST_EFFECT
    confidence: float = CONFIDENCE

    def look_confidence(self, pairs: int) -> float:
        """Of the look at a case after so many pairs, and of the interval that is shown for it."""
        return confidence_of_a_look(self.confidence, self.pairs, pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbCase:
    """One case so far.

    :param problem: why it can't be compared. ``skipped``: because both sides skip it.
    :param only_in: the side that has it, where the other hasn't.
    :param verdict: None until a look was made.
    :param prior_scale: of the last look: how much further apart the pairs of all cases lie than is known of processes.
    """

    test: str
    case: str
    workload_hash: str | None = None
    pairs: tuple[PairTurns, ...] = ()
    problem: str | None = None
    skipped: bool = False
    only_in: SideName | None = None
    verdict: Verdict | None = None
    prior_scale: float = 1.0

    @property
    def observations(self) -> tuple[PairObservation, ...]:
        """Of the pairs whose times can be used."""
        return tuple(one for one in map(_observed, self.pairs) if isinstance(one, PairObservation))

    @property
    def effect(self) -> Effect | None:
        observations = self.observations
        return effect_of_pairs(observations, self.prior_scale) if observations else None

    @property
    def change(self) -> float | None:
        """Of the step time, relative: 0.05 is 5 % more."""
        return None if self.effect is None else math.expm1(self.effect.log_ratio)

    @property
    def busy(self) -> str | None:
        """Say what tells that a busy machine may have left it inconclusive, in words; else None."""
        if not self._judged_inconclusive:
            return None
        others = None if self.prior_scale == 1.0 else "the pairs of most cases lie further apart than on one left alone"
        return why_busy(self.observations) or others

    @property
    def _judged_inconclusive(self) -> bool:
        return self.verdict is not None and self.outcome == "inconclusive"

    @property
    def judged(self) -> bool:
        """True if it has a verdict that disturbed turns did not leave inconclusive."""
        disturbed = self._judged_inconclusive and any(pair.disturbed for pair in self.observations)
        return self.problem is None and self.verdict is not None and not disturbed

    @property
    def outcome(self) -> Outcome:
        if self.only_in is not None:
            return "removed" if self.only_in == "base" else "new"
        if self.problem is not None:
            return "skipped" if self.skipped else "not comparable"
        return "inconclusive" if self.verdict is None else self.verdict.kind

    @property
    def why(self) -> str:
        """In words, where the outcome doesn't say all."""
        if self.problem is not None:
            return self.problem
        if self.verdict is not None and self.verdict.why:
            busy = "" if self.busy is None else f"the machine may be too busy: {self.busy}; "
            return f"{busy}{self.verdict.why}"
        if self.outcome == "inconclusive":
            unusable = [one for one in map(_observed, self.pairs) if isinstance(one, str)]
            return unusable[-1] if unusable else "no turns were taken"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AbResult:
    """:param hellos: of the first processes.
    :param notes: what each side was and which code it ran.
    """

    sides: Mapping[SideName, MeasuredSide]
    rules: Rules
    arguments: tuple[str, ...]
    cases: tuple[AbCase, ...]
    hellos: Mapping[SideName, Hello]
    notes: tuple[str, ...]

    def of(self, *outcomes: Outcome) -> tuple[AbCase, ...]:
        return tuple(case for case in self.cases if case.outcome in outcomes)


Start = Callable[[MeasuredSide, Sequence[str], Path, Mapping[str, str]], MeasuringProcess]
"""Starts a measuring process: of a side, with pytest's arguments, what it prints in a file, in an environment."""


def measure_in_turns(
    sides: Mapping[SideName, MeasuredSide],
    arguments: Sequence[str],
    rules: Rules,
    folder: Path,
    environment: Mapping[str, str],
    report: Callable[[str], None] = lambda _line: None,
    start: Start = MeasuringProcess,
    clock: Clock = time.perf_counter,
) -> AbResult:
    """Measure both sides in turns and judge every case.

    :param arguments: pytest's.
    :param folder: for what the processes print.
    :param environment: the variables that the processes are given.
    :param report: called with a line of progress.
    :raises CannotMeasure: a process can't be started or has failed, a side ran code of the project that is not its own,
        or no test is on both sides.
    """
    code = LoadedCode(sides)
    cases: dict[str, AbCase] = {}
    first_hellos: dict[SideName, Hello] = {}
    started = 0
    while not cases or any(_open(case, rules) for case in cases.values()):
        first: SideName = SIDES[started % 2]
        started += 1
        with ExitStack() as stack:
            # Which process is there first may last, as which pages it got does: it is either side as often.
            order = SIDES if first == "base" else SIDES[::-1]
            processes = {
                name: stack.enter_context(start(sides[name], arguments, folder / f"{name}-{started}.log", environment))
                for name in order
            }
            hellos = {name: processes[name].hello() for name in SIDES}
            for name in SIDES:
                code.add(name, hellos[name].files)
            if not cases:
                first_hellos = hellos
                cases = _cases_of(hellos)
            wanted = [test for test, case in cases.items() if _open(case, rules)]
            tests = [test for test in wanted if all(test in hello.tests for hello in hellos.values())]
            for test in set(wanted) - set(tests):
                cases[test] = replace(cases[test], problem="collected by the first processes, and not by later ones")
            report(f"pair of processes {started}, at most {rules.pairs}: {counted(len(tests), 'case')}, {first} first")
            budget_s = rules.max_time_s / rules.pairs
            for found in alternate(processes, tests, first, budget_s, code.add, clock):
                cases[found.test] = _with(cases[found.test], found)
                report(_progress(cases[found.test], found))
        cases = judge_cases(cases, rules)
    loaded = ((name, first_hellos[name]) for name in SIDES)
    versions = [f"{name}: Python {one.python}, torch {one.torch}, plugin {one.plugin}" for name, one in loaded]
    return AbResult(
        sides=sides,
        rules=rules,
        arguments=tuple(arguments),
        cases=tuple(cases.values()),
        hellos=first_hellos,
        notes=(*code.lines(), *versions),
    )


def judge_cases(cases: Mapping[str, AbCase], rules: Rules) -> dict[str, AbCase]:
    """The cases with the verdicts of this look. A case that was decided at an earlier one stays as it was."""
    scale = prior_scale(case.observations for case in cases.values() if case.problem is None)
    cases = {test: case if _settled(case) else replace(case, prior_scale=scale) for test, case in cases.items()}
    least = min(LEAST_PAIRS, rules.pairs)
    judged = {
        test: effect
        for test, case in cases.items()
        if case.problem is None and (effect := case.effect) is not None and effect.base_sessions >= least
    }
    confidences = [rules.look_confidence(len(cases[test].pairs)) for test in judged]
    verdicts = judge_effects(list(judged.values()), [rules.least] * len(judged), confidences)
    fresh = dict(zip(judged, verdicts, strict=True))
    return {
        test: replace(case, verdict=fresh[test]) if test in fresh and not _settled(case) else case
        for test, case in cases.items()
    }


def _settled(case: AbCase) -> bool:
    return case.verdict is not None and case.verdict.kind != "inconclusive"


def _open(case: AbCase, rules: Rules) -> bool:
    """True if it is to be measured once more."""
    return case.problem is None and case.only_in is None and not _settled(case) and len(case.pairs) < rules.pairs


def _cases_of(hellos: Mapping[SideName, Hello]) -> dict[str, AbCase]:
    """:raises CannotMeasure: no test is on both sides."""
    base, new = (hellos[name].tests for name in SIDES)
    if not set(base) & set(new):
        if not base and not new:
            raise CannotMeasure("neither side has a test that measures a model (that uses the roofline fixture)")
        some = next(iter((*base, *new)))
        raise CannotMeasure(
            f"no test is on both sides: {len(base)} only in base, {len(new)} only in new, such as {some}"
        )
    # A case that is never measured is called as it would have been.
    names = {test: case for name in SIDES for test, case in zip(hellos[name].tests, hellos[name].cases, strict=True)}
    return {
        test: AbCase(
            test=test,
            case=names[test],
            only_in=None if test in base and test in new else "base" if test in base else "new",
        )
        for test in dict.fromkeys((*base, *new))
    }


def _with(case: AbCase, found: TurnsOfTest) -> AbCase:
    case = replace(
        case, case=case.case if found.workload_hash is None else found.case, workload_hash=found.workload_hash
    )
    if found.turns is None:
        return replace(case, problem=found.problem, skipped=found.skipped and not case.pairs)
    return replace(case, pairs=(*case.pairs, found.turns))


def _observed(pair: PairTurns) -> PairObservation | str:
    """Observe a pair, or give the reason why it shows nothing."""
    try:
        return observe_pair(pair)
    except Unusable as error:
        return str(error)


def _progress(case: AbCase, found: TurnsOfTest) -> str:
    if found.turns is None:
        return f"  {case.case}: not comparable: {(found.problem or '').splitlines()[0]}"
    pair = _observed(found.turns)
    if isinstance(pair, str):
        return f"  {case.case}: {pair}"
    return f"  {case.case}: {pair.turns} turns a side, new/base {100 * math.expm1(pair.log_ratio):+.2f} %"
