"""What came of a comparison, as the table and the words that are shown."""

from __future__ import annotations

import math
import statistics
from typing import Any

from roofline.compare.columns import signed
from roofline.compare.paired import LEAST_PAIRS, PairObservation
from roofline.interleaving.trial import CaseTrial, Outcome, Rules, Trial
from roofline.tables import Column, Table
from roofline.units import percent, scaled

_ORDER: tuple[Outcome, ...] = (
    "slower",
    "not comparable",
    "removed",
    "inconclusive",
    "faster",
    "same",
    "new",
    "skipped",
)
"""What asks for attention first."""


def verdict_table(trial: Trial) -> Table[CaseTrial]:
    """A row a case, the worst first; below it what the rows leave open, and which code was run."""
    return Table(
        title=sentence(trial),
        columns=_columns(trial.rules),
        display=[column for column in _columns(trial.rules) if column.name in _SHOWN],
        rows=sorted(trial.cases, key=lambda case: _ORDER.index(case.outcome)),
        notes=_notes(trial),
    )


def sentence(trial: Trial) -> str:
    """The verdict over all cases, the worst first: ``1 of 9 cases slower, 1 inconclusive, 7 the same``."""
    counts = [(outcome, len(trial.of(outcome))) for outcome in _ORDER]
    words = [f"{count} {_WORDS.get(outcome, outcome)}" for outcome, count in counts if count]
    sides = trial.sides
    return f"{sides['new'].what} against {sides['base'].what}: {', '.join(words)}"


_WORDS: dict[Outcome, str] = {"same": "the same"}

_SHOWN = frozenset({"case", "base_step_time_s", "new_step_time_s", "change", "interval", "outcome", "turns", "pairs"})


def _columns(rules: Rules) -> list[Column[CaseTrial]]:
    return [
        Column(name="case", title="case", get=lambda case: case.case, right=False),
        Column(name="test", title="test", get=lambda case: case.test, right=False),
        Column(name="workload_hash", title="workload", get=lambda case: case.workload_hash, right=False),
        Column(
            name="base_step_time_s", title="base", get=lambda case: _middle(case, "base_step_s"), show=_time, drop=2
        ),
        Column(name="new_step_time_s", title="new", get=lambda case: _middle(case, "new_step_s"), show=_time, drop=1),
        Column(name="change", title="change", get=_change, show=signed),
        Column(name="interval", title="interval", get=lambda case: _interval(case, rules), show=_range),
        Column(name="outcome", title="verdict", get=lambda case: case.outcome, right=False),
        Column(
            name="turns", title="turns", get=lambda case: sum(one.turns for one in case.observations) or None, drop=4
        ),
        Column(name="disturbed", title="left out", get=lambda case: sum(one.left_out for one in case.observations)),
        Column(name="pairs", title="pairs", get=lambda case: len(case.pairs) or None, drop=3),
        Column(name="why", title="why", get=lambda case: case.why or None, right=False),
    ]


def _middle(case: CaseTrial, name: str) -> float | None:
    seen: tuple[PairObservation, ...] = case.observations
    return statistics.median(getattr(one, name) for one in seen) if seen else None


def _time(value: float) -> str:
    return scaled(value, "s", 4)


def _change(case: CaseTrial) -> float | None:
    return None if case.effect is None else math.expm1(case.effect.log_ratio)


def _interval(case: CaseTrial, rules: Rules) -> list[float] | None:
    confidence = rules.look_confidence(len(case.pairs))
    return None if case.effect is None else [end - 1 for end in case.effect.interval(confidence)]


def _range(ends: Any) -> str:
    low, high = map(signed, ends)
    return f"{low.removesuffix(' %')} .. {high}"


def _confidences(rules: Rules) -> str:
    last, earlier, together = (
        f"at {100 * confidence:.4g} %"
        for confidence in (rules.look_confidence(rules.pairs), rules.look_confidence(LEAST_PAIRS), rules.confidence)
    )
    if last == earlier:
        return last
    return f"{last} after {rules.pairs} pairs, {earlier} after fewer, so that all looks together are {together}"


def _notes(trial: Trial) -> list[str]:
    rules = trial.rules
    notes = [
        f"change: step time of new over base; interval: {_confidences(rules)}. Less than {percent(rules.least)} "
        "doesn't matter."
    ]
    for case in trial.cases:
        if case.why:
            more = None if case.verdict is None else case.verdict.more_sessions
            asks = f" ({_asks(more, rules)})" if more else ""
            first, *rest = case.why.splitlines()
            notes += [f"{case.case}: {case.outcome}: {first}{asks}", *(f"  {line.strip()}" for line in rest)]
    for outcome, words in (("removed", "only in base"), ("new", "only in new")):
        tests = [case.test for case in trial.cases if case.outcome == outcome]
        if tests:
            notes.append(f"{outcome} ({words}): {', '.join(tests)}")
    return [*notes, *trial.told]


def _asks(more: int, rules: Rules) -> str:
    """What to ask for so that a case has ``more`` pairs, each of which takes as long as those it had."""
    pairs = rules.pairs + more
    max_time_s = math.ceil(rules.max_time_s / rules.pairs * pairs)
    return f"if the estimate stays, some {more} more pairs would settle it: --pairs {pairs} --max-time {max_time_s}"
