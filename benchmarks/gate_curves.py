"""What each rule finds where it may be wrong as often as ours: points of its receiver operating characteristic.

Rules that cry wolf at different rates can't be held against each other by what they find: a coin that falls on *slower*
nine times in ten finds nine slowdowns in ten. So each is asked at the rate of false alarms that is aimed at, with the
threshold of its own at which it comes to that on these very comparisons: the change of the mean that is too much, the
rank test's chance, criterion's noise threshold, our confidence (T. Fawcett, "An Introduction to ROC Analysis", Pattern
Recognition Letters 27 (2006)). Ours must not find less then than another.

Only *slower* is asked about, of unchanged code as well: ``mean:5%`` knows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.figures import Figure, Share
from benchmarks.gate_rates import MOST_FALSE_ALARMS, OURS, SLOWDOWNS, figure_name
from roofline.comparison.effect import Effect

AT = f"at {MOST_FALSE_ALARMS:.0%} of false alarms"

Scores = Mapping[float, Mapping[str, Sequence[float]]]
"""Slowdown (0: unchanged code) -> rule -> of every comparison of a case, how much speaks for *slower*. The rules are
asked in the same order, some about the first comparisons alone."""


def at_equal_false_alarms(title: str, scores: Scores) -> Iterator[Figure]:
    """What each rule finds of each slowdown."""
    for slowdown in SLOWDOWNS:
        for rule, unchanged in scores[0.0].items():
            share = caught(unchanged, scores[slowdown][rule])
            yield Figure.of_share(figure_name(f"caught {AT}", title, slowdown, rule), share)


def beyond_others(label: str, comparisons: Sequence[Scores]) -> Iterator[Figure]:
    """How much more ours finds than each of the others, which must not be less: the median over all slowdowns and kinds
    of comparison of one recording, for one of them alone hangs on what was drawn. Of each, in the comparisons that the
    other was asked about.
    """
    for rule in comparisons[0][0.0]:
        if rule != OURS:
            more = (_more(scores, slowdown, rule) for scores in comparisons for slowdown in SLOWDOWNS)
            yield Figure(name=f"caught beyond {rule} {AT}, {label}", unit="", samples=tuple(more), at_least=0.0)


def _more(scores: Scores, slowdown: float, rule: str) -> float:
    theirs = caught(scores[0.0][rule], scores[slowdown][rule])
    ours = caught(scores[0.0][OURS][: theirs.of], scores[slowdown][OURS][: theirs.of])
    return ours.rate - theirs.rate


def caught(unchanged: Sequence[float], slowed: Sequence[float]) -> Share:
    """How many of the slowed comparisons lie above the least threshold that at most `MOST_FALSE_ALARMS` of the
    unchanged ones do.
    """
    allowed = int(MOST_FALSE_ALARMS * len(unchanged) + 1e-9)
    threshold = sorted(unchanged, reverse=True)[allowed]
    return Share(sum(score > threshold for score in slowed), len(slowed))


def slower(effect: Effect) -> float:
    """Our own measure: the one-sided chance of no difference, negative, so that a larger one speaks for *slower*."""
    return -effect.chance / 2 if effect.log_ratio > 0 else effect.chance / 2 - 1
