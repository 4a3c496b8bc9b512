"""What the profiler saw of several steps, put together by its name: what ran outside of operations, and all kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from roofline.schema.record import KernelTime, OutsideTime

MOST_OUTSIDE = 30
MOST_KERNELS = 100
"""What comes after the longest of these is one entry together."""


@dataclass(slots=True)
class _Spent:
    """In one step, or the medians over several."""

    calls: float = 0
    time_ns: float = 0


def outside_times(steps: Sequence[Iterable[tuple[str, int]]]) -> tuple[OutsideTime, ...]:
    """What ran outside of the counted operations, longest first; at most `MOST_OUTSIDE` names and the others.

    :param steps: of each step every call with its nanoseconds.
    """
    return tuple(
        OutsideTime(name=name, calls=one.calls, time_s=one.time_ns / 1e9)
        for name, one in _medians(steps, MOST_OUTSIDE).items()
    )


def kernel_times(steps: Sequence[Iterable[tuple[str, int]]]) -> tuple[KernelTime, ...]:
    """All kernels, copies and fills, longest first; at most `MOST_KERNELS` names and the others.

    :param steps: of each step every launch with its nanoseconds.
    """
    return tuple(
        KernelTime(name=name, launches=one.calls, time_s=one.time_ns / 1e9)
        for name, one in _medians(steps, MOST_KERNELS).items()
    )


def _medians(steps: Sequence[Iterable[tuple[str, int]]], most: int) -> dict[str, _Spent]:
    """By name, the median over the steps of calls and of time, longest first.

    A name that a step lacks counts as 0 there; one that most steps lack is left out. What comes after the longest
    ``most`` is one entry together.
    """
    spent = [_by_name(calls) for calls in steps]
    nothing = _Spent()
    medians = {
        name: _Spent(
            calls=float(median(step.get(name, nothing).calls for step in spent)),
            time_ns=median(step.get(name, nothing).time_ns for step in spent),
        )
        for name in dict.fromkeys(name for step in spent for name in step)
    }
    longest = sorted((pair for pair in medians.items() if pair[1].calls), key=lambda pair: -pair[1].time_ns)
    shown, rest = dict(longest[:most]), [one for _, one in longest[most:]]
    if rest:
        shown[f"{len(rest)} others"] = _Spent(
            calls=sum(one.calls for one in rest), time_ns=sum(one.time_ns for one in rest)
        )
    return shown


def _by_name(calls: Iterable[tuple[str, int]]) -> dict[str, _Spent]:
    spent: dict[str, _Spent] = {}
    for name, time_ns in calls:
        one = spent.setdefault(name, _Spent())
        one.calls += 1
        one.time_ns += time_ns
    return spent
