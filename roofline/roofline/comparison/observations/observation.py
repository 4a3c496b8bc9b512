"""The step time of a case in one session, how well its rounds know it, or why the session says nothing of the case.

A row says the same thing several times: round times, their mean and median, the rate. Where these contradict each
other, the file was edited or is in another unit, and no number of it is taken.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.machine.roof_choice import Roofs
from roofline.model.placement import Placement
from roofline.model.point_flags import disproved, faster_than_peak, oversubscribed
from roofline.results.result import ResultFile, Stats
from roofline.schema.amounts import usable, usable_or_zero
from roofline.schema.record import Flag, Record, Rounds
from roofline.text.units import scaled, significant
from roofline.timing.margin import LARGEST, LEAST_ROUNDS, MEDIAN_OVER_MEAN, estimator_of
from roofline.timing.round_flags import bimodal, usable_step_times
from roofline.timing.step_time import AGREEMENT, mostly_disturbed, step_time, step_times_s, too_many

OUTLIER = 1.5
"""A round that takes this many times the median or longer is an outlier, which the median doesn't see."""

_ONE_DEVIATION = math.erf(math.sqrt(0.5))
"""Confidence of an interval of one standard deviation to either side, 68.3 %."""

_NORMAL_IQR = 1.349
"""Distance between the quartiles of a normal distribution over its standard deviation."""

_ROUNDING = 1e-9
"""Relative difference up to which two rates are one."""

_SECONDS = frozenset({"s", "sec", "second", "seconds"})
"""What a file may call the unit of its times."""


class Unusable(ValueError):
    """A session that says nothing of the case. The message tells why."""


class Disturbed(Unusable):
    """A session in which the machine was hardly left alone: measured again, it may say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One session's figure of a case.

    ``value`` is its step time (see `roofline.timing.step_time`), or another of
    `roofline.comparison.sides.compared_figures`; ``error`` its standard error, relative, as far as this session
    shows it; None where it doesn't. Of a step time, ``outliers`` are the rounds that took `OUTLIER` times as long or
    longer, ``slowest`` the longest of all over it. ``started_at`` is UTC, ISO 8601, or empty.
    """

    value: float
    error: float | None
    outliers: int = 0
    slowest: float = 1.0
    started_at: str = ""

    def over(self, least_s: float, error: float) -> Observation:
        """The same of the time over the least that a machine's roofs allow.

        :param error: of that least time, relative.
        """
        return replace(
            self,
            value=self.value / least_s,
            error=None if self.error is None else math.hypot(self.error, error),
        )


def disturbed_session(cases: Iterable[Rounds]) -> str | None:
    """Say why a session says nothing of any case: most of its cases were mostly disturbed. None where enough weren't.
    Each case counts alike, however many rounds it has. A case that met no other program in an hour that was full of
    them is slower, too.

    :param cases: the rounds of each; those of which nobody looked what disturbed them tell nothing.
    """
    known = [rounds for rounds in cases if rounds.disturbed is not None]
    disturbed = sum(mostly_disturbed(rounds.disturbed) is not None for rounds in known)
    return (
        f"{disturbed} of {len(known)} cases were mostly disturbed from outside"
        if too_many(disturbed, len(known))
        else None
    )


def observe(rounds: Rounds, started_at: str = "", *, with_error: bool = True) -> Observation:
    """Read a session's rounds. Those marked as disturbed are left out, by that evidence alone.

    :param with_error: the error takes most of the time.
    :raises Unusable: no rounds, or times that are no times.
    :raises Disturbed: hardly a round that nothing disturbed.
    """
    if rounds.steps < 1 or not rounds.wall_s:
        raise Unusable("no rounds in the record")
    why = mostly_disturbed(rounds.disturbed)
    if why is not None:
        raise Disturbed(why)
    return observe_times(step_times_s(rounds), started_at=started_at, with_error=with_error)


