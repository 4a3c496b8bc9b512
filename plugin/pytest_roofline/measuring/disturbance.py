"""Mark the rounds that were disturbed from outside, with the evidence.

Only evidence counts, never the time itself: leaving the marked rounds out must not bias the step time.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pytest_roofline.measuring.rounds import Round

STEAL_SHARE = 0.02
"""The hypervisor took more than this share of the round from the process's CPUs, taken together."""

SWITCHES_PER_S = 50.0
"""The process lost a CPU this often while it had work, and"""

OTHERS_SHARE = 0.2
"""other programs used this share of the round on its CPUs. Alone on a machine a process is interrupted a few times a
second; beside a program that never pauses, 100 times and more. Its own workers interrupt it too, which is its own
doing, and other programs on CPUs of their own don't disturb it: so both are asked for."""

OUT_OF_LINE = 5.0
"""Or it lost its CPUs this many standard deviations (of a count, or robust ones of the series) more often than in the
median round."""

CLOCK_DROP = 0.05
"""The device's clock lay this much below the median of the rounds."""

_LEAST_ROUNDS = 5
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def disturbances(rounds: Sequence[Round]) -> tuple[str | None, ...] | None:
    """Tell what disturbed each round, or None for a quiet one; None altogether where nothing was read to tell."""
    first = rounds[0]
    if first.steal_s is None and first.involuntary_switches is None and first.device.sm_clock_hz is None:
        return None
    usual_switches, most_switches = _usual_switches(rounds)
    usual_hz = _usual_clock(rounds)
    return tuple(
        "; ".join([*_stolen(round), *_shared(round, usual_switches, most_switches), *_slowed(round, usual_hz)]) or None
        for round in rounds
    )


def _stolen(round: Round) -> list[str]:
    if round.steal_s is None or round.steal_s <= STEAL_SHARE * round.wall_s:
        return []
    return [f"{1e3 * round.steal_s:.0f} ms stolen by the hypervisor"]


def _shared(round: Round, usual: float | None, most: float | None) -> list[str]:
    switches, others_s = round.involuntary_switches, round.others_cpu_s
    if switches is None:
        return []
    often = switches > max(OUT_OF_LINE, SWITCHES_PER_S * round.wall_s)
    if often and others_s is not None and others_s > OTHERS_SHARE * round.wall_s:
        return [f"other programs used {1e3 * others_s:.0f} ms of its CPUs, {switches} involuntary switches"]
    if usual is not None and most is not None and switches > most:
        return [f"{switches} involuntary switches, {usual:.0f} are usual"]
    return []


def _slowed(round: Round, usual_hz: float | None) -> list[str]:
    now_hz = round.device.sm_clock_hz
    if usual_hz is None or now_hz is None or now_hz >= (1 - CLOCK_DROP) * usual_hz:
        return []
    return [f"clock at {now_hz / 1e6:.0f} MHz, {usual_hz / 1e6:.0f} are usual"]


def _usual_switches(rounds: Sequence[Round]) -> tuple[float, float] | tuple[None, None]:
    """The median count, and the largest that is in line; None where there are too few to tell."""
    counts = [round.involuntary_switches for round in rounds if round.involuntary_switches is not None]
    if len(counts) < _LEAST_ROUNDS:
        return None, None
    usual = statistics.median(counts)
    robust = _NORMAL * statistics.median(abs(count - usual) for count in counts)
    return usual, usual + OUT_OF_LINE * max(1.0, usual**0.5, robust)


def _usual_clock(rounds: Sequence[Round]) -> float | None:
    clocks = [round.device.sm_clock_hz for round in rounds if round.device.sm_clock_hz is not None]
    return statistics.median(clocks) if len(clocks) >= _LEAST_ROUNDS else None
