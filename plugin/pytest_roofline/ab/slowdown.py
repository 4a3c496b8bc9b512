"""A step made slower on purpose, by a known share of its own time: what an alarm is tried on."""

from __future__ import annotations

import time
from collections import deque

from pytest_roofline.device.instruments import Instruments
from pytest_roofline.measuring.rounds import Clock, Step

_REMEMBERED = 20
"""Steps whose times say how long a step is."""


class Slowed:
    """Takes the step, waits until the device is through with it, and keeps the CPU busy for a share of a step's time.

    A step's time is the lower quartile of the last ones, and the share of it is spent in CPU time: beside other
    programs a slower step does more work, which is stretched as all work is.

    Waiting makes a step on an accelerator slower by itself: a slowdown of 0 does that alone, and is what the other side
    has to be given.

    :param share: of a step's time, from 0 up.
    :param cpu_clock: of this thread.
    """

    def __init__(
        self, step: Step, share: float, instruments: Instruments, clock: Clock, cpu_clock: Clock = time.thread_time
    ) -> None:
        self._step = step
        self._share = share
        self._synchronize = instruments.synchronize
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._times: deque[float] = deque(maxlen=_REMEMBERED)

    def __call__(self) -> None:
        clock, cpu_clock = self._clock, self._cpu_clock
        start = clock()
        self._step()
        self._synchronize()
        self._times.append(clock() - start)
        usual = sorted(self._times)[len(self._times) // 4]
        end = cpu_clock() + self._share * usual
        while cpu_clock() < end:
            pass
