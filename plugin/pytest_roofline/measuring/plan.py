"""Define what a measurement is asked to do, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from roofline.schema.record import Timing

if TYPE_CHECKING:
    from pytest_roofline.measuring.rounds import Round

WINDOW_WARMUP_STEPS = 10
WINDOW_STEPS = 100
"""The protocols ``window`` and ``steps`` of the students' reports: 10 steps of warm-up, 100 measured."""


class InputEnded(RuntimeError):
    """There is no more data. The message says after how many batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How to measure.

    :param protocol: ``adaptive``: warm up until steady, then rounds until ``margin`` or ``max_time_s`` is reached.
        ``window``: 10 steps of warm-up and one window of 100. ``steps``: 10 of warm-up and 100 single steps, each
        synchronised and logged.
    :param warmup_steps: None: until steady (adaptive), 10 (window, steps).
    :param steps: of a round (adaptive; None chooses), of the window, or in all (steps); None is 100 in both.
    :param repeats: whole measurements, each with a warm-up, a budget and a stopping of its own.
    :param margin: relative half width of the confidence interval asked for (adaptive).
    :param confidence: of that interval.
    :param max_time_s: budget of the timed rounds of one repeat (adaptive); to replace disturbed rounds, up to twice as
        long.
    """

    protocol: str = "adaptive"
    warmup_steps: int | None = None
    steps: int | None = None
    repeats: int = 1
    margin: float = 0.01
    confidence: float = 0.95
    max_time_s: float = 10.0

    @property
    def fixed_steps(self) -> int | None:
        """Steps of a round, of the window, or in all; None where they are to be chosen."""
        return self.steps or (None if self.protocol == "adaptive" else WINDOW_STEPS)

    @property
    def fixed_warmup_steps(self) -> int | None:
        """Steps of warm-up; None where it lasts until steady."""
        if self.warmup_steps is None and self.protocol != "adaptive":
            return WINDOW_WARMUP_STEPS
        return self.warmup_steps


class Pace(Protocol):
    """Decides in the plan's place when a round is taken and when there are enough; see `pytest_roofline.ab`.

    Nothing else of ours happens between `next_round` and the round but a few steps of warming up again.
    """

    @property
    def agreed_before(self) -> int | None:
        """Steps of a round where the same model was built and measured in this process before; else None."""
        ...

    def agree(self, steps: int) -> int:
        """Agree how many steps a round has, where the warm-up, or the plan, says ``steps``. Waits for the word."""
        ...

    def next_round(self) -> bool:
        """Wait for the next turn. False: there are no more."""
        ...

    def took(self, round: Round) -> None:
        """A round has been taken."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """How far a measurement is, between two of its rounds.

    :param repeat: the one that is going on, from 1, of so many ``repeats``.
    :param rounds: complete ones of this repeat.
    :param step_time_s: their median; of single steps the mean.
    :param margin: None where they support no claim yet, and where the protocol takes a fixed number.
    :param left_s: timed seconds still to come, in this repeat and those after it; at most, where there is no margin.
    """

    repeat: int
    repeats: int
    rounds: int
    step_time_s: float
    margin: float | None
    left_s: float


Watch = Callable[[SoFar], None]
"""Is called after a round when more are to come."""


@dataclass(frozen=True, slots=True)
class StepEnd:
    """When a single step was over, in UTC, and the loss it ended with; None in inference."""

    at: datetime
    loss: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement.

    :param step_log_s: every single step's time, in order, where the protocol is ``steps``.
    :param step_ends: how each of them ended, where somebody looked.
    :param first_step_s: the very first step of the first warm-up: what is done once (compiling, autotuning,
        allocating) and a step. None where no warm-up was asked for.
    :param input_ended: after how many batches and where in the measurement the data ended; None where it lasted. What
        was complete by then is measured.
    :param energy_j_per_step: of the device, mean over the timed rounds.
    :param missing: why values are None, by their path in the record.
    """

    timing: Timing
    step_log_s: tuple[float, ...] | None = None
    step_ends: tuple[StepEnd, ...] = ()
    first_step_s: float | None = None
    input_ended: str | None = None
    energy_j_per_step: float | None = None
    missing: dict[str, str] = field(default_factory=dict)
