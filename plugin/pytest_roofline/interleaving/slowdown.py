"""A step made slower on purpose, by a known share of its own time: what an alarm is tried on."""

from __future__ import annotations

from pytest_roofline.measuring import Instruments
from pytest_roofline.measuring.plan import Clock, Step


class Slowed:
    """Takes the step, waits until the device is through with it, and keeps the CPU busy for a share of that time.

    Waiting makes a step on an accelerator slower by itself: a slowdown of 0 does that alone, and is what the other side
    has to be given.

    :param share: of the step's own time, from 0 up.
    """

    def __init__(self, step: Step, share: float, instruments: Instruments, clock: Clock) -> None:
        self._step = step
        self._share = share
        self._synchronize = instruments.synchronize
        self._clock = clock

    def __call__(self) -> None:
        clock = self._clock
        start = clock()
        self._step()
        self._synchronize()
        now = clock()
        end = now + self._share * (now - start)
        while clock() < end:
            pass
