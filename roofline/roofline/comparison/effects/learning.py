"""Learn a machine's scatter and drift from its earlier sessions of unchanged code.

Sessions of one case and one code make a *block* where each began within an hour of the one before. Within blocks they
show how far sessions scatter, between blocks how far the machine drifts; and within blocks every `IN_TURN` sessions
against the `IN_TURN` after them, how far it drifts within an hour.

Every case has a variance of its own. These are taken to be drawn from one distribution, a scaled inverse chi-squared,
whose scale and degrees of freedom are estimated from all cases (Smyth (2004), as in `effect`). A case's own prior is
that distribution with the case's own sessions; one that was never measured gets the distribution alone.

What is assumed where nothing was learned weighs in with its own degrees of freedom: with few sessions it decides. Of a
machine whose every code was measured in one hour the drift between hours is what is assumed, in percent.
Sessions share their hour, so ten cases tell less than ten times as much as one. How much less, the correlation of
their sessions tells (L. Kish, "Survey Sampling" (1965), the design effect).

Code that changed between the sessions makes scatter and drift larger, and the gate more careful.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from roofline.comparison.effects.effect import Effect, Prior, hours
from roofline.comparison.observations.observation import Observation

IN_TURN = 5
"""Sessions as a side is made of them."""

LEAST_SESSIONS = 5
"""Of a case in a block: with fewer everywhere nothing is learned."""

MOST_SCATTER = 2.0
"""Variance of a comparison's own sessions over the learned one, the median over its cases, beyond which its hour is
another than those that were learned from."""

LEAST_OWN_FREEDOM = 4
"""Degrees of freedom with which a comparison's own scatter tells its hour from those: three sessions a side."""

_LEAST_CASES = 3
"""Of fewer, how far their variances lie apart says nothing."""

_TINY = 1e-18
"""Instead of no scatter at all, of which there is no logarithm."""

