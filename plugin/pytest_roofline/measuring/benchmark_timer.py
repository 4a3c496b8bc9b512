"""Hand rounds that have been measured to pytest-benchmark, through its public seams: ``pedantic`` and a timer.

pytest-benchmark takes the timer of a test from its ``benchmark`` marker when it makes the fixture. The timer put there
replays the rounds, so pytest-benchmark's statistics are of exactly those times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from roofline.schema.record import Timing

_TIMER = pytest.StashKey["ReplayTimer"]()


class NothingToReplay(RuntimeError):
    """The timer was read more often than the rounds handed over account for."""


class ReplayTimer:
    """A clock that tells the ends of given rounds in turn: 0 at a round's start, its length at its end."""

    __name__ = "pytest_roofline"
    """pytest-benchmark stores a timer's name in the options of each result; without one it would store an address."""

    def __init__(self) -> None:
        self._readings: Iterator[float] = iter(())

    def load(self, rounds_s: Sequence[float]) -> None:
        """Replay these from now on."""
        self._readings = iter([reading for length in rounds_s for reading in (0.0, length)])

    def __call__(self) -> float:
        try:
            return next(self._readings)
        except StopIteration:
            raise NothingToReplay(
                "this test's benchmark fixture only takes over what the roofline fixture has measured; "
                "call roofline(...) instead of benchmark(...), or measure the function in a test of its own"
            ) from None


def install(item: pytest.Item) -> None:
    """Give the test a replaying timer, before its fixtures are made. Other keywords of its own marker stay.

    A test that fails before it measures leaves the benchmark fixture unused. pytest-benchmark warns of that: a second
    error beside the failure, where warnings are errors, though why nothing was measured is reported already.
    """
    marker = item.get_closest_marker("benchmark")
    timer = ReplayTimer()
    item.stash[_TIMER] = timer
    keywords = {**(marker.kwargs if marker is not None else {}), "timer": timer}
    # In front: pytest-benchmark reads the closest marker only.
    item.add_marker(pytest.mark.benchmark(**keywords), append=False)
    item.add_marker(pytest.mark.filterwarnings("ignore:Benchmark fixture was not used"))


def hand_over(benchmark: BenchmarkFixture, item: pytest.Item, timing: Timing) -> None:
    """Let pytest-benchmark see the timing's rounds as its own. Where it is disabled, nothing happens.

    ``item`` must have been through `install`.
    """
    rounds = timing.rounds
    item.stash[_TIMER].load(rounds.wall_s)
    benchmark.pedantic(_nothing, rounds=len(rounds.wall_s), iterations=rounds.steps)


def _nothing() -> None:
    """pytest-benchmark calls it between two readings of the timer; the work was done before."""
