"""From two sides to the verdict of each case: pairs of fresh processes until all is settled or the budget is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from roofline.ab.alternate import Clock, Met, fight
from roofline.ab.loaded_code import Provenance
from roofline.ab.messages import Hello
from roofline.ab.process import MeasuringProcess, Process
from roofline.ab.side import Side
from roofline.comparison.effect import Effect
from roofline.comparison.observation import Unusable
from roofline.comparison.paired import (
    LEAST_PAIRS,
    SIDES,
    PairObservation,
    PairTurns,
    SideName,
    confidence_of_a_look,
    disturbed_turns,
    effect_of_pairs,
    further_apart,
    observe_pair,
)
from roofline.comparison.verdict import CONFIDENCE, LEAST_EFFECT, Kind, Verdict, judge
from roofline.text.units import counted

Outcome = Kind | Literal["not comparable", "new", "removed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How much to measure, and what to conclude from it.

    :param pairs: of fresh processes, at most.
    :param max_time_s: of a case's turns, both sides and all pairs together.
    :param least: the least effect that matters, relative.
    :param confidence: of all cases and looks together.
    """

    pairs: int = 5
    max_time_s: float = 60.0
    least: float = LEAST_EFFECT
    confidence: float = CONFIDENCE

    def look_confidence(self, pairs: int) -> float:
        """Of the look at a case after so many pairs, and of the interval that is shown for it."""
        return confidence_of_a_look(self.confidence, self.pairs, pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTrial:
    """One case so far.

    :param problem: why it can't be compared. ``skipped``: because both sides skip it.
    :param only_in: the side that has it, where the other hasn't.
    :param verdict: None until a look was made.
    """

    test: str
    case: str
    workload_hash: str | None = None
    pairs: tuple[PairTurns, ...] = ()
    problem: str | None = None
    skipped: bool = False
    only_in: SideName | None = None
    verdict: Verdict | None = None

    @property
    def observations(self) -> tuple[PairObservation, ...]:
        """Of the pairs whose times are times."""
        return tuple(seen for seen, _ in map(_observed, self.pairs) if seen is not None)

    @property
    def unusable(self) -> tuple[str, ...]:
        """Why the others say nothing."""
        return tuple(why for seen, why in map(_observed, self.pairs) if seen is None)

    @property
    def effect(self) -> Effect | None:
        observations = self.observations
        return effect_of_pairs(observations) if observations else None

    @property
    def busy(self) -> str | None:
        """How many turns were disturbed, in words, where that left it open; None where it is settled, or none was."""
        return disturbed_turns(self.observations) if self._left_open else None

    @property
    def scattered(self) -> str | None:
        """How far apart its pairs lie, in words, where that left it open, and no turns that were disturbed did."""
        return further_apart(self.observations) if self._left_open and self.busy is None else None

    @property
    def _left_open(self) -> bool:
        """By a look at it."""
        return self.verdict is not None and self.outcome == "inconclusive"

    @property
    def judged(self) -> bool:
        """Whether its turns showed something: enough of them were taken, and it is settled or most were left alone.

        That its pairs are further apart than on a machine left alone happens there, too, and is no ground to say that a
        gate saw nothing.
        """
        return self.problem is None and self.verdict is not None and self.busy is None

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
            if self.busy is not None:
                return f"the machine is too busy: {self.busy}; {self.verdict.why}"
            if self.scattered is not None:
                return f"perhaps the machine is too busy: {self.scattered}; {self.verdict.why}"
            return self.verdict.why
        if self.outcome == "inconclusive":
            return self.unusable[-1] if self.unusable else "no turns were taken"
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What came of it all. ``told``: what each side was and which code it ran. ``hellos``: of the first processes."""

    sides: Mapping[SideName, Side]
    rules: Rules
    arguments: tuple[str, ...]
    cases: tuple[CaseTrial, ...]
    hellos: Mapping[SideName, Hello]
    told: tuple[str, ...]

    def of(self, *outcomes: Outcome) -> tuple[CaseTrial, ...]:
        return tuple(case for case in self.cases if case.outcome in outcomes)


class NothingInCommon(RuntimeError):
    """There is no test that both sides have."""


Say = Callable[[str], None]
Start = Callable[[Side, Sequence[str], Path, Mapping[str, str]], Process]
"""Starts a measuring process: of a side, with pytest's arguments, what it prints in a file, in an environment."""


def hold(
    sides: Mapping[SideName, Side],
    arguments: Sequence[str],
    rules: Rules,
    folder: Path,
    environment: Mapping[str, str],
    say: Say = lambda _line: None,
    start: Start = MeasuringProcess,
    clock: Clock = time.perf_counter,
) -> Trial:
    """Measure both sides in turns and judge every case.

    :param arguments: pytest's.
    :param folder: for what the processes print.
    :param environment: the variables that the processes are given.
    :param say: told how far it has come.
    :raises ProcessFailed: a side can't be started, or can't be talked to.
    :raises WrongCode: a side ran code of the project that is not its own.
    :raises NothingInCommon: no test is on both sides.
    """
    provenance = Provenance(sides)
    cases: dict[str, CaseTrial] = {}
    first_hellos: dict[SideName, Hello] = {}
    started = 0
    while not cases or any(_open(case, rules) for case in cases.values()):
        first: SideName = SIDES[started % 2]
        started += 1
        with ExitStack() as stack:
            # Which process is there first may last, as which pages it got does: it is either side as often.
            order = SIDES if first == "base" else SIDES[::-1]
            players = {
                name: stack.enter_context(start(sides[name], arguments, folder / f"{name}-{started}.log", environment))
                for name in order
            }
            hellos = {name: players[name].hello() for name in SIDES}
            for name in SIDES:
                provenance.watch(name, hellos[name].files)
            if not cases:
                first_hellos = hellos
                cases = _found(hellos)
            wanted = [test for test, case in cases.items() if _open(case, rules)]
            # What a side has lost since its first process is told where the turns are missing.
            tests = [test for test in wanted if all(test in hello.tests for hello in hellos.values())]
            for test in set(wanted) - set(tests):
                cases[test] = replace(cases[test], problem="collected by the first processes, and not by later ones")
            say(f"pair of processes {started}, at most {rules.pairs}: {counted(len(tests), 'case')}, {first} first")
            budget_s = rules.max_time_s / rules.pairs
            for met in fight(players, tests, first, budget_s, provenance.watch, clock):
                cases[met.test] = _with(cases[met.test], met)
                say(_progress(cases[met.test], met))
        cases = look(cases, rules)
    return Trial(
        sides=sides,
        rules=rules,
        arguments=tuple(arguments),
        cases=tuple(cases.values()),
        hellos=first_hellos,
        told=(*_told(first_hellos, provenance),),
    )


def look(cases: Mapping[str, CaseTrial], rules: Rules) -> dict[str, CaseTrial]:
    """The cases with the verdicts of this look. A case that was settled at an earlier one stays as it was."""
    judged = {
        test: effect
        for test, case in cases.items()
        if case.problem is None and (effect := case.effect) is not None and effect.base_sessions >= _least(rules)
    }
    confidences = [rules.look_confidence(len(cases[test].pairs)) for test in judged]
    verdicts = judge(list(judged.values()), [rules.least] * len(judged), confidences)
    fresh = dict(zip(judged, verdicts, strict=True))
    return {
        test: replace(case, verdict=fresh[test]) if test in fresh and not _settled(case) else case
        for test, case in cases.items()
    }


def _least(rules: Rules) -> int:
    return min(LEAST_PAIRS, rules.pairs)


def _settled(case: CaseTrial) -> bool:
    return case.verdict is not None and case.verdict.kind != "inconclusive"


def _open(case: CaseTrial, rules: Rules) -> bool:
    """Whether it is to be measured once more."""
    return case.problem is None and case.only_in is None and not _settled(case) and len(case.pairs) < rules.pairs


def _found(hellos: Mapping[SideName, Hello]) -> dict[str, CaseTrial]:
    """:raises NothingInCommon: no test is on both sides."""
    base, new = (hellos[name].tests for name in SIDES)
    if not set(base) & set(new):
        if not base and not new:
            raise NothingInCommon("neither side has a test that measures a model (that uses the roofline fixture)")
        some = next(iter((*base, *new)))
        raise NothingInCommon(
            f"no test is on both sides: {len(base)} only in base, {len(new)} only in new, such as {some}"
        )
    # A case that is never measured is called as it would have been.
    names = {test: case for name in SIDES for test, case in zip(hellos[name].tests, hellos[name].cases, strict=True)}
    return {
        test: CaseTrial(
            test=test,
            case=names[test],
            only_in=None if test in base and test in new else "base" if test in base else "new",
        )
        for test in dict.fromkeys((*base, *new))
    }


def _with(case: CaseTrial, met: Met) -> CaseTrial:
    known = met.case if met.workload_hash is not None else case.case
    if met.turns is None:
        return replace(
            case,
            case=known,
            workload_hash=met.workload_hash,
            problem=met.problem,
            skipped=met.skipped and not case.pairs,
        )
    return replace(case, case=known, workload_hash=met.workload_hash, pairs=(*case.pairs, met.turns))


def _observed(pair: PairTurns) -> tuple[PairObservation | None, str]:
    try:
        return observe_pair(pair), ""
    except Unusable as error:
        return None, str(error)


def _progress(case: CaseTrial, met: Met) -> str:
    if met.turns is None:
        return f"  {case.case}: not comparable: {(met.problem or '').splitlines()[0]}"
    seen, why = _observed(met.turns)
    if seen is None:
        return f"  {case.case}: {why}"
    return f"  {case.case}: {seen.turns} turns a side, new/base {_change(seen)}"


def _change(seen: PairObservation) -> str:
    return f"{100 * math.expm1(seen.log_ratio):+.2f} %"


def _told(hellos: Mapping[SideName, Hello], provenance: Provenance) -> list[str]:
    lines = list(provenance.lines())
    for name in SIDES:
        hello = hellos[name]
        lines.append(f"{name}: Python {hello.python}, torch {hello.torch}, plugin {hello.plugin}")
    return lines
