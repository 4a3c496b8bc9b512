"""Estimate what turns of two processes show: a case's ratio in each pair of processes, and over several such pairs.

Two processes that take turns see the same hour, so their ratio is free of the machine's drift. What stays is each
side's own offset: its addresses, its heap, its pages. It lasts as long as the model, so models are built several times
in a process, and a case is measured in several pairs of fresh processes. The logarithm of a pair's ratio (the mean over
its buildings) is the case's true one, plus the pair's own deviation, plus what its buildings and turns leave open; the
scatter of the pairs is moderated by what is known beforehand, as in `roofline.comparison.effects.effect`.

That is known of machines that are left alone. Where most turns were disturbed from outside, processes are taken to
scatter by `BUSY_DEVIATION`. Where the pairs lie further apart than the prior has it, the prior counts for less, down to
nothing (B. Phipson, S. Lee, I. Majewski, W. Alexander and G. Smyth, "Robust Hyperparameter Estimation Protects against
Hypervariable Genes and Improves Power to Detect Differential Expression", Annals of Applied Statistics 10 (2016)).
Three pairs of one case may agree by chance on a machine whose processes differ. All cases together tell such a machine:
there the prior is as wide as their pairs lie apart (`prior_scale`).

The verdict is looked at after each pair, and measuring stops when there is one. What the looks may be wrong adds up to
what all together may (Bonferroni's inequality), and most of it, `LAST_LOOK`, is kept for the last one (K. K. G. Lan and
D. L. DeMets, "Discrete Sequential Boundaries for Clinical Trials", Biometrika 70 (1983), call it a spending function).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

from roofline.comparison.effects.effect import Effect, Prior
from roofline.comparison.observations.observation import Unusable, observe_times
from roofline.timing.margin import LEAST_ROUNDS
from roofline.timing.step_time import LEAST_QUIET_SHARE

SideName = Literal["base", "new"]
SIDES: tuple[SideName, SideName] = ("base", "new")

PROCESS_PAIRS = Prior(deviation=0.005, drift=0.0, hour_drift=0.0)
"""Between pairs of fresh processes on one machine: what lasts as long as a process. The drift is in both sides."""

BUSY_DEVIATION = 0.1
"""The same where most turns were disturbed from outside."""

UNLIKELY = 0.05
"""A scatter of pairs that a draw of the prior exceeds less often than this makes the prior count for less."""

MOST_SCATTER = 2.0
"""Variance of pairs over what the prior has it, the median over the cases, beyond which the prior is widened."""

LEAST_CASES = 3
"""Of fewer, the median may be that of chance."""

LAST_LOOK = 0.8
"""Of the chance to be wrong, what is the last look's; the looks before it share the rest equally."""

