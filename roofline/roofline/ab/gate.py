"""Whether a comparison in turns passes: the exit code, and in words what is in the way of a pass.

1 where a case is slower, whatever else there is: the regression is there though others could not be compared. Else 3
where a case can't be compared or was removed, and where the turns of no case showed anything: a gate to which nothing
was shown doesn't pass. Else 0. What is inconclusive passes with a warning, and does not under ``strict``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roofline.ab.table import change, interval_of
from roofline.ab.trial import CaseTrial, Rules, Trial
from roofline.comparison.gate import Gate
from roofline.text.units import some_of


def gate(trial: Trial, *, allow_removed: bool, strict: bool) -> Gate:
    """The outcome of a comparison."""
    slower, undecided = trial.of("slower"), trial.of("inconclusive")
    barred: list[str] = []
    warnings: list[str] = []
    if not any(case.judged for case in trial.cases):
        barred.append(_nothing_judged(undecided))
    elif undecided:
        (barred if strict else warnings).append(_undecided(undecided))
    barred += _grouped(trial.of("not comparable"))
    (warnings if allow_removed else barred).extend(_removed(trial.of("removed")))
    failures = [*(_slower(case, trial.rules) for case in slower), *barred]
    return Gate(
        exit_code=1 if slower else 3 if failures else 0,
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def _slower(case: CaseTrial, rules: Rules) -> str:
    return f"slower: {case.case}: {change(case)} ({interval_of(case, rules)})"


def _nothing_judged(undecided: Iterable[CaseTrial]) -> str:
    busy = any(case.busy is not None for case in undecided)
    why = "the machine is too busy. Measure again on a quieter machine" if busy else "see below the table"
    return f"no case could be judged: {why}"


def _undecided(cases: Sequence[CaseTrial]) -> str:
    told = [f"inconclusive, neither slower nor the same: {some_of([case.case for case in cases])}"]
    busy = [case.case for case in cases if case.busy is not None]
    perhaps = [case.case for case in cases if case.scattered is not None]
    for words, names in (("is", busy), ("is perhaps", perhaps)):
        if names:
            told.append(f"the machine {words} too busy for {some_of(names)}")
    return "; ".join(told)


def _grouped(cases: Iterable[CaseTrial]) -> list[str]:
    """A line for each reason, by its first line."""
    reasons: dict[str, list[str]] = {}
    for case in cases:
        reasons.setdefault(case.why.partition("\n")[0], []).append(case.case)
    return [f"not comparable: {some_of(names)}: {why}" for why, names in reasons.items()]


def _removed(cases: Sequence[CaseTrial]) -> list[str]:
    return [f"removed, only in base: {some_of([case.test for case in cases])}"] if cases else []
