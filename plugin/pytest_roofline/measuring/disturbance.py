"""Which rounds were disturbed from outside, and by what evidence.

Only evidence counts, never the time itself: whoever leaves the marked rounds out must not bias the mean by that.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

STEAL_SHARE = 0.02
"""The hypervisor took more than this share of the round from the process's CPUs, taken together."""

SWITCHES_PER_S = 50.0
"""The process lost a CPU this often while it had work. Alone on a machine it is a few times a second; beside another
program that never pauses, 100 times and more on every shared CPU."""

OUT_OF_LINE = 5.0
"""Or that many standard deviations (of counts, or robust ones of the series) above the median of the rounds, and as
many switches at the least."""

CLOCK_DROP = 0.05
"""The device's clock lay this much below the median of the rounds."""

_LEAST_ROUNDS = 5
_NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


def disturbances(
    wall_s: Sequence[float],
    *,
    switches: Sequence[int] | None,
    steal_s: Sequence[float] | None,
    sm_clock_hz: Sequence[float] | None,
) -> tuple[str | None, ...] | None:
    """What disturbed each round, or None for a quiet one; None altogether where nothing was read.

    All series are per round and of one length.
    """
    if switches is None and steal_s is None and sm_clock_hz is None:
        return None
    found: list[list[str]] = [[] for _ in wall_s]
    if steal_s is not None:
        for reasons, stolen, wall in zip(found, steal_s, wall_s, strict=True):
            if stolen > STEAL_SHARE * wall:
                reasons.append(f"{1e3 * stolen:.0f} ms stolen by the hypervisor")
    if switches is not None:
        limit = _switch_limit(switches)
        for reasons, count, wall in zip(found, switches, wall_s, strict=True):
            if count > SWITCHES_PER_S * wall and count >= OUT_OF_LINE:
                reasons.append(f"{count} involuntary switches, {count / wall:.0f} a second")
            elif limit is not None and count > limit:
                reasons.append(f"{count} involuntary switches, where {statistics.median(switches):.0f} are usual")
    if sm_clock_hz is not None and len(sm_clock_hz) >= _LEAST_ROUNDS:
        usual = statistics.median(sm_clock_hz)
        for reasons, clock in zip(found, sm_clock_hz, strict=True):
            if clock < (1 - CLOCK_DROP) * usual:
                reasons.append(f"clock at {clock / 1e6:.0f} MHz, where {usual / 1e6:.0f} are usual")
    return tuple("; ".join(reasons) or None for reasons in found)


def _switch_limit(switches: Sequence[int]) -> float | None:
    """Counts above this are out of line; None with too few rounds to tell."""
    if len(switches) < _LEAST_ROUNDS:
        return None
    usual = statistics.median(switches)
    deviation = _NORMAL * statistics.median(abs(count - usual) for count in switches)
    return float(usual + OUT_OF_LINE * max(1.0, usual**0.5, deviation))