LEAST_PAIRS = 3
"""Before this many pairs of processes nothing is concluded. An offset may have two levels and nothing between them (a
step that page-faults in one process and not in the next), and two pairs fall on the same side of it too often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTurns:
    """The turns of one case in one pair of processes.

    Turn i of either side is one round of ``steps`` steps; the two were taken one right after the other, ``first``'s
    before the other's where i is even, after it where i is odd.

    :param base_s: seconds of each turn of the base; ``new_s`` likewise, as many.
    :param base_disturbed: what disturbed each turn from outside, or None; ``new_disturbed`` likewise.
    :param build: of each turn, for which time the models had been built, from 0; empty: they were built once.
    """

    first: SideName
    steps: int
    base_s: tuple[float, ...]
    new_s: tuple[float, ...]
    base_disturbed: tuple[str | None, ...]
    new_disturbed: tuple[str | None, ...]
    build: tuple[int, ...] = ()

    @property
    def step_times_s(self) -> tuple[tuple[float, float], ...]:
        """Of base and new, turn by turn."""
        return tuple((base / self.steps, new / self.steps) for base, new in zip(self.base_s, self.new_s, strict=True))

    @property
    def quiet(self) -> tuple[bool, ...]:
        """Turn by turn, whether nothing disturbed either side."""
        marks = zip(self.base_disturbed, self.new_disturbed, strict=True)
        return tuple(base is None and new is None for base, new in marks)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairObservation:
    """What one pair of processes says.

    :param error: standard error of ``log_ratio`` as far as the buildings show it, or, of one, the turns; None where
        they are too few.
    :param builds: times that the models were built.
    :param turns: a side, that are in it. ``left_out``: those that something disturbed from outside, on either side;
        ``disturbed``: those of them that are in it all the same, for they were most.
    """

    log_ratio: float
    error: float | None
    base_step_s: float
    new_step_s: float
    turns: int
    left_out: int
    disturbed: int = 0
    builds: int = 1


def observe_pair(pair: PairTurns) -> PairObservation:
    """The median over the turns in which nothing disturbed either side: both turns are left out or neither. Where the
    models were built several times, it is the mean of the buildings' medians (of the logarithms).

    Where hardly any was left alone (a shared machine never is), all are taken: whoever disturbs doesn't know whose turn
    it is, so the ratio is only less well known, and ``error`` tells so.

    :raises Unusable: no turns, or times that are none.
    """
    times, quiet = pair.step_times_s, pair.quiet
    if not times:
        raise Unusable("no turns were taken")
    if any(not (math.isfinite(time) and time > 0) for turn in times for time in turn):
        raise Unusable("a turn's time is not a time")
    enough = sum(quiet) >= max(LEAST_ROUNDS, LEAST_QUIET_SHARE * len(times))
    taken = [alone or not enough for alone in quiet]
    kept = list(compress(times, taken))
    ratios = [new / base for base, new in kept]
    builds: dict[int, list[float]] = {}
    for build, ratio in zip(compress(pair.build or (0,) * len(times), taken), ratios, strict=True):
        builds.setdefault(build, []).append(math.log(ratio))
    error: float | None
    if len(builds) > 1:
        medians = [statistics.median(logarithms) for logarithms in builds.values()]
        log_ratio, error = statistics.fmean(medians), statistics.stdev(medians) / math.sqrt(len(medians))
    else:
        seen = observe_times(ratios)
        log_ratio, error = math.log(seen.value), seen.error
    return PairObservation(
        log_ratio=log_ratio,
        error=error,
        base_step_s=statistics.median(base for base, _ in kept),
        new_step_s=statistics.median(new for _, new in kept),
        turns=len(kept),
        left_out=len(times) - len(kept),
        disturbed=0 if enough else len(times) - sum(quiet),
        builds=len(builds),
    )


def prior_scale(cases: Iterable[Sequence[PairObservation]]) -> float:
    """Find how large the variance of this machine's pairs is over what `PROCESS_PAIRS` has it.

    :returns: the mean over the cases, where the pairs of most lie further apart than the prior has it; else 1.
    """
    known = [pairs for pairs in cases if len(pairs) >= LEAST_PAIRS]
    ratios = [_scatter(pairs) / (len(pairs) - 1) / _expected(pairs)[0] for pairs in known]
    holds = len(ratios) < LEAST_CASES or statistics.median(ratios) <= MOST_SCATTER
    return 1.0 if holds else statistics.fmean(ratios)


def effect_of_pairs(pairs: Sequence[PairObservation], scale: float = 1.0) -> Effect:
    """The difference over at least one pair of processes.

    ``deviation`` of the effect is a single process's share: a pair's scatter over the root of two.

    :param scale: of the prior's variance, as `prior_scale` finds it.
    """
    count, (expected, known) = len(pairs), _expected(pairs)
    expected *= scale
    trusted = known * min(1.0, _chance_of_scatter(pairs, scale) / UNLIKELY)
    freedom = trusted + count - 1
    variance = (trusted * expected + _scatter(pairs)) / freedom
    return Effect(
        log_ratio=statistics.fmean(pair.log_ratio for pair in pairs),
        error=math.sqrt(variance / count),
        freedom=freedom,
        deviation=math.sqrt(variance / 2),
        drift=0.0,
        base_sessions=count,
        new_sessions=count,
        own_deviation=math.sqrt(_scatter(pairs) / (count - 1) / 2) if count > 1 else None,
        gain=1,
    )


def _scatter(pairs: Sequence[PairObservation]) -> float:
    mean = statistics.fmean(pair.log_ratio for pair in pairs)
    return sum((pair.log_ratio - mean) ** 2 for pair in pairs)


def _expected(pairs: Sequence[PairObservation]) -> tuple[float, float]:
    """The pairs' variance by what is known beforehand and what each pair leaves open, and its degrees of freedom.

    Where models were built several times, the latter are many, and the sum's are by F. E. Satterthwaite, "An
    Approximate Distribution of Estimates of Variance Components", Biometrics Bulletin 2 (1946).
    """
    prior = PROCESS_PAIRS
    errors = [prior.unknown_error if pair.error is None else pair.error for pair in pairs]
    between = statistics.fmean((BUSY_DEVIATION if pair.disturbed else prior.deviation) ** 2 for pair in pairs)
    freedom = sum(pair.builds - 1 for pair in pairs)
    if freedom < len(pairs):
        # The middle one: what a single building leaves open is estimated badly; what it was off by is in the scatter.
        return statistics.median(errors) ** 2 + between, prior.freedom
    within = statistics.fmean(error**2 for error in errors)
    return within + between, (within + between) ** 2 / (within**2 / freedom + between**2 / prior.freedom)


def _chance_of_scatter(pairs: Sequence[PairObservation], scale: float = 1.0) -> float:
    """Probability that pairs lie at least as far apart as these, if `PROCESS_PAIRS`, scaled, holds."""
    from scipy import special

    others = len(pairs) - 1
    if not others:
        return 1.0
    expected, freedom = _expected(pairs)
    return float(special.fdtrc(others, freedom, _scatter(pairs) / others / (scale * expected)))


def why_busy(pairs: Sequence[PairObservation]) -> str | None:
    """Say why the machine may be too busy: turns that were disturbed and are taken all the same, or pairs that lie
    further apart than on a machine left alone, as in up to `UNLIKELY` of cases they do by chance. None where neither is
    so.
    """
    disturbed, turns = (sum(getattr(pair, name) for pair in pairs) for name in ("disturbed", "turns"))
    if disturbed:
        return f"{disturbed} of {turns} turns were disturbed from outside"
    if _chance_of_scatter(pairs) >= UNLIKELY:
        return None
    changes = [100 * math.expm1(pair.log_ratio) for pair in pairs]
    return (
        f"its pairs of processes lie from {min(changes):+.1f} to {max(changes):+.1f} %, further apart than on one left "
        "alone"
    )


def confidence_of_a_look(confidence: float, most_pairs: int, pairs: int) -> float:
    """Tell how sure the look after so many ``pairs`` must be so that all looks together are right with ``confidence``.

    :param most_pairs: of processes; there is a look after each from the `LEAST_PAIRS`-th on.
    """
    earlier = most_pairs - LEAST_PAIRS
    if earlier <= 0:
        return confidence
    share = LAST_LOOK if pairs >= most_pairs else (1 - LAST_LOOK) / earlier
    return 1 - (1 - confidence) * share
