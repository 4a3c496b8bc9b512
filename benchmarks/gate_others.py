"""The rules that others use, to be asked about the same times as the gate.

- ``mean:5%`` of pytest-benchmark (``--benchmark-compare-fail``): the mean of the new side is more than 5 % longer.
- Mann-Whitney: a rank test, p < 0.05 (two-sided), and the median longer.
- criterion.rs: a bootstrapped t test of the means, p < 0.05, and the whole 95 % interval of their change beyond the
  noise threshold of 1 %.

They know nothing of marks or of sessions: all times of a side are one sample, the disturbed ones, too.

Beside what it says, each tells by how much, in its own measure: what it could be asked with another threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.gate_counts import Count, count_of, total

SIGNIFICANT = 0.05

NOISE = 0.01
"""criterion's threshold for a change of the mean, relative."""

BOOTSTRAPS = 1000
"""Samples drawn for each question. criterion draws 100,000; these tell 0.05 from much less, and the ends of 95 %."""

Values = NDArray[np.float64]
"""Seconds of a step, in one round or turn each."""


@dataclass(frozen=True, slots=True)
class Answer:
    """:param kind: ``slower``, ``faster`` or ``inconclusive``.
    :param slower: the larger, the more it speaks for *slower*: what the rule's threshold is laid on.
    """

    kind: str
    slower: float


Rule = Callable[[Values, Values], Answer]
"""Of the times of base and new."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers of a rule to all comparisons that it was asked about, in this order."""

    answers: tuple[Answer, ...]

    @property
    def count(self) -> Count:
        return total(count_of(answer.kind) for answer in self.answers)

    @property
    def slower(self) -> tuple[float, ...]:
        return tuple(answer.slower for answer in self.answers)


@dataclass(frozen=True, slots=True)
class Other:
    """:param most_draws: comparisons (of all cases) that it is asked about, for it takes long; None: all."""

    rule: Rule
    most_draws: int | None = None


def mean_beyond(base: Values, new: Values) -> Answer:
    """pytest-benchmark's ``--benchmark-compare-fail=mean:5%``: the change of the mean, relative."""
    change = float(new.mean() / base.mean() - 1)
    return Answer("slower" if change > 0.05 else "inconclusive", change)


def mann_whitney(base: Values, new: Values) -> Answer:
    """By how many of its standard deviations U lies above its mean: chances too small for a number still differ."""
    found, pairs = stats.mannwhitneyu(new, base), len(new) * len(base)
    slower = float((found.statistic - pairs / 2) / np.sqrt(pairs * (len(new) + len(base) + 1) / 12))
    if found.pvalue >= SIGNIFICANT:
        return Answer("inconclusive", slower)
    return Answer("slower" if np.median(new) > np.median(base) else "faster", slower)


def criterion(base: Values, new: Values) -> Answer:
    """criterion.rs, as ``compare_to_threshold`` of its ``src/report.rs`` has it, at its defaults.

    A change that is significant is one where both ends of its interval lie beyond the noise threshold, on one side. The
    estimate itself is not asked. What is laid against the threshold is the interval's lower end, of a significant one.
    """
    if chance_of_difference(base, new) >= SIGNIFICANT:
        return Answer("inconclusive", -math.inf)
    low, high = change_interval(base, new)
    return Answer("slower" if low > NOISE else "faster" if high < -NOISE else "inconclusive", low)


def chance_of_difference(base: Values, new: Values) -> float:
    """criterion's p: how often samples of both sides thrown together have a t statistic as far out as theirs.

    Two-sided: twice the smaller tail. The same times give the same answer, whatever was asked before.
    """
    rng = np.random.default_rng(0)
    drawn = _drawn(np.concatenate([base, new]), rng)
    nulls, seen = _t(drawn[:, : len(base)], drawn[:, len(base) :]), _t(base[None], new[None])
    return 2 * min(float((nulls < seen).mean()), float((nulls > seen).mean()))


def change_interval(base: Values, new: Values) -> tuple[float, float]:
    """criterion's 95 % interval of the relative change of the mean: percentiles of the changes between samples of each
    side by itself.
    """
    rng = np.random.default_rng(0)
    changes = _drawn(new, rng).mean(1) / _drawn(base, rng).mean(1) - 1
    low, high = np.percentile(changes, (2.5, 97.5))
    return float(low), float(high)


def _drawn(values: Values, rng: np.random.Generator) -> Values:
    """As many samples as there are bootstraps, one a row, each as large as ``values``."""
    return values[rng.integers(len(values), size=(BOOTSTRAPS, len(values)), dtype=np.int32)]


def _t(base: Values, new: Values) -> Values:
    """Of samples in rows: difference of the means over its standard error."""
    variance = base.var(1, ddof=1) / base.shape[1] + new.var(1, ddof=1) / new.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):  # a sample of one value, drawn again and again
        statistics: Values = (base.mean(1) - new.mean(1)) / np.sqrt(variance)
    return statistics


OTHERS = {
    "pytest-benchmark mean:5%": Other(mean_beyond),
    "Mann-Whitney": Other(mann_whitney),
    "criterion": Other(criterion, most_draws=100),
}


def by_rule(comparisons: Iterable[Iterable[tuple[Values, Values]]]) -> dict[str, Asked]:
    """Ask each rule about all cases of all comparisons; of the first comparisons, where it takes long.

    :param comparisons: of each, base and new of every case.
    """
    answers: dict[str, list[Answer]] = {name: [] for name in OTHERS}
    for number, cases in enumerate(comparisons):
        asked = {
            name: other.rule for name, other in OTHERS.items() if other.most_draws is None or number < other.most_draws
        }
        for base, new in cases:
            for name, rule in asked.items():
                answers[name].append(rule(base, new))
    return {name: Asked(tuple(of_rule)) for name, of_rule in answers.items()}
