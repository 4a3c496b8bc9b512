"""What a run asks of the folders above its own: turns with another process, counters of a step."""

from __future__ import annotations

from typing import NoReturn, Protocol

from pytest_roofline.device.instruments import Instruments
from pytest_roofline.measuring.plan import Measured, Pace
from pytest_roofline.measuring.rounds import Clock, Step
from pytest_roofline.workload.step import Workload
from roofline.schema.record import Case, HostCounters


class TakesTurns(Protocol):
    """Lets the rounds of a case take turns with those of another process."""

    last: bool
    """Whether the model won't be built anew after this: then it is proven."""

    def pace(self, case: Case) -> Pace:
        """When the rounds of a case may be taken."""
        ...

    def slowed(self, step: Step, instruments: Instruments, clock: Clock) -> Step:
        """The step, longer by as much as a trial of the alarm asks for."""
        ...


class CountsStep(Protocol):
    """Takes one step of a workload for its hardware counters."""

    def take(self, workload: Workload, case: str) -> NoReturn:
        """Take it, and end the test."""
        ...


class CountsEvents(Protocol):
    """Counts events of a case's steps on the host's cores."""

    def count(self, step: Step, measured: Measured, instruments: Instruments) -> HostCounters:
        """Take more steps than were timed, and count during them."""
        ...
