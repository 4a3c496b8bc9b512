"""The figures of a compared case that a table can show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from roofline.comparison.comparison import Compared, Comparison, Middle
from roofline.comparison.seen import Seen
from roofline.comparison.verdict import MOST_SESSIONS, NoNumber
from roofline.show.tables import Column
from roofline.text.units import percent, scaled, significant


def signed(change: float) -> str:
    """``signed(0.0512)`` is ``+5.1 %``."""
    percent = round(100 * change, 1)
    return f"{percent:+.1f} %" if percent else "0.0 %"


def signed_range(ends: Sequence[float]) -> str:
    """``signed_range((-0.057, 0.0512))`` is ``-5.7 to +5.1 %``."""
    low, high = map(signed, ends)
    return f"{low.removesuffix(' %')} to {high}"


NO_NUMBER: dict[NoNumber, str] = {"beyond": f">{MOST_SESSIONS}", "border": "?"}
"""What stands where no number of more sessions can be told; ``-`` stands where more are not what would settle it."""

MORE = "more_sessions"
"""The name of the column that shows it."""


def asks_for_more(comparison: Comparison) -> bool:
    """Whether more sessions would settle a case, or might."""
    return any(case.more_sessions is not None or case.no_number is not None for case in comparison.cases)


def _more(case: Compared) -> str | None:
    if case.no_number is not None:
        return NO_NUMBER[case.no_number]
    return None if case.more_sessions is None else f"about {case.more_sessions}"


def _sessions(case: Compared) -> str | None:
    return None if case.effect is None else f"{case.effect.base_sessions} v {case.effect.new_sessions}"


def _end(which: int, confidence: float) -> Callable[[Compared], float | None]:
    return lambda case: None if case.effect is None else case.effect.interval(confidence)[which] - 1


def _of(side: str, get: Callable[[Middle], Any]) -> Callable[[Compared], Any]:
    def value(case: Compared) -> Any:
        middle: Middle | None = getattr(case, side)
        return None if middle is None else get(middle)

    return value


def _file(side: str) -> Callable[[Compared], str | None]:
    def value(case: Compared) -> str | None:
        seen: tuple[Seen, ...] = getattr(case.pair, side)
        return seen[0].run.file if seen else None

    return value


CASE: Column[Compared] = Column(name="case", title="case", get=lambda case: case.pair.id, right=False)
_MACHINE: Column[Compared] = Column(
    name="machine", title="machine", get=lambda case: case.pair.machine.label, right=False, drop=8
)
VERDICT: Column[Compared] = Column(name="verdict", title="verdict", get=lambda case: case.outcome, right=False)
WHY: Column[Compared] = Column(name="why", title="why", get=lambda case: case.why or None, right=False)
LACKING: Column[Compared] = Column(
    name="lacking", title="lacking", get=lambda case: case.pair.shortfalls.told or None, right=False
)
_CHANGE: Column[Compared] = Column(name="change", title="change", get=lambda case: case.change, show=signed)
_MORE: Column[Compared] = Column(
    name=MORE,
    title="more to\nsettle it",
    get=_more,
    narrow=lambda text: text.removeprefix("about "),
    drop=4,
)
_SESSIONS: Column[Compared] = Column(name="sessions", title="sessions", get=_sessions, drop=5)


def columns(comparison: Comparison) -> list[Column[Compared]]:
    confidence = comparison.settings.confidence
    return [
        CASE,
        Column(name="test", title="test", get=lambda case: case.pair.test, right=False),
        _MACHINE,
        VERDICT,
        WHY,
        _CHANGE,
        Column(name="change_low", title="from", get=_end(0, confidence), show=signed),
        Column(name="change_high", title="to", get=_end(1, confidence), show=signed),
        Column(name="confidence", title="confidence", get=lambda _: confidence),
        Column(name="chance", title="chance", get=lambda case: None if case.effect is None else case.effect.chance),
        Column(name="least_effect", title="least effect", get=lambda case: case.least),
        Column(name=MORE, title="more sessions", get=lambda case: case.more_sessions),
        Column(name="base_step_time_s", title="base", get=_of("base", lambda side: side.step_time_s)),
        Column(name="new_step_time_s", title="new", get=_of("new", lambda side: side.step_time_s)),
        Column(name="base_fraction_of_roof", title="base", get=_of("base", lambda side: side.fraction_of_roof)),
        Column(name="new_fraction_of_roof", title="new", get=_of("new", lambda side: side.fraction_of_roof)),
        Column(
            name="base_fraction_of_speed_of_light", title="base", get=_of("base", lambda side: side.fraction_of_sol)
        ),
        Column(name="new_fraction_of_speed_of_light", title="new", get=_of("new", lambda side: side.fraction_of_sol)),
        Column(name="base_outliers", title="base", get=_of("base", lambda side: side.outliers)),
        Column(name="new_outliers", title="new", get=_of("new", lambda side: side.outliers)),
        Column(name="base_slowest_round", title="base", get=_of("base", lambda side: side.slowest)),
        Column(name="new_slowest_round", title="new", get=_of("new", lambda side: side.slowest)),
        Column(name="counted_otherwise", title="counted otherwise", get=lambda case: case.pair.counted or None),
        Column(name="base_sessions", title="base", get=lambda case: len(case.pair.base)),
        Column(name="new_sessions", title="new", get=lambda case: len(case.pair.new)),
        Column(name="base_file", title="base", get=_file("base")),
        Column(name="new_file", title="new", get=_file("new")),
    ]


def display(comparison: Comparison) -> list[Column[Compared]]:
    """Where space is short, what a verdict is about gives way last: the interval, then the times of both sides."""
    confidence = comparison.settings.confidence
    between: Column[Compared] = Column(
        name="interval",
        title=f"{significant(100 * confidence, 2)} % interval",
        get=lambda case: None if case.effect is None else [end - 1 for end in case.effect.interval(confidence)],
        show=signed_range,
        drop=1,
    )
    shown = [CASE, *([_MACHINE] if len(comparison.machines) > 1 else []), VERDICT, _CHANGE, between]
    if comparison.settings.by == "roof":
        shown += [
            _fraction(f"{side}_{name}", f"{side} of\n{of}", _of(side, get), drop + later)
            for name, of, get, drop in (
                ("fraction_of_roof", "roof", lambda middle: middle.fraction_of_roof, 2),
                ("fraction_of_speed_of_light", "light", lambda middle: middle.fraction_of_sol, 6),
            )
            for later, side in enumerate(("base", "new"))
        ]
    else:
        shown += [
            Column(
                name=f"{side}_step_time_s",
                title=side,
                get=_of(side, lambda middle: middle.step_time_s),
                show=lambda value: scaled(value, "s"),
                drop=2 + later,
            )
            for later, side in enumerate(("base", "new"))
        ]
    if asks_for_more(comparison):
        return [*shown, _SESSIONS, _MORE]
    return [*shown, _SESSIONS]


def _fraction(name: str, title: str, get: Callable[[Compared], Any], drop: int) -> Column[Compared]:
    return Column(name=name, title=title, get=get, show=percent, drop=drop)
