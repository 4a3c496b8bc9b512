"""Show a comparison in turns: its title and its table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from roofline.ab.measuring_in_turns import AbCase, AbResult, Outcome, Rules
from roofline.comparison.effects.paired import LEAST_PAIRS
from roofline.comparison.gate import Found, sentence_of
from roofline.show.tables import Column, Table, ends, grouped, number, words
from roofline.text.units import counted, percent, scaled, signed, signed_range, some_of

_ORDER: tuple[Outcome, ...] = (
    *("slower", "removed", "not comparable"),
    *("inconclusive", "new", "faster", "same", "skipped"),
)
"""The worst first."""


def verdict_table(result: AbResult, exit_code: int) -> Table[AbCase]:
    """A row a case, the worst first; below it what the rows leave open, and which code was run."""
    return Table(
        title=sentence(result, exit_code),
        columns=_columns(result.rules),
        display=_display(result.rules),
        rows=sorted(result.cases, key=lambda case: _ORDER.index(case.outcome)),
        notes=_notes(result),
    )


def sentence(result: AbResult, exit_code: int) -> str:
    """Say in one sentence if it passed, with the verdicts over all cases, the worst first."""
    sides = f"{result.sides['new'].what} against {result.sides['base'].what}"
    judged = any(case.judged for case in result.cases)
    compared = len(result.of("slower", "faster", "same", "inconclusive")) if judged else 0
    return sentence_of({outcome: len(result.of(outcome)) for outcome in _ORDER}, compared, exit_code, sides)


def _median(case: AbCase, name: str) -> float | None:
    values = [getattr(one, name) for one in case.observations]
    return statistics.median(values) if values else None


def _time(value: float) -> str:
    return scaled(value, "s", 4)


def _interval(case: AbCase, rules: Rules) -> list[float] | None:
    confidence = rules.look_confidence(len(case.pairs))
    return None if case.effect is None else [end - 1 for end in case.effect.interval(confidence)]


_CASE = words("case", dtype="category")
_STEP_TIMES = (
    number("base_step_time_s", "base", lambda case: _median(case, "base_step_s"), _time, drop=2),
    number("new_step_time_s", "new", lambda case: _median(case, "new_step_s"), _time, drop=1),
)
_CHANGE = number("change", show=signed)
_VERDICT = words("verdict", get="outcome", dtype="category")
_TURNS = number("turns", get=lambda case: sum(one.turns for one in case.observations) or None, drop=4, dtype="Int64")
_PAIRS = number("pairs", get=lambda case: len(case.pairs) or None, drop=3, dtype="Int64")


def _columns(rules: Rules) -> list[Column[AbCase]]:
    return [
        _CASE,
        words("test"),
        words("workload_hash", "workload"),
        *_STEP_TIMES,
        _CHANGE,
        *ends("change", lambda case: _interval(case, rules)),
        number("confidence", get=lambda case: rules.look_confidence(len(case.pairs))),
        _VERDICT,
        _TURNS,
        number("left_out", "left out", lambda case: sum(one.left_out for one in case.observations), dtype="Int64"),
        number("disturbed", get=lambda case: sum(one.disturbed for one in case.observations), dtype="Int64"),
        _PAIRS,
        words("why", get=lambda case: case.why or None),
    ]


def _display(rules: Rules) -> list[Column[AbCase]]:
    interval = number("interval", get=lambda case: _interval(case, rules), show=signed_range)
    return [_CASE, *_STEP_TIMES, _CHANGE, interval, _VERDICT, _TURNS, _PAIRS]


def _confidences(rules: Rules) -> str:
    last, earlier, together = (
        f"at {100 * confidence:.4g} %"
        for confidence in (rules.look_confidence(rules.pairs), rules.look_confidence(LEAST_PAIRS), rules.confidence)
    )
    if last == earlier:
        return last
    return f"{last} after {rules.pairs} pairs, {earlier} after fewer, so that all looks together are {together}"


def _notes(result: AbResult) -> list[str]:
    rules = result.rules
    notes = [
        f"change: step time of new over base, of the turns' ratios and not of the sides' medians; interval: "
        f"{_confidences(rules)}. Less than {percent(rules.least)} doesn't matter."
    ]
    for case in result.cases:
        if case.why:
            more = None if case.verdict is None else case.verdict.more_sessions
            asks = f" ({_asks(more, rules)})" if more else ""
            first, *rest = case.why.splitlines()
            notes += [f"{case.case}: {case.outcome}: {first}{asks}", *(f"  {line.strip()}" for line in rest)]
    for outcome, where in (("removed", "only in base"), ("new", "only in new")):
        tests = [case.test for case in result.cases if case.outcome == outcome]
        if tests:
            notes.append(f"{outcome} ({where}): {', '.join(tests)}")
    return [*notes, *result.notes]


def _asks(more: int, rules: Rules) -> str:
    """Name the options that give a case ``more`` pairs, each as long as those it had."""
    pairs = rules.pairs + more
    max_time_s = math.ceil(rules.max_time_s / rules.pairs * pairs)
    would = f"about {counted(more, 'more pair')} would settle it"
    return f"if the estimate stays, {would}: --pairs {pairs} --max-time {max_time_s}"


def found_in(result: AbResult) -> list[Found]:
    """Give the gate what it has to judge."""
    undecided, removed = result.of("inconclusive"), result.of("removed")
    found: list[Found] = [("slower", _slower(case, result.rules)) for case in result.of("slower")]
    if not any(case.judged for case in result.cases):
        found.append(("nothing to judge", _nothing_judged(undecided)))
    elif undecided:
        found.append(("inconclusive", _undecided(undecided)))
    reasons = grouped(result.of("not comparable"), lambda case: case.why.partition("\n")[0])
    for why, cases in reasons.items():
        found.append(("not comparable", f"not comparable: {some_of([case.case for case in cases])}: {why}"))
    if removed:
        found.append(("removed", f"removed, only in base: {some_of([case.test for case in removed])}"))
    return found


def _slower(case: AbCase, rules: Rules) -> str:
    change, interval = case.change, _interval(case, rules)
    assert change is not None
    assert interval is not None
    return f"slower: {case.case}: {signed(change)} ({signed_range(interval)})"


def _nothing_judged(undecided: Iterable[AbCase]) -> str:
    busy = any(case.busy is not None for case in undecided)
    why = "the machine is too busy. Measure again on a quieter machine" if busy else "see below the table"
    return f"no case could be judged: {why}"


def _undecided(cases: Sequence[AbCase]) -> str:
    line = f"inconclusive, neither slower nor the same: {some_of([case.case for case in cases])}"
    busy = [case.case for case in cases if case.busy is not None]
    return f"{line}; the machine may be too busy for {some_of(busy)}" if busy else line
