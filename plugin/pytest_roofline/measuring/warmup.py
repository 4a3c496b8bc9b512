"""Warm up: until the step time is steady, or for a number of steps, and learn how many steps make a round.

The first step stands apart: it compiles, tunes and allocates, and says nothing of the others. After it, windows as long
as a round are timed. They are steady when they neither climb nor fall any more: of the last six, the newer three reach
into the range of the older three (or their medians agree within 2 %), and the very last is not a new extreme by more
than 2 %. So a noisy step settles in about as many windows as a quiet one, and a drift does not settle. When the time
allowed is spent first, the warm-up *gave up*, unless the few windows there were all agree within 2 %.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_roofline.measuring.rounds import Stopwatch

__tracebackhide__ = True  # Where a model fails, pytest shows its frames and not these.

LIMIT_S = 10.0
"""Time allowed after the first step, which may compile for minutes."""

TOLERANCE = 0.02
HALF = 3
"""Windows on either side of the comparison."""

_GROWTH = 10
"""A window grows at most this much at a time: a first short one may have been misleading."""

_STANDSTILL_STEPS = 10_000_000


class ClockError(RuntimeError):
    """The clock does not advance while steps run."""


@dataclass(slots=True, kw_only=True)
class Warmup:
    """How a warm-up went, or goes so far.

    :param seconds: of all its steps.
    :param settled: None where a number of steps was asked for; False when it gave up at its limit.
    :param first_step_s: None where it took no step.
    :param round_steps: steps that take at least as long as a round must; None where they were not to be chosen.
    """

    steps: int = 0
    seconds: float = 0.0
    settled: bool | None = None
    first_step_s: float | None = None
    round_steps: int | None = None

    def run(self, stopwatch: Stopwatch, steps: int) -> float:
        """Take so many steps more, and return their seconds."""
        taken_s = stopwatch.window(steps)
        if self.first_step_s is None:
            self.first_step_s = taken_s / steps
        self.steps += steps
        self.seconds += taken_s
        return taken_s


def warm_up(stopwatch: Stopwatch, steps: int | None, round_s: float, *, choose: bool) -> Warmup:
    """Warm up for ``steps``, or until steady where that is None.

    :param round_s: what a round must last at least.
    :param choose: find out how many steps that is. With a fixed number of warm-up steps, it may take some more.
    :raises ClockError: the clock stands still.
    """
    warmup = Warmup()
    if steps is None:
        _until_steady(warmup, stopwatch, round_s)
        return warmup
    if steps:
        warmup.run(stopwatch, 1)
    if steps > 1:
        warmup.run(stopwatch, steps - 1)
    if choose:
        warmup.round_steps, _ = _find_length(warmup, stopwatch, round_s)
    return warmup


def _until_steady(warmup: Warmup, stopwatch: Stopwatch, round_s: float) -> None:
    warmup.run(stopwatch, 1)
    end = warmup.seconds + LIMIT_S
    length, window_s = _find_length(warmup, stopwatch, round_s)
    step_times = [window_s / length]
    while warmup.seconds < end and not is_steady(step_times):
        step_times.append(warmup.run(stopwatch, length) / length)
    warmup.settled = is_steady(step_times) or _all_agree(step_times)
    warmup.round_steps = max(1, math.ceil(round_s / min(step_times)))


def _find_length(warmup: Warmup, stopwatch: Stopwatch, round_s: float) -> tuple[int, float]:
    """Steps that take at least ``round_s``, and what they took."""
    length = 1
    while (window_s := warmup.run(stopwatch, length)) < round_s:
        if window_s <= 0 and length >= _STANDSTILL_STEPS:
            raise ClockError(f"the clock did not advance over {length} steps: it must tick while steps run")
        # A tenth more than the estimate, so that the next window is long enough almost surely.
        wanted = math.ceil(1.1 * length * round_s / window_s) if window_s > 0 else _GROWTH * length
        length = max(length + 1, min(_GROWTH * length, wanted))
    return length, window_s


def is_steady(step_times: Sequence[float]) -> bool:
    """Tell whether the last windows neither climb nor fall; False with fewer than six."""
    if len(step_times) < 2 * HALF:
        return False
    older, newer = step_times[-2 * HALF : -HALF], step_times[-HALF:]
    overlap = min(newer) <= max(older) and max(newer) >= min(older)
    level, before = statistics.median(newer), statistics.median(older)
    if not overlap and abs(level - before) > TOLERANCE * before:
        return False
    *rest, last = step_times[-2 * HALF :]
    return (1 - TOLERANCE) * min(rest) <= last <= (1 + TOLERANCE) * max(rest)


def _all_agree(step_times: Sequence[float]) -> bool:
    return 2 <= len(step_times) < 2 * HALF and max(step_times) <= (1 + TOLERANCE) * min(step_times)
