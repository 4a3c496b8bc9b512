"""What ran outside of the counted operations, put together over several steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from roofline.record import OutsideTime

MOST_ENTRIES = 30


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    time_ns: int = 0


def outside_times(steps: Sequence[Iterable[tuple[str, int]]]) -> tuple[OutsideTime, ...]:
    """By name, the median over the steps of calls and of time, longest first.

    A name that a step lacks counts as 0 there; one that most steps lack is left out. What comes after the longest
    `MOST_ENTRIES` is one entry together.

    :param steps: of each step every call with its nanoseconds.
    """
    spent = [_by_name(calls) for calls in steps]
    nothing = _Spent()
    times = [
        OutsideTime(
            name=name,
            calls=float(median(step.get(name, nothing).calls for step in spent)),
            time_s=median(step.get(name, nothing).time_ns for step in spent) / 1e9,
        )
        for name in dict.fromkeys(name for step in spent for name in step)
    ]
    longest = sorted((one for one in times if one.calls), key=lambda one: -one.time_s)
    shown, rest = longest[:MOST_ENTRIES], longest[MOST_ENTRIES:]
    if rest:
        shown.append(
            OutsideTime(
                name=f"{len(rest)} others", calls=sum(one.calls for one in rest), time_s=sum(one.time_s for one in rest)
            )
        )
    return tuple(shown)


def _by_name(calls: Iterable[tuple[str, int]]) -> dict[str, _Spent]:
    spent: dict[str, _Spent] = {}
    for name, time_ns in calls:
        one = spent.setdefault(name, _Spent())
        one.calls += 1
        one.time_ns += time_ns
    return spent
