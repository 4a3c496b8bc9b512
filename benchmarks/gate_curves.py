"""What each rule finds where it may be wrong as often as ours: points of its receiver operating characteristic.

Rules that cry wolf at different rates can't be held against each other by what they find: a coin that falls on *slower*
nine times in ten finds nine slowdowns in ten. So each is asked at the rate of false alarms that is aimed at, with the
threshold of its own at which it comes to that on these very comparisons: the change of the mean that is too much, the
rank test's chance, criterion's noise threshold, our confidence (T. Fawcett, "An Introduction to ROC Analysis", Pattern
Recognition Letters 27 (2006)). What ours finds then must not be less than what another finds.

Only *slower* is asked about, of unchanged code as well: ``mean:5%`` knows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.figures import Figure, Share
from benchmarks.gate_rates import MOST_FALSE_ALARMS, OURS, SLOWDOWNS, figure_name, pace
from roofline.compare.effect import Effect

AT = f"at {MOST_FALSE_ALARMS:.0%} of false alarms"

Scores = Mapping[float, Mapping[str, Sequence[float]]]
"""Slowdown (0: unchanged code) -> rule -> of every comparison of a case, how much speaks for *slower*. The rules are
asked in the same order, some about the first comparisons alone."""


def at_equal_false_alarms(title: str, scores: Scores) -> Iterator[Figure]:
    """Of each rule and slowdown what it finds; and how much more ours finds, in the comparisons that the other was
    asked about: it must not be less.
    """
    unchanged = scores[0.0]
    for slowdown in SLOWDOWNS:
        slowed = scores[slowdown]
        for rule, of_rule in unchanged.items():
            theirs = caught(of_rule, slowed[rule])
            yield Figure.of_share(figure_name(f"caught {AT}", title, slowdown, rule), theirs)
            if rule != OURS:
                ours = caught(unchanged[OURS][: theirs.of], slowed[OURS][: theirs.of])
                yield Figure(
                    name=f"caught beyond {rule} {AT}, {title}, {pace(slowdown)}",
                    unit="",
                    samples=(ours.rate - theirs.rate,),
                    at_least=0.0,
                )


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