def observe_times(step_times_s: Sequence[float], *, started_at: str = "", with_error: bool = True) -> Observation:
    """The same of times that carry no marks, such as another project's rounds.

    :param step_times_s: one a round, in the order they were taken.
    :raises Unusable: none, or one that is not finite and above zero.
    """
    if not step_times_s or not all(math.isfinite(time) and time > 0 for time in step_times_s):
        raise Unusable("a round's time is not a time" if step_times_s else "no rounds in the file")
    median = statistics.median(step_times_s)
    return Observation(
        value=median,
        error=_error(step_times_s) if with_error and len(step_times_s) >= LEAST_ROUNDS else None,
        outliers=sum(time >= OUTLIER * median for time in step_times_s),
        slowest=max(step_times_s) / median,
        started_at=started_at,
    )


def _error(step_times_s: Sequence[float]) -> float:
    """At least five times. Of rounds that spread too far for a claim: the largest that is one."""
    claimed = estimator_of(_ONE_DEVIATION).of(step_times_s, math.inf).half_width_relative
    return LARGEST if claimed is None else claimed


def flags_of(record: Record, placement: Placement) -> tuple[Flag, ...]:
    """The record's flags, and of those the analysis adds the ones that matter here."""
    found = (
        *disproved(record),
        faster_than_peak(placement),
        oversubscribed(record),
        bimodal(usable_step_times(record.timing)),
    )
    return (*record.flags, *(flag for flag in found if flag is not None))


def why_kept_out(flags: Sequence[Flag]) -> str | None:
    """Say why the row may not be judged, whatever its times; None where it may.

    :param flags: those of `flags_of`.
    """
    invalid = next((flag for flag in flags if flag.invalid), None)
    full = next((flag for flag in flags if flag.name == "memory_oversubscribed"), None)
    why = invalid or full
    return None if why is None else f"{why.name}: {why.evidence}"


def rounds_of(result: ResultFile) -> Iterable[Rounds]:
    """The rounds of each valid case of a session; roofs are ceilings and no cases."""
    for benchmark in result.benchmarks:
        record = benchmark.record
        if record is not None and record.valid and record.timing is not None and record.case.mode != "roof":
            yield record.timing.rounds


def disturbed_sessions(results: Iterable[ResultFile]) -> dict[Path, str]:
    """Give the files of the sessions that say nothing of any case, each with the reason."""
    found = {result.path: disturbed_session(rounds_of(result)) for result in results}
    return {path: why for path, why in found.items() if why is not None}


def observe_record(record: Record, stats: Stats, started_at: str) -> Observation:
    """One session's time of a case of this suite.

    :raises Unusable: no times, or figures that contradict each other.
    :raises Disturbed: hardly a round that nothing disturbed.
    """
    timing = record.timing
    if timing is None:
        raise Unusable(f"no times: {record.missing.get('timing', 'the record has none')}")
    rounds, found = timing.rounds, step_time(timing.rounds)
    if found is None:
        there = rounds.steps >= 1 and rounds.wall_s
        raise Unusable("a round's time in the record is not a time" if there else "no rounds in the record")
    if rounds.disturbed is not None and len(rounds.disturbed) != len(rounds.wall_s):
        raise Unusable(f"{len(rounds.wall_s)} rounds in the record, and {len(rounds.disturbed)} marks of them")
    _check(stats)
    median_s = statistics.median(rounds.wall_s) / rounds.steps
    _same("the record's step time", timing.step_time_s, "its rounds'", found.time_s)
    _same("the statistics' mean", stats.mean_s, "the record's rounds'", found.mean_s)
    _same("the statistics' median", stats.median_s, "the record's rounds'", median_s)
    return observe(rounds, started_at)


