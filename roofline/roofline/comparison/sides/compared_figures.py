"""The figures that two sides can be compared by: where each stands in the record, and what is known of its scatter.

What a session knows of its own figure (`observe_figure`) is in its record: rounds of energy, and the tail of single
steps. How far sessions scatter beyond that is told by a prior, which more sessions outweigh. A figure without a prior
doesn't scatter: it is counted, or the allocator's (`roofline.comparison.effects.exact`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from roofline.comparison.effects.effect import SESSIONS, Prior
from roofline.comparison.effects.verdict import Kind
from roofline.comparison.observations.observation import Observation, Unusable, observe_times
from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.show.reasons import why_not_recorded
from roofline.show.tables import Follow
from roofline.text.units import scaled, unit_of

FigureName = Literal["step_time", "latency_p99", "compile_time", "energy", "peak_memory", "flop"]

FigureOutcome = Literal["slower", "faster", "more", "less", "same", "inconclusive"]
"""A verdict in the words of its figure: a time is slower or faster, an amount more or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigure:
    """``column`` is the name of its columns, with the unit; ``paths`` are its places in the record, of which the first
    with a value is taken. ``prior`` is what is known of its scatter; None: it has none. ``error`` gives its standard
    error within a session, relative; None where the session doesn't show it.
    """

    title: str
    column: str
    paths: tuple[str, ...]
    prior: Prior | None
    error: Callable[[Record], float | None] = lambda _: None

    @property
    def unit(self) -> str:
        return unit_of(self.column) or ""

    @property
    def is_time(self) -> bool:
        return self.unit == "s"

    def outcome(self, kind: Kind) -> FigureOutcome:
        """A verdict in the words of this figure."""
        of_amounts: dict[Kind, FigureOutcome] = {"slower": "more", "faster": "less"}
        return kind if self.is_time else of_amounts.get(kind, kind)

    def show(self, value: float) -> str:
        return scaled(value, self.unit)


def observe_figure(figure: ComparedFigure, record: Record, started_at: str) -> tuple[Observation, str]:
    """One session's figure of a case, and the place in the record that it is from.

    :raises Unusable: the record has none, or no number to form a ratio with.
    """
    values = {path: Follow(path, {})(record) for path in figure.paths}
    path = next((path for path, value in values.items() if value is not None), None)
    if path is None:
        why = dict.fromkeys(why_not_recorded(record, path) for path in figure.paths)
        raise Unusable(f"no {figure.title}: {'; '.join(why)}")
    value = values[path]
    if not usable(value):
        raise Unusable(f"{figure.title} of {value:g} {figure.unit}: no ratio can be formed with it")
    error = figure.error(record)
    return Observation(value=value, error=error, started_at=started_at), path


def _p99_error(record: Record) -> float | None:
    """Standard error of the 99th percentile of ``n`` single steps, relative, by the tail that the record shows.

    Of a quantile it is ``sqrt(p (1 - p) / n) / f``, with the density ``f`` there (F. Mosteller, "On Some Useful
    'Inefficient' Statistics", Annals of Mathematical Statistics 17 (1946)). The tail is taken to be exponential between
    the 95th and the 99th percentile, so that its mean excess is their difference over ``log(5)``.

    :raises Unusable: percentiles that contradict each other.
    """
    latency = None if record.timing is None else record.timing.latency
    assert latency is not None
    if not 0 < latency.median_s <= latency.p95_s <= latency.p99_s or latency.steps < 1:
        raise Unusable("the record's percentiles of single steps contradict each other: a file that was edited")
    excess = (latency.p99_s - latency.p95_s) / math.log(5)
    return excess * math.sqrt(99 / latency.steps) / latency.p99_s


def _compile_error(record: Record) -> None:
    """Refuse the time of loading code in place of compiling it, a tenth as long; one value has no error of its own.

    :raises Unusable: torch found code in a cache.
    """
    if record.timing is not None and record.timing.compiled_from_cache:
        raise Unusable(
            "no compile time: torch found its code in a cache. TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 in the environment "
            "of every session makes it compile"
        )


def _energy_error(record: Record) -> float | None:
    """Standard error of the energy as its rounds show it: power at the end of each times its duration."""
    rounds = None if record.timing is None else record.timing.rounds
    if rounds is None or rounds.power_w is None or len(rounds.power_w) != len(rounds.wall_s):
        return None
    try:
        return observe_times([watt * wall for watt, wall in zip(rounds.power_w, rounds.wall_s, strict=True)]).error
    except Unusable:
        return None


FIGURES: dict[FigureName, ComparedFigure] = {
    "step_time": ComparedFigure(title="step time", column="step_time_s", paths=("timing.step_time_s",), prior=SESSIONS),
    "latency_p99": ComparedFigure(
        title="p99 latency",
        column="latency_p99_s",
        paths=("timing.latency.p99_s",),
        # Of stretches of 2 s of a quiet machine: `python -m benchmarks latency`.
        prior=Prior(deviation=0.15, unknown_error=0.1),
        error=_p99_error,
    ),
    "compile_time": ComparedFigure(
        title="compile time",
        column="compile_s",
        paths=("timing.compile_s",),
        # Twice as far as code that is compiled anew each time: `python -m benchmarks compile`.
        prior=Prior(deviation=0.06, unknown_error=0.0),
        error=_compile_error,
    ),
    "energy": ComparedFigure(
        title="energy",
        column="energy_j_per_step",
        paths=("energy_j_per_step",),
        # Twice that of times. Nothing was recorded: no machine at hand counted energy.
        prior=Prior(deviation=0.04),
        error=_energy_error,
    ),
    "peak_memory": ComparedFigure(
        title="peak memory",
        column="peak_memory_byte",
        paths=("memory.peak_allocated_byte", "memory.peak_predicted_byte"),
        prior=None,
    ),
    "flop": ComparedFigure(title="FLOP", column="flop_per_step", paths=("work.flop_per_step",), prior=None),
}
