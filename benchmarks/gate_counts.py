"""Count verdicts, and make figures of the counts: what `gate_stored`, `gate_turns` and `gate_live` have in common.

**Better than each of the others** is two things for each of their rules, and ours can fail in either: not more false
alarms, in a quiet hour or a loud one, and not less found where it may be wrong as often.

Rules that cry wolf at different rates can't be held against each other by what they find: a coin that falls on *slower*
nine times in ten finds nine slowdowns in ten. So each is asked at the rate of false alarms that is aimed at, with the
threshold of its own at which it comes to that on these very comparisons: the change of the mean that is too much, the
rank test's chance, criterion's noise threshold, our confidence (T. Fawcett, "An Introduction to ROC Analysis", Pattern
Recognition Letters 27 (2006)). Ours must not find less then than another.

Only *slower* is asked about, of unchanged code as well: ``mean:5%`` knows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.figures import Figure, Share
from roofline.comparison.effects.effect import Effect
from roofline.comparison.effects.verdict import CONFIDENCE

OURS = "this gate"

MOST_FALSE_ALARMS = 0.01

AT = f"at {MOST_FALSE_ALARMS:.0%} of false alarms"

SLOWDOWNS = (0.05, 0.03)
"""Of the new side, relative, beside unchanged code. Both are more than the least effect that matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The comparisons of a case, counted by their verdicts."""

    slower: int = 0
    faster: int = 0
    same: int = 0
    undecided: int = 0

    @property
    def comparisons(self) -> int:
        return self.slower + self.faster + self.same + self.undecided

    @property
    def alarms(self) -> Share:
        """In either direction. Of unchanged code all are false."""
        return Share(self.slower + self.faster, self.comparisons)

    @property
    def found_slower(self) -> Share:
        return Share(self.slower, self.comparisons)

    @property
    def called_same(self) -> Share:
        return Share(self.same, self.comparisons)

    @property
    def left_open(self) -> Share:
        return Share(self.undecided, self.comparisons)

    def __add__(self, other: Count) -> Count:
        return Count(
            slower=self.slower + other.slower,
            faster=self.faster + other.faster,
            same=self.same + other.same,
            undecided=self.undecided + other.undecided,
        )


Counts = Mapping[float, Mapping[str, Count]]
"""Slowdown (0: unchanged code) -> rule -> how its comparisons ended."""

Scores = Mapping[float, Mapping[str, Sequence[float]]]
"""Slowdown (0: unchanged code) -> rule -> of every comparison of a case, how much speaks for *slower*. The rules are
asked in the same order, some about the first comparisons alone."""


def count_of(kind: str) -> Count:
    """One comparison that ended so."""
    return Count(
        slower=kind == "slower", faster=kind == "faster", same=kind == "same", undecided=kind == "inconclusive"
    )


def total(counts: Iterable[Count]) -> Count:
    return sum(counts, Count())


def pace(slowed: float) -> str:
    """Of the new side, in words."""
    return f"{slowed:.0%} slower" if slowed else "unchanged"


def figure_name(what: str, title: str, slowed: float, rule: str = OURS) -> str:
    """The name that a rate is stored under: ``caught, quiet, in turns, 5% slower: criterion``.

    :param title: which recording, and how the comparisons were drawn from it.
    """
    return f"{what}, {title}, {pace(slowed)}: {rule}"


def is_disturbed(label: str) -> bool:
    """True if a recording is of a disturbed hour, by its label."""
    return label.startswith("loud")


def most_same(label: str) -> float:
    """Share of slowed code that may be called the same: of a loud hour, which may leave all open, nothing."""
    return 0.0 if is_disturbed(label) else 1 - CONFIDENCE


def rates(label: str, title: str, counts: Counts, least_caught: Mapping[float, float]) -> Iterator[Figure]:
    """Of every rule its false alarms and what it caught, and of ours what it called the same.

    :param least_caught: slowdown -> share of comparisons in which ours must find it, in an hour that isn't loud.
    """
    least = {} if is_disturbed(label) else least_caught
    for slowed, by_rule in counts.items():
        for rule, count in by_rule.items():
            own = rule == OURS
            if slowed:
                name, bound = figure_name("caught", title, slowed, rule), least.get(slowed) if own else None
                yield Figure.of_share(name, count.found_slower, at_least=bound)
            else:
                name = figure_name("false alarms", title, slowed, rule)
                yield Figure.of_share(name, count.alarms, at_most=MOST_FALSE_ALARMS if own else None)
            if own:
                name = figure_name("called same", title, slowed)
                yield Figure.of_share(name, count.called_same, at_most=most_same(label) if slowed else None)


def false_alarms_beyond(title: str, counts: Counts) -> Iterator[Figure]:
    """False alarms of ours less each of the others'. (``mean:5%`` looks in one direction only, which is to its
    advantage here.)
    """
    unchanged = counts[0.0]
    for rule, count in unchanged.items():
        if rule != OURS:
            yield Figure(
                name=f"false alarms beyond {rule}, {title}",
                unit="",
                samples=(unchanged[OURS].alarms.rate - count.alarms.rate,),
                at_most=0.0,
            )


def summary(title: str, draws: int, distinct: str, counts: Counts) -> str:
    """Say what the rates are of: the draws, how many of them are different, and each rule's comparisons."""
    of = ", ".join(f"{rule} {count.comparisons}" for rule, count in counts[0.0].items())
    return f"{title}: {draws} draws, {distinct}; comparisons of a case each with unchanged and slowed code: {of}"


def at_equal_false_alarms(title: str, scores: Scores) -> Iterator[Figure]:
    """The share of each slowdown that each rule finds."""
    for slowdown in SLOWDOWNS:
        for rule, unchanged in scores[0.0].items():
            share = caught(unchanged, scores[slowdown][rule])
            yield Figure.of_share(figure_name(f"caught {AT}", title, slowdown, rule), share)


def beyond_others(label: str, comparisons: Sequence[Scores]) -> Iterator[Figure]:
    """The share that ours finds beyond each of the others, at least 0: the median over all slowdowns and kinds
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
    """Count the slowed comparisons above the least threshold that at most `MOST_FALSE_ALARMS` of the
    unchanged ones do.
    """
    allowed = int(MOST_FALSE_ALARMS * len(unchanged) + 1e-9)
    threshold = sorted(unchanged, reverse=True)[allowed]
    return Share(sum(score > threshold for score in slowed), len(slowed))


def evidence(effect: Effect) -> float:
    """Our own measure: the one-sided chance of no difference, negative, so that a larger one speaks for *slower*."""
    return -effect.chance / 2 if effect.log_ratio > 0 else effect.chance / 2 - 1
