"""How often does the gate cry wolf, and what does it catch? Sides drawn from recorded sessions of unchanged code.

    python -m benchmarks gate

Of every recording in ``benchmarks/data`` (see `gate_record`) sessions are drawn for the two sides of a comparison, all
cases of them at once, as a user would compare them: for one part of the trials at random, for the other in the order
they were taken, so that the new side is later and the machine may have drifted. As they are, every *slower* or *faster*
is a false alarm. With all times of the new side made longer by 5 or 3 %, it should say *slower*, and must not say
*same*. Beside our own stand three rules that others use, on the same data:

- ``mean:5%`` of pytest-benchmark: the mean of the new side's rounds is more than 5 % longer.
- Mann-Whitney: a rank test over all rounds, p < 0.05 (two-sided), and the median longer.
- criterion: a bootstrap of the difference of means, p < 0.05, and the difference beyond its noise threshold of 1 %.

Trials of one recording share sessions, so the Clopper-Pearson intervals, which take them for independent, are too
narrow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.figures import Figure
from roofline.compare.effect import effect_of
from roofline.compare.observation import Observation, Unusable, observe
from roofline.compare.verdict import CONFIDENCE, LEAST_EFFECT, judge
from roofline.record import Rounds

DATA = Path(__file__).parent / "data"

MOST_FALSE_ALARMS = 0.01
SLOWDOWNS = (0.05, 0.03)

BOOTSTRAPS = 1000

Values = NDArray[np.float64]
Rule = Callable[[Values, Values], str]
"""From the rounds of base and new to ``slower``, ``faster`` or ``inconclusive``."""


@dataclass(frozen=True, slots=True)
class Session:
    """Rounds of one case in one session: seconds of a step, and whether something disturbed the round."""

    times: Values
    disturbed: NDArray[np.bool_]

    def slowed(self, by: float) -> Session:
        return Session(self.times * (1 + by), self.disturbed)


Sessions = Mapping[str, tuple[Session, ...]]
"""Case -> its sessions, in the order they were taken."""


@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of the sessions of either side."""

    base: tuple[int, ...]
    new: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many of the comparisons of a case ended how."""

    slower: int = 0
    faster: int = 0
    same: int = 0
    undecided: int = 0

    @property
    def comparisons(self) -> int:
        return self.slower + self.faster + self.same + self.undecided

    def __add__(self, other: Count) -> Count:
        return Count(
            slower=self.slower + other.slower,
            faster=self.faster + other.faster,
            same=self.same + other.same,
            undecided=self.undecided + other.undecided,
        )


def recordings() -> dict[str, Sessions]:
    """Label -> its sessions."""
    found: dict[str, Sessions] = {}
    for path in sorted(DATA.glob("gate_sessions_*.npz")):
        with np.load(path) as file:
            count = len(json.loads(str(file["about"]))["started_at"])
            cases = {name.removesuffix(".time") for name in file.files if name.endswith(".time")}
            found[path.stem.removeprefix("gate_sessions_")] = {
                case: tuple(
                    Session(file[f"{case}.time"][chosen].astype(float), file[f"{case}.disturbed"][chosen])
                    for chosen in (file[f"{case}.session"] == number for number in range(count))
                )
                for case in sorted(cases)
            }
    return found


def splits(sessions: int, a_side: int, trials: int, rng: np.random.Generator) -> Iterator[Split]:
    """Half of the trials drawn at random, half in the order taken: first the base, then the new side."""
    for trial in range(trials):
        drawn = rng.permutation(sessions)[: 2 * a_side].tolist()
        if trial % 2:
            drawn.sort()
        yield Split(tuple(drawn[:a_side]), tuple(drawn[a_side:]))


def ours(sessions: Sessions, split: Split, slowed: float = 0.0) -> dict[str, Count]:
    """The gate's own verdicts on one comparison of all cases."""
    sides = {
        case: (
            _observed(series, split.base),
            _observed([session.slowed(slowed) for session in series], split.new),
        )
        for case, series in sessions.items()
    }
    compared = {case: sides for case, sides in sides.items() if all(sides)}
    verdicts = judge([effect_of(*pair) for pair in compared.values()], [LEAST_EFFECT] * len(compared), CONFIDENCE)
    kinds = {case: verdict.kind for case, verdict in zip(compared, verdicts, strict=True)}
    return {case: count_of(kinds.get(case, "inconclusive")) for case in sessions}


def _observed(series: Sequence[Session], chosen: Sequence[int]) -> list[Observation]:
    found = []
    for number in chosen:
        marks = tuple("marked" if mark else None for mark in series[number].disturbed.tolist())
        rounds = Rounds(steps=1, wall_s=tuple(series[number].times.tolist()), disturbed=marks)
        try:
            found.append(observe(rounds, started_at=f"{number:04}"))
        except Unusable:
            continue
    return found


