"""Measure the gate where it has learned a machine's scatter from other sessions (``--learn-from``).

    python -m benchmarks learned

Sides are drawn as by `gate_stored`, from the same recordings. What is learned is of the quiet recordings of the same
processor on other days; where there is none, of its other hours; where there is none, either, of the sessions of the
same recording that were not drawn. *Another hour* and *another day* are of a baseline of one quiet recording and a new
side of a later one, as users compare them; what is learned is of the others of the processor.

*False alarms* and *caught* are shares of the cases that were compared, at several confidences. *Interval misses* says
how often the interval of an unchanged case doesn't reach 0: of one hour half as often as it is meant to at least, and
not more often.

The picture in ``docs/images`` shows these. Each session is in many draws, so its Clopper-Pearson intervals count a
session as one draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, Share
from benchmarks.gate_counts import MOST_FALSE_ALARMS, OURS, Count, count_of, figure_name, is_disturbed, total
from benchmarks.gate_stored import TRIALS, Observed, Recording, Split, recordings, see, splits, usable
from roofline.comparison.effects.effect import SESSIONS, Effect, effect_of
from roofline.comparison.effects.learning import Learned, holds, learn
from roofline.comparison.effects.verdict import LEAST_EFFECT, judge_effects

A_SIDE = 5

CONFIDENCES = (0.99, 0.95, 0.9, 0.8)

DOCUMENTED = (0.99, 0.9)
"""Of these, in docs/gate.md."""

AIM = 0.9
"""The confidence at which `LEAST_CAUGHT` is aimed at."""

SLOWDOWNS = (0.03, 0.05, 0.1)

LEAST_CAUGHT = {0.05: 0.6, 0.1: 0.95}
"""Slowdown -> share of the cases in which it is to be found, in a quiet hour."""

NOMINAL = (0.5, 0.2, 0.1, 0.05, 0.02)
"""How often an interval is meant to miss."""

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "gate-learned.png"

Learning = Callable[[Split], Learned | None]
"""A draw -> what is known of it from other sessions."""


def run(*, quick: bool = False) -> tuple[Figure, ...]:
    rng = np.random.default_rng(0)
    found = recordings()
    trials = 20 if quick else TRIALS
    figures: list[Figure] = []
    missed: dict[str, dict[str, list[Share]]] = {"assumed": {}, "learned": {}}
    for label, recording in found.items():
        drawn = list(splits(recording.count, A_SIDE, trials, rng))
        seen = {slowed: see(recording.sessions, slowed) for slowed in (0.0, *SLOWDOWNS)}
        learning = _learning(label, found, seen[0.0])
        title = f"{label}, {A_SIDE} a side"
        for name, known in (("assumed", _nothing), ("learned", learning)):
            compared = {
                slowed: [_effects(seen[0.0], new, split, known(split)) for split in drawn]
                for slowed, new in seen.items()
            }
            if not any(compared[0.0]):
                continue
            aimed = name == "learned" and not is_disturbed(label)
            figures += _rates(f"{title}, {name}", compared, aimed=aimed)
            missed[name][label] = _misses(compared[0.0])
            figures += _interval_figures(f"{title}, {name}", missed[name][label], bound=aimed)
    between = tuple(_of_other_hours(found, trials, rng))
    if not quick:
        curves = {f"{name}, one hour": _of_quiet(by_label, found) for name, by_label in missed.items()}
        _draw({**curves, "learned, another day": _of_another_day(between, found)})
    return (*figures, *between)


def _of_other_hours(found: Mapping[str, Recording], trials: int, rng: np.random.Generator) -> Iterator[Figure]:
    """Of a baseline of one quiet recording and a new side of a later one of the processor, all such pairs together."""
    quiet = sorted((one for label, one in found.items() if not is_disturbed(label)), key=lambda one: one.began)
    pairs = [(base, new) for base, new in combinations(quiet, 2) if base.cpu == new.cpu]
    for title, of in (
        ("another hour", [pair for pair in pairs if pair[0].day == pair[1].day]),
        ("another day", [pair for pair in pairs if pair[0].day != pair[1].day]),
    ):
        compared: dict[str, dict[float, list[list[Effect]]]] = {"assumed": {}, "learned": {}}
        for base, new in of:
            drawn = [_of_each(base.count, new.count, rng) for _ in range(trials // len(of))]
            others = [one for one in quiet if one.cpu == base.cpu and one is not base and one is not new]
            ways = {"assumed": None, "learned": _learned_of(others, base)} if others else {"assumed": None}
            seen = see(base.sessions)
            for slowed in (0.0, *SLOWDOWNS):
                later = see(new.sessions, slowed)
                for name, known in ways.items():
                    effects = [_effects(seen, later, split, known) for split in drawn]
                    compared[name].setdefault(slowed, []).extend(effects)
        for name, by_slowdown in compared.items():
            if by_slowdown:
                yield from _rates(f"{title}, {A_SIDE} a side, {name}", by_slowdown, aimed=False)
                misses = _misses(by_slowdown[0.0])
                yield from _interval_figures(f"{title}, {A_SIDE} a side, {name}", misses, bound=False)


def _of_each(base: int, new: int, rng: np.random.Generator) -> Split:
    """Draw the sessions of two sides, each from so many of its own."""
    return Split(*(tuple(rng.permutation(count)[:A_SIDE].tolist()) for count in (base, new)))


def _nothing(_: Split) -> None:
    return None


def _learning(label: str, found: Mapping[str, Recording], observed: Observed) -> Learning:
    """From the quiet recordings of the processor on other days, or in other hours, or from the sessions of the same one
    that were not drawn.
    """
    others = [
        one
        for other, one in found.items()
        if other != label and one.cpu == found[label].cpu and not is_disturbed(other)
    ]
    if others:
        on_other_days = [one for one in others if one.day != found[label].day]
        learned = _learned_of(on_other_days or others, found[label])
        return lambda _: learned
    return lambda split: learn(
        {
            case: [[one for number, one in enumerate(series) if one and number not in (*split.base, *split.new)]]
            for case, series in observed.items()
        },
        SESSIONS,
    )


def _learned_of(others: Sequence[Recording], recording: Recording) -> Learned | None:
    """What other recordings teach of the cases of one."""
    seen = [see(one.sessions) for one in others]
    return learn({case: [[one for each in seen for one in each[case] if one]] for case in recording.sessions}, SESSIONS)


def _effects(base: Observed, new: Observed, split: Split, learned: Learned | None) -> list[Effect]:
    """Of the cases that both sides know something of, by what was learned where that holds."""
    sides = {case: (usable(base[case], split.base), usable(new[case], split.new)) for case in base}
    compared = {case: pair for case, pair in sides.items() if all(pair)}
    effects = [effect_of(*pair) for pair in compared.values()]
    if learned is None:
        return effects
    priors = [learned.of(case) for case in compared]
    if not holds(effects, priors):
        return effects
    return [effect_of(*pair, prior) for pair, prior in zip(compared.values(), priors, strict=True)]


def _rates(title: str, compared: Mapping[float, Sequence[Sequence[Effect]]], *, aimed: bool) -> Iterator[Figure]:
    for confidence in CONFIDENCES:
        rule = f"{OURS}, {confidence:.0%} sure"
        for slowed, comparisons in compared.items():
            count = total(_count(effects, confidence) for effects in comparisons)
            aim = LEAST_CAUGHT.get(slowed) if aimed and confidence == AIM else None
            if slowed:
                yield Figure.of_share(figure_name("caught", title, slowed, rule), count.found_slower, at_least=aim)
            else:
                most = MOST_FALSE_ALARMS if confidence >= AIM and aimed else None
                yield Figure.of_share(figure_name("false alarms", title, slowed, rule), count.alarms, at_most=most)


def _count(effects: Sequence[Effect], confidence: float) -> Count:
    verdicts = judge_effects(effects, [LEAST_EFFECT] * len(effects), [confidence] * len(effects))
    return total(count_of(verdict.kind) for verdict in verdicts)


def _misses(comparisons: Sequence[Sequence[Effect]]) -> list[Share]:
    """For each of `NOMINAL`, how many intervals of unchanged cases don't reach 0."""
    chances = [effect.chance for effects in comparisons for effect in effects]
    return [Share(sum(chance < nominal for chance in chances), len(chances)) for nominal in NOMINAL]


