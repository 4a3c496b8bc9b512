"""What the machine told of its clocks and of others' load while a session was measured, and how two sides differ in it.

It decides no verdict: it is what may have caused a change that all cases share.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from roofline.schema.amounts import usable
from roofline.schema.record import Rounds
from roofline.text.units import percent, scaled
from roofline.timing import readings

CLOCK_APART = 0.03
"""A change of the device's clock that is reported, relative."""

SHARE_APART = 0.1
"""The same of a share of the rounds."""

MachineState = Mapping[str, float]
"""Name of a reading -> its median over a session's cases. One that no record has is not there."""


def _disturbed_share(rounds: Rounds) -> float | None:
    marks = rounds.disturbed
    return 1 - marks.count(None) / len(marks) if marks else None


def _shares_apart(before: float, now: float) -> bool:
    return abs(now - before) > SHARE_APART


_Reading = tuple[Callable[[Rounds], float | None], Callable[[float, float], bool], Callable[[float], str]]

_READINGS: dict[str, _Reading] = {
    "SM clock": (
        lambda rounds: readings.mean(rounds.sm_clock_hz),
        lambda before, now: usable(before) and abs(now / before - 1) > CLOCK_APART,
        lambda value: scaled(value, "Hz"),
    ),
    "rounds with clocks held down": (readings.throttle_share, _shares_apart, percent),
    "rounds disturbed from outside": (_disturbed_share, _shares_apart, percent),
}
"""What is read of a case, when two sides differ in it, and how it is shown."""


def state_of(cases: Iterable[Rounds]) -> MachineState:
    """Take the median of each reading over a session's cases."""
    rounds = tuple(cases)
    known = {
        name: [value for one in rounds if (value := get(one)) is not None] for name, (get, *_) in _READINGS.items()
    }
    return {name: statistics.median(values) for name, values in known.items() if values}


def state_differences(base: Sequence[MachineState], new: Sequence[MachineState]) -> list[str]:
    """In words what a side's sessions tell otherwise than the other's: ``SM clock 990 MHz, baseline 1.98 GHz``."""
    found = []
    for name, (_, apart, show) in _READINGS.items():
        sides = [[state[name] for state in side if name in state] for side in (base, new)]
        if all(sides):
            before, now = map(statistics.median, sides)
            if apart(before, now):
                found.append(f"{name} {show(now)}, baseline {show(before)}")
    return found