Block = Sequence[Observation]
"""Sessions that followed each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """``prior`` is for a case without sessions of its own, ``by_case`` for the others. ``days``: on how many calendar
    days (UTC) the ``sessions`` began.
    """

    prior: Prior
    by_case: Mapping[Any, Prior]
    sessions: int
    days: int

    def of(self, case: Any) -> Prior:
        return self.by_case.get(case, self.prior)


def learn(cases: Mapping[Any, Sequence[Sequence[Observation]]], assumed: Prior) -> Learned | None:
    """Learn from the sessions of one machine; None where no case has `LEAST_SESSIONS` that followed each other.

    :param cases: case -> the sessions of each code that it was measured with.
    :param assumed: what is taken for known where nothing was learned.
    """
    found = {case: series for case, codes in cases.items() if (series := _Series.of(codes)).freedom}
    every = list(found.values())
    if not any(len(block) >= LEAST_SESSIONS for series in every for block in series.blocks):
        return None
    independent = _independent_cases(every)
    scale, freedom = _distribution(every, assumed, independent)
    variances = [(freedom * scale + series.squares) / (freedom + series.freedom) for series in every]
    of_cases = list(zip(every, variances, strict=True))
    share = independent / len(every)
    between_blocks = [(one, variance) for case, variance in of_cases for one in case.between_blocks]

    seen = _drift(between_blocks, assumed, share) if between_blocks else None

    def drift_over(deviation: float) -> float:
        # Where no two hours of one code tell it, the drift itself is what is assumed: a quiet hour makes it no smaller.
        return assumed.drift * max(1.0, assumed.deviation / deviation) if seen is None else seen

    hour_drift = _drift([(one, variance) for case, variance in of_cases for one in case.in_blocks], assumed, share)
    typical = replace(
        assumed,
        deviation=math.sqrt(scale),
        freedom=freedom,
        drift=drift_over(math.sqrt(scale)),
        hour_drift=min(hour_drift, drift_over(math.sqrt(scale))),
        included_error=math.sqrt(_mean_square(series.error for series in every)),
    )
    by_case = {
        case: replace(
            typical,
            deviation=math.sqrt(variance),
            drift=drift_over(math.sqrt(variance)),
            freedom=freedom + series.freedom,
            included_error=series.error,
        )
        for case, (series, variance) in zip(found, of_cases, strict=True)
    }
    began = {datetime.fromisoformat(one.started_at) for series in every for block in series.blocks for one in block}
    return Learned(prior=typical, by_case=by_case, sessions=len(began), days=len({moment.date() for moment in began}))


def holds(effects: Iterable[Effect], priors: Iterable[Prior]) -> bool:
    """Tell whether a comparison's own sessions scatter as the learned ones do, so that what was learned holds for them.

    :param effects: of its cases, in the order of ``priors``.
    """
    ratios = [
        (effect.own_deviation / prior.deviation) ** 2
        for effect, prior in zip(effects, priors, strict=True)
        if effect.own_deviation is not None and effect.base_sessions + effect.new_sessions - 2 >= LEAST_OWN_FREEDOM
    ]
    return bool(ratios) and statistics.median(ratios) <= MOST_SCATTER


def share_found(prior: Prior, slowdown: float, sessions: int, confidence: float) -> float:
    """Probability that one case, slower by so much, is shown to be it by a test of its own.

    :param sessions: a side, one side after the other.
    :param confidence: of the two-sided test.
    """
    from scipy import special

    freedom = prior.freedom + 2 * (sessions - 1)
    error = prior.deviation * math.sqrt(2 / sessions + prior.drift**2)
    least = float(special.stdtrit(freedom, (1 + confidence) / 2))
    return 1 - float(special.nctdtr(freedom, math.log1p(slowdown) / error, least))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Between:
    """Parts of a case's sessions, by the analysis of variance with one random effect: the sum of ``squares`` between
    the parts, its degrees of freedom, and how much a ``unit`` of the parts' own variance adds to it.
    """

    squares: float
    freedom: float
    unit: float

    @staticmethod
    def of(parts: Sequence[Block]) -> _Between:
        sizes = [len(part) for part in parts]
        means = [statistics.fmean(_logs(part)) for part in parts]
        count = sum(sizes)
        mean = sum(size * of_part for size, of_part in zip(sizes, means, strict=True)) / count
        return _Between(
            squares=sum(size * (of_part - mean) ** 2 for size, of_part in zip(sizes, means, strict=True)),
            freedom=len(parts) - 1,
            unit=count - sum(size**2 for size in sizes) / count,
        )

    @staticmethod
    def in_turn(block: Block) -> _Between:
        """Of every `IN_TURN` sessions and the `IN_TURN` after them; they overlap."""
        logs = _logs(block)
        means = [statistics.fmean(logs[first : first + IN_TURN]) for first in range(len(logs) - IN_TURN + 1)]
        freedom = len(logs) / IN_TURN - 1
        mean_square = _mean_square(later - earlier for earlier, later in zip(means, means[IN_TURN:], strict=False))
        return _Between(squares=freedom * IN_TURN / 2 * mean_square, freedom=freedom, unit=freedom * IN_TURN)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """The blocks of one case, of all codes. ``squares`` within blocks have ``freedom`` degrees of freedom. ``error``:
    what the sessions' rounds leave open, root mean square, relative. ``between_blocks`` is of each code, ``in_blocks``
    of each block that is long enough.
    """

    blocks: tuple[Block, ...]
    squares: float
    freedom: int
    error: float
    between_blocks: tuple[_Between, ...]
    in_blocks: tuple[_Between, ...]

    @staticmethod
    def of(codes: Sequence[Sequence[Observation]]) -> _Series:
        by_code = [hours(one for one in sessions if one.started_at) for sessions in codes]
        blocks = tuple(block for of_code in by_code for block in of_code)
        errors = [one.error for block in blocks for one in block if one.error is not None]
        return _Series(
            blocks=blocks,
            squares=sum(sum(by**2 for by in _deviations(block)) for block in blocks),
            freedom=sum(len(block) - 1 for block in blocks),
            error=math.sqrt(_mean_square(errors)) if errors else 0.0,
            between_blocks=tuple(_Between.of(of_code) for of_code in by_code if len(of_code) > 1),
            in_blocks=tuple(_Between.in_turn(block) for block in blocks if len(block) >= 2 * IN_TURN),
        )


def _logs(block: Block) -> list[float]:
    return [math.log(one.value) for one in block]


def _deviations(block: Block) -> list[float]:
    """Take the distances of the logarithms from their mean."""
    logs = _logs(block)
    mean = statistics.fmean(logs)
    return [log - mean for log in logs]


def _mean_square(values: Iterable[float]) -> float:
    return statistics.fmean(value**2 for value in values)


def _independent_cases(cases: Sequence[_Series]) -> float:
    """Count the cases without a common hour that these are worth: all of them over the design effect."""
    import numpy as np

    rows = [
        {
            one.started_at: deviation
            for block in case.blocks
            if len(block) > 1
            for one, deviation in zip(block, _deviations(block), strict=True)
        }
        for case in cases
    ]
    shared = sorted(set.intersection(*map(set, rows)))
    deviations = [[row[session] for session in shared] for row in rows]
    scattering = [row for row in deviations if len(set(row)) > 1]
    if len(scattering) < 2 or len(shared) < 3:
        return 1.0
    correlations = np.atleast_2d(np.corrcoef(scattering))[np.triu_indices(len(scattering), 1)]
    mean = float(np.clip(correlations.mean(), 0.0, 1.0))
    return len(scattering) / (1 + (len(scattering) - 1) * mean)


def _distribution(cases: Sequence[_Series], assumed: Prior, independent: float) -> tuple[float, float]:
    """Scale (a variance) and degrees of freedom of the distribution that the cases' variances are drawn from.

    By the mean and variance of their logarithms; the scale together with what is assumed.
    """
    from scipy import special

    halves = [case.freedom / 2 for case in cases]
    logs = [
        math.log(max(case.squares, _TINY) / case.freedom) - float(special.digamma(half)) + math.log(half)
        for case, half in zip(cases, halves, strict=True)
    ]
    known = independent * statistics.fmean(case.freedom for case in cases)
    most = assumed.freedom + known
    if len(cases) < _LEAST_CASES:
        freedom = assumed.freedom
    else:
        by_chance = statistics.fmean(_trigamma(half) for half in halves)
        freedom = _freedom_of(statistics.variance(logs) - by_chance, most)
    half = freedom / 2
    scale = math.exp(statistics.fmean(logs) + float(special.digamma(half)) - math.log(half))
    before = assumed.deviation**2 + _mean_square(case.error for case in cases)
    return (assumed.freedom * before + known * scale) / most, freedom


def _freedom_of(apart: float, most: float) -> float:
    """Degrees of freedom of variances whose logarithms have the variance ``apart``.

    :param most: no more is known of the distribution than so many sessions tell.
    """
    from scipy import optimize

    if apart <= _trigamma(most / 2):
        return most
    return 2 * float(optimize.brentq(lambda half: _trigamma(half) - apart, 1e-6, most / 2))


def _trigamma(value: float) -> float:
    from scipy import special

    return float(special.polygamma(1, value))


def _drift(between: Sequence[tuple[_Between, float]], assumed: Prior, share: float) -> float:
    """Standard deviation of the drift between two parts over that between sessions, with what is assumed of it.

    :param between: with the variance of the case.
    :param share: of a case, what it is worth in cases without a common hour.
    """
    freedom = sum(one.freedom for one, _ in between)
    if not freedom:
        return assumed.drift
    beyond = sum(one.squares / variance for one, variance in between) - freedom
    of_part = max(0.0, beyond) / sum(one.unit for one, _ in between)
    known = share * freedom
    return math.sqrt((assumed.freedom * assumed.drift**2 + known * 2 * of_part) / (assumed.freedom + known))