def observe_stats(stats: Stats, started_at: str) -> Observation:
    """One session's time of another project's benchmark: of its rounds where they were saved, else of the statistics.

    The error then is the textbook's, from the quartiles: it allows for no drift, which the sessions' scatter has to
    show.

    :raises Unusable: times that are no times, no rounds, another unit, or figures that contradict each other.
    """
    _check(stats)
    assert stats.mean_s is not None
    assert stats.median_s is not None
    assert stats.rounds is not None
    rounds = int(stats.rounds)
    times = stats.round_times_s
    if times is not None and len(times) == rounds:
        known = [time for time in times if time is not None]
        if len(known) < rounds or not all(map(usable, known)):
            raise Unusable("a round's time is not a time")
        _same("the mean", stats.mean_s, "its rounds'", statistics.fmean(known))
        _same("the median", stats.median_s, "its rounds'", statistics.median(known))
        return observe_times(known, started_at=started_at)
    error, deviation = None, _deviation(stats)
    if rounds >= LEAST_ROUNDS and deviation is not None:
        error = min(1.0, MEDIAN_OVER_MEAN * deviation / stats.median_s / rounds**0.5)
    return Observation(value=stats.median_s, error=error, started_at=started_at)


def _deviation(stats: Stats) -> float | None:
    """Standard deviation as the quartiles tell it, which a few pauses leave alone; else the file's own."""
    if stats.iqr_s is not None and usable(stats.iqr_s):
        return stats.iqr_s / _NORMAL_IQR
    return stats.stddev_s if stats.stddev_s is not None and usable_or_zero(stats.stddev_s) else None


def _check(stats: Stats) -> None:
    """:raises Unusable: statistics that can't be those of a benchmark that ran."""
    if stats.unit is not None and stats.unit.strip().casefold() not in _SECONDS:
        raise Unusable(f"the file says that its times are in {stats.unit!r}; pytest-benchmark's are in seconds")
    if stats.rounds is not None and stats.rounds < 1:
        raise Unusable(f"{significant(stats.rounds)} rounds in the statistics")
    for name, value in (("mean", stats.mean_s), ("median", stats.median_s), ("number of rounds", stats.rounds)):
        if value is None:
            raise Unusable(f"the statistics' {name} is missing or not finite")
    for name, value in (("mean", stats.mean_s), ("median", stats.median_s)):
        if value is not None and not usable(value):
            raise Unusable(f"the statistics' {name} is {value:g} s, which is not a time")


def _same(one: str, value: float | None, other: str, expected: float) -> None:
    """:raises Unusable: two figures that should be the same differ by more than `AGREEMENT`."""
    if value is None or not usable(value):
        raise Unusable(f"{one} is {'missing' if value is None else f'{value:g} s, which is not a time'}")
    if abs(value / expected - 1) > AGREEMENT:
        raise Unusable(
            f"{one} is {scaled(value, 's')}, {other} {scaled(expected, 's')}, {_times(value / expected)}:"
            " another unit of time, or a file that was edited"
        )


def _times(ratio: float) -> str:
    larger = max(ratio, 1 / ratio)
    return f"{significant(larger, 4 if larger < 10 else 3)} times {'as long' if ratio > 1 else 'as short'}"


def spread_of_roof(placement: Placement, record: Record, roofs: Roofs) -> float:
    """Tell how far the samples of the roof over a point lay apart, (max - min) / max; 0 where it was sampled once.

    At most 1, whatever the file says.
    """
    assert placement.attained_flop_per_s is not None
    assert placement.fraction_low is not None
    assert placement.compute_flop_per_s is not None
    assert record.work is not None
    attainable = placement.attained_flop_per_s / placement.fraction_low
    if placement.memory_level is not None and attainable < placement.compute_flop_per_s * (1 - _ROUNDING):
        binding = [roofs.get("byte", placement.memory_level)]
    else:
        binding = [roofs.get("flop", dtype) for dtype, flop in record.work.flop_by_dtype.items() if flop > 0]
    return max((min(1.0, abs(roof.spread or 0.0)) for roof in binding if roof is not None), default=0.0)