def _interval_figures(title: str, shares: Sequence[Share], *, bound: bool) -> Iterator[Figure]:
    for nominal, share in zip(NOMINAL, shares, strict=True):
        yield Figure.of_share(
            f"interval misses, {title}, meant to be {nominal:.0%}",
            share,
            at_least=nominal / 2 if bound else None,
            at_most=nominal if bound else None,
        )


@dataclass(frozen=True, slots=True)
class _Curve:
    """For each of `NOMINAL` the share that was found, of so many sessions."""

    rates: Sequence[float]
    sessions: int


def _of_quiet(by_label: Mapping[str, Sequence[Share]], found: Mapping[str, Recording]) -> _Curve:
    """The mean of the quiet recordings."""
    quiet = [label for label in by_label if not is_disturbed(label)]
    rates = [float(np.mean([by_label[label][place].rate for label in quiet])) for place in range(len(NOMINAL))]
    return _Curve(rates, sum(found[label].count for label in quiet))


def _of_another_day(figures: Sequence[Figure], found: Mapping[str, Recording]) -> _Curve:
    """What was learned, of the recordings that make such pairs."""
    title = f"interval misses, another day, {A_SIDE} a side, learned"
    rates = [one.median for one in figures if one.name.startswith(title)]
    return _Curve(rates, sum(one.count for label, one in found.items() if _has_another_day(label, found)))


def _has_another_day(label: str, found: Mapping[str, Recording]) -> bool:
    return not is_disturbed(label) and any(
        one.cpu == found[label].cpu and one.day != found[label].day
        for other, one in found.items()
        if not is_disturbed(other)
    )


def _draw(curves: Mapping[str, _Curve]) -> None:
    """Draw what was found over what is meant."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(6.4, 4.2), dpi=130, layout="constrained")
    axes = canvas.subplots()
    meant = [100 * nominal for nominal in NOMINAL]
    axes.fill_between(meant, [one / 2 for one in meant], meant, color="0.92", label="half of it to all of it")
    for shift, (name, curve) in zip((0.95, 1.0, 1.05), curves.items(), strict=True):
        ends = [Share(round(rate * curve.sessions), curve.sessions).interval for rate in curve.rates]
        found = [100 * rate for rate in curve.rates]
        reach = [
            [max(0.0, rate - 100 * low) for rate, (low, _) in zip(found, ends, strict=True)],
            [max(0.0, 100 * high - rate) for rate, (_, high) in zip(found, ends, strict=True)],
        ]
        axes.errorbar([shift * one for one in meant], found, yerr=reach, marker="o", capsize=3, label=name)
    axes.set(xscale="log", yscale="log", xlim=(1.5, 65), ylim=(0.05, 100))
    axes.set_xlabel("interval is meant to miss, %")
    axes.set_ylabel("it misses in unchanged code, %")
    axes.set_xticks(meant, [f"{one:g}" for one in meant])
    axes.set_yticks(ticks := (0.1, 1, 10, 100), [f"{one:g}" for one in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False)
    canvas.savefig(PICTURE)