def mean_beyond(base: Values, new: Values) -> str:
    """pytest-benchmark's ``--benchmark-compare-fail=mean:5%``."""
    change = new.mean() / base.mean() - 1
    return "slower" if change > 0.05 else "inconclusive"


def mann_whitney(base: Values, new: Values) -> str:
    if stats.mannwhitneyu(base, new).pvalue >= 0.05:
        return "inconclusive"
    return "slower" if np.median(new) > np.median(base) else "faster"


def criterion(base: Values, new: Values) -> str:
    """criterion.rs: bootstrapped t statistics under the pooled sample, then its noise threshold."""
    rng = _bootstrap_rng()
    pooled = np.concatenate([base, new])
    drawn = rng.choice(pooled, (BOOTSTRAPS, len(pooled)))
    first, second = drawn[:, : len(base)], drawn[:, len(base) :]
    nulls = _t(first.mean(1), first.var(1, ddof=1), len(base), second.mean(1), second.var(1, ddof=1), len(new))
    seen = _t(base.mean(), base.var(ddof=1), len(base), new.mean(), new.var(ddof=1), len(new))
    tail = min((nulls < seen).mean(), (nulls > seen).mean())
    change = new.mean() / base.mean() - 1
    if 2 * tail >= 0.05 or abs(change) <= 0.01:
        return "inconclusive"
    return "slower" if change > 0 else "faster"


def _t(mean: Values, variance: Values, count: int, other_mean: Values, other_variance: Values, others: int) -> Values:
    with np.errstate(divide="ignore", invalid="ignore"):  # a sample of one value, drawn again and again
        return (mean - other_mean) / np.sqrt(variance / count + other_variance / others)


@cache
def _bootstrap_rng() -> np.random.Generator:
    return np.random.default_rng(0)


OTHERS = {"pytest-benchmark mean:5%": mean_beyond, "Mann-Whitney 0.05": mann_whitney, "criterion": criterion}


def by_rule(sessions: Sessions, split: Split, slowed: float = 0.0) -> dict[str, Count]:
    """Each of the others' rules over all cases of one comparison, on all rounds of all sessions of a side."""
    counts = dict.fromkeys(OTHERS, Count())
    for series in sessions.values():
        base = np.concatenate([series[index].times for index in split.base])
        new = np.concatenate([series[index].slowed(slowed).times for index in split.new])
        for name, rule in OTHERS.items():
            counts[name] += count_of(rule(base, new))
    return counts


def count_of(kind: str) -> Count:
    """One comparison that ended so."""
    return Count(
        slower=kind == "slower", faster=kind == "faster", same=kind == "same", undecided=kind == "inconclusive"
    )


def share(count: int, of: int) -> str:
    """A rate with its Clopper-Pearson interval at 95 %, in percent."""
    interval = stats.binomtest(count, of).proportion_ci(0.95, method="exact")
    return f"{100 * count / of:5.2f} % [{100 * interval.low:.2f}, {100 * interval.high:.2f}]"


def run(*, quick: bool = False) -> tuple[Figure, ...]:
    """Error rates of every rule on every recording."""
    rng = np.random.default_rng(0)
    figures = []
    for label, sessions in recordings().items():
        recorded = len(next(iter(sessions.values())))
        for a_side in (1, 3, 5):
            chosen = list(splits(recorded, a_side, 20 if quick else 500, rng))
            few = chosen[: 10 if quick else 60]
            for slowed in (0.0, *SLOWDOWNS):
                counts = {"this gate": _total(ours(sessions, split, slowed) for split in chosen)}
                for split in few:
                    for name, count in by_rule(sessions, split, slowed).items():
                        counts[name] = counts.get(name, Count()) + count
                title = f"{label}, {a_side} a side, " + (f"{slowed:.0%} slower" if slowed else "unchanged")
                for name, count in counts.items():
                    alarms = count.slower if slowed else count.slower + count.faster
                    print(
                        f"{title:32} {name:26} {'caught' if slowed else 'false alarms'}"
                        f" {share(alarms, count.comparisons)}, same {share(count.same, count.comparisons)}"
                    )
                own = counts["this gate"]
                if not slowed:
                    rate = (own.slower + own.faster) / own.comparisons
                    figures.append(
                        Figure(name=f"false alarms, {title}", unit="", samples=(rate,), at_most=MOST_FALSE_ALARMS)
                    )
                else:
                    figures.append(Figure(name=f"caught, {title}", unit="", samples=(own.slower / own.comparisons,)))
                    if slowed == max(SLOWDOWNS):
                        rate = own.same / own.comparisons
                        figures.append(
                            Figure(name=f"called same, {title}", unit="", samples=(rate,), at_most=1 - CONFIDENCE)
                        )
    return tuple(figures)


def _total(trials: Iterator[dict[str, Count]]) -> Count:
    return sum((count for trial in trials for count in trial.values()), Count())
