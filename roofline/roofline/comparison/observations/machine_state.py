"""What the machine told of its clocks and of others' load while a session was measured, and how two sides differ in it.

It decides no verdict: it is what may have caused a change that all cases share.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from roofline.schema.amounts import usable
from roofline.schema.record import Rounds
from roofline.text.units import percent, scaled
from roofline.timing import readings

CLOCK_APART = 0.03
"""A change of the device's clock that is told, relative."""

SHARE_APART = 0.1
"""The same of a share of the rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """Medians over a session's cases: the device's clock, and the share of the rounds in which its clocks were held
    down, and in which anything disturbed it from outside. None where no record tells.
    """

    sm_clock_hz: float | None = None
    throttle_share: float | None = None
    disturbed_share: float | None = None


def state_of(cases: Iterable[Rounds]) -> MachineState:
    """What the rounds of a session's cases tell."""
    rounds = tuple(cases)
    return MachineState(
        sm_clock_hz=_median(readings.mean(one.sm_clock_hz) for one in rounds),
        throttle_share=_median(readings.throttle_share(one) for one in rounds),
        disturbed_share=_median(_disturbed_share(one) for one in rounds),
    )


def _disturbed_share(rounds: Rounds) -> float | None:
    marks = rounds.disturbed
    return 1 - marks.count(None) / len(marks) if marks else None


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def state_differences(base: Sequence[MachineState], new: Sequence[MachineState]) -> list[str]:
    """In words what a side's sessions tell otherwise than the other's: ``SM clock 990 MHz, baseline 1.98 GHz``."""
    found = []
    for what, get, apart, show in _TOLD:
        before, now = (_median(get(state) for state in side) for side in (base, new))
        if before is not None and now is not None and apart(before, now):
            found.append(f"{what} {show(now)}, baseline {show(before)}")
    return found


def _clocks_apart(before: float, now: float) -> bool:
    return usable(before) and abs(now / before - 1) > CLOCK_APART


def _shares_apart(before: float, now: float) -> bool:
    return abs(now - before) > SHARE_APART


_Told = tuple[str, Callable[[MachineState], float | None], Callable[[float, float], bool], Callable[[float], str]]

_TOLD: tuple[_Told, ...] = (
    ("SM clock", lambda state: state.sm_clock_hz, _clocks_apart, lambda value: scaled(value, "Hz")),
    ("rounds with clocks held down", lambda state: state.throttle_share, _shares_apart, percent),
    ("rounds disturbed from outside", lambda state: state.disturbed_share, _shares_apart, percent),
)
