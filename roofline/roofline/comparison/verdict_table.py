"""Show a comparison: its table with what must be known of both sides."""

from __future__ import annotations

from typing import Any

from roofline.comparison.comparison import Comparison
from roofline.comparison.comparison_lines import ComparisonLines
from roofline.comparison.effects.verdict import MOST_SESSIONS
from roofline.comparison.gate import sentence_of
from roofline.comparison.judged_case import OUTCOMES, Compared, Outcome
from roofline.show.tables import Column, Dtype, Table, ends, number, words
from roofline.text.units import counted, percent, signed, signed_range, significant


def asks_for_more(comparison: Comparison) -> bool:
    """Tell whether more sessions would settle a case."""
    return any(case.more_sessions is not None for case in comparison.cases)


def _of_sides(name: str, title: str = "", get: str = "", *, drop: int = 0, **how: Any) -> list[Column[Compared]]:
    """Make a column a side of what its summary has under ``get``, by default under the name."""
    return [
        number(f"{side}_{name}", f"{side}{title}", f"{side}.{get or name}", drop=drop + later, **how)
        for later, side in enumerate(("base", "new"))
    ]


_CASE: Column[Compared] = words("case", get="match.id", dtype="category")
_VERDICT: Column[Compared] = words("verdict", get="outcome", dtype="category")
_WHY: Column[Compared] = words("why", get=lambda case: case.why or None)
_CHANGE: Column[Compared] = number("change", show=signed)


def _machine(comparison: Comparison) -> Column[Compared]:
    names = comparison.machine_names
    return words("machine", get=lambda case: names[case.match.machine], drop=1, dtype="category")


def _interval(case: Compared, confidence: float) -> list[float] | None:
    return None if case.effect is None else [end - 1 for end in case.effect.interval(confidence)]


def columns(comparison: Comparison) -> list[Column[Compared]]:
    confidence = comparison.settings.confidence
    of_rounds: dict[str, Dtype] = {
        **dict.fromkeys(("fraction_of_roof", "fraction_of_speed_of_light"), "Float64"),
        "outliers": "Int64",
        "slowest_round": "Float64",
    }
    figures = of_rounds if comparison.settings.figure == "step_time" else {}
    return [
        _CASE,
        words("test", get="match.test"),
        _machine(comparison),
        _VERDICT,
        _WHY,
        _CHANGE,
        *ends("change", lambda case: _interval(case, confidence)),
        number(
            "common_change",
            "all together",
            lambda case: None if case.own is None else comparison.common[case.match.machine].ratio - 1,
            signed,
        ),
        number("own_change", "beside that", lambda case: None if case.own is None else case.own.ratio - 1, signed),
        number("confidence", get=lambda _: confidence),
        number("chance", get="effect.chance"),
        number("least_effect", "least effect", "least"),
        number("more_sessions", "more sessions", dtype="string"),
        *_of_sides(comparison.figure.column, get="value"),
        *(column for name, dtype in figures.items() for column in _of_sides(name, dtype=dtype)),
        words("counted_otherwise", "counted otherwise", lambda case: case.match.counted or None),
        number("base_sessions", "base", lambda case: len(case.match.base), dtype="Int64"),
        number("new_sessions", "new", lambda case: len(case.match.new), dtype="Int64"),
        words(
            "base_file", "base", lambda case: next((one.run.file for one in case.match.base), None), dtype="category"
        ),
        words("new_file", "new", lambda case: next((one.run.file for one in case.match.new), None), dtype="category"),
    ]


def display(comparison: Comparison) -> list[Column[Compared]]:
    """Where space is short, what a verdict is about gives way last: times of the sides, then interval, then machine."""
    confidence = comparison.settings.confidence
    between = number(
        "interval",
        f"{significant(100 * confidence, 2)} % interval",
        lambda case: _interval(case, confidence),
        signed_range,
        drop=2,
    )
    shown = [_CASE, *([_machine(comparison)] if len(comparison.machines) > 1 else []), _VERDICT, _CHANGE, between]
    if comparison.settings.by == "roof":
        shown += _of_sides("fraction_of_roof", " of\nroof", show=percent, drop=3)
        shown += _of_sides("fraction_of_speed_of_light", " of\nlight", show=percent, drop=7)
    else:
        shown += _of_sides(comparison.figure.column, get="value", show=comparison.figure.show, drop=3)
    shown.append(
        number(
            "sessions",
            get=lambda case: case.effect and f"{case.effect.base_sessions} v {case.effect.new_sessions}",
            drop=6,
        )
    )
    if asks_for_more(comparison):
        shown.append(
            number("more_sessions", "more to\nsettle it", show=lambda more: f"about {more}", narrow=str, drop=5)
        )
    return shown


_MORE = (
    "More to settle it: sessions a side, if the estimate stays where it is and they scatter as these do; -: not even"
    f" {MOST_SESSIONS} would be likely to, or the estimate lies at what matters, and more may move it to either side"
)

_NOT_MATCHED: tuple[Outcome, ...] = ("new", "removed", "invalid", "not comparable")


def sentence(comparison: Comparison, exit_code: int | None = None) -> str:
    """Say what came of it in one sentence; with an exit code, of a check: if it passed."""
    counts = {outcome: comparison.counts[outcome] for outcome in OUTCOMES}
    what = "" if comparison.settings.figure == "step_time" else comparison.figure.title
    if exit_code is not None:
        return sentence_of(counts, comparison.judged, exit_code, what, comparison.figure.outcome("slower"))
    parts = [f"{count} {outcome}" for outcome, count in counts.items() if count]
    by = f" by {what}" if what else ""
    every = len(comparison.cases)
    of = f"{comparison.judged} of " if comparison.judged < every else ""
    return f"{of}{counted(every, 'case')} compared{by}: {', '.join(parts) or 'no cases'}"


def coverage(comparison: Comparison) -> str:
    """Count what was looked at: every case stands in one of these."""
    counts = comparison.counts
    parts = [f"{comparison.matched} matched", *(f"{counts[outcome]} {outcome}" for outcome in _NOT_MATCHED)]
    return f"Coverage: {', '.join(parts)}"


def table(comparison: Comparison, title: str, *, verbose: bool = True) -> Table[Compared]:
    """A row a case, and below it what has to be known of the two sides."""
    return Table(
        title=title,
        columns=columns(comparison),
        rows=comparison.cases,
        display=display(comparison),
        notes=[
            coverage(comparison),
            *ComparisonLines(comparison, verbose=verbose).notes(),
            *([_MORE] if asks_for_more(comparison) else []),
        ],
    )
