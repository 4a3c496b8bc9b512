"""Measure the gate's false alarms and catches on sides drawn from recorded sessions of unchanged code.

    python -m benchmarks gate

Of every recording in ``benchmarks/data`` (see `gate_record`) sessions are drawn for the two sides of a comparison, all
cases of them at once, as a user would compare them: for one part of the trials at random, for the other in the order
they were taken, so that the new side is later and the machine may have drifted. As they are, every *slower* or *faster*
is a false alarm: at most 1 % of ours may be one. With all times of the new side made longer by 5 or 3 %, it should say
*slower*, and must not say *same*: in at most 1 % of the comparisons, and never in a loud hour. Beside our own stand
three rules that others use (`gate_others`) on all rounds of the same sessions. Ours must not have more false alarms
than any of them, and in a quiet hour not find less where all are wrong as often (`gate_counts`). What it
finds at a lower ``--confidence`` is told, too. *Together* is the verdict on the change that all cases of a comparison
share: one for each comparison, of which at most 1 % may be a false alarm as well.

Trials of one recording share sessions, so the Clopper-Pearson intervals, which take them for independent, are too
narrow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, Share
from benchmarks.gate_counts import (
    MOST_FALSE_ALARMS,
    OURS,
    SLOWDOWNS,
    Count,
    Scores,
    at_equal_false_alarms,
    beyond_others,
    count_of,
    evidence,
    false_alarms_beyond,
    figure_name,
    is_disturbed,
    rates,
    summary,
    total,
)
from benchmarks.gate_others import Values, by_rule
from benchmarks.gate_record import DATA
from roofline.comparison.effects.common_factor import LEAST_CASES, common_factor
from roofline.comparison.effects.effect import SESSIONS, Effect, effect_of
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT, judge_effects
from roofline.comparison.observations.observation import Observation, Unusable, disturbed_session, observe
from roofline.schema.record import Rounds

TRIALS = 500
"""Comparisons drawn for each number of sessions."""

A_SIDE = (1, 3, 5)
"""Sessions of either side."""

LOWER_CONFIDENCES = (0.9,)
"""Beside the default: for whom it is worth a false alarm to miss less."""


@dataclass(frozen=True, slots=True)
class Session:
    """Rounds of one case in one session: seconds of a step, whether something disturbed the round; and when the session
    began.
    """

    times: Values
    disturbed: NDArray[np.bool_]
    began: str

    def slowed(self, by: float) -> Session:
        return Session(self.times * (1 + by), self.disturbed, self.began)

    @property
    def rounds(self) -> Rounds:
        marks = tuple("marked" if mark else None for mark in self.disturbed.tolist())
        return Rounds(steps=1, wall_s=tuple(self.times.tolist()), disturbed=marks)


Sessions = Mapping[str, Sequence[Session]]
"""Case -> its sessions, in the order they were taken."""

Observed = Mapping[str, Sequence[Observation | None]]
"""Case -> what each of its sessions says; None: nothing, for it was disturbed."""


@dataclass(frozen=True, slots=True)
class Split:
    """Numbers of the sessions of either side."""

    base: tuple[int, ...]
    new: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Sessions of unchanged code in one hour. ``cpu`` is the processor's name."""

    sessions: Sessions
    cpu: str

    @property
    def count(self) -> int:
        """How many sessions."""
        return len(next(iter(self.sessions.values())))

    @property
    def began(self) -> str:
        """When the first session began (UTC)."""
        return next(iter(self.sessions.values()))[0].began

    @property
    def day(self) -> str:
        """The date of that."""
        return self.began[:10]


def recordings() -> dict[str, Recording]:
    """Label -> its sessions."""
    found: dict[str, Recording] = {}
    for path in sorted(DATA.glob("gate_sessions_*.npz")):
        with np.load(path) as file:
            about = json.loads(str(file["about"]))
            began = about["started_at"]
            cases = {name.removesuffix(".time") for name in file.files if name.endswith(".time")}
            sessions = {
                case: tuple(
                    Session(file[f"{case}.time"][chosen].astype(float), file[f"{case}.disturbed"][chosen], when)
                    for when, chosen in ((when, file[f"{case}.session"] == number) for number, when in enumerate(began))
                )
                for case in sorted(cases)
            }
        found[path.stem.removeprefix("gate_sessions_")] = Recording(sessions=sessions, cpu=about["cpu"])
    return found


def splits(sessions: int, a_side: int, trials: int, rng: np.random.Generator) -> Iterator[Split]:
    """Half of the trials drawn at random, half in the order taken: first the base, then the new side."""
    for trial in range(trials):
        drawn = rng.permutation(sessions)[: 2 * a_side].tolist()
        if trial % 2:
            drawn.sort()
        yield Split(tuple(drawn[:a_side]), tuple(drawn[a_side:]))


def distinct(drawn: Sequence[Split]) -> int:
    """Count those that compare other sessions with each other, in whatever order."""
    return len({(frozenset(split.base), frozenset(split.new)) for split in drawn})


def see(sessions: Sessions, slowed: float = 0.0) -> Observed:
    """Observe each session by itself, with times made longer by so much."""
    rounds = {case: [session.slowed(slowed).rounds for session in series] for case, series in sessions.items()}
    loud = [disturbed_session(cases) is not None for cases in zip(*rounds.values(), strict=True)]
    return {
        case: tuple(
            None if disturbed else _observed(one, session.began)
            for disturbed, one, session in zip(loud, series, sessions[case], strict=True)
        )
        for case, series in rounds.items()
    }


def _observed(rounds: Rounds, began: str) -> Observation | None:
    try:
        return observe(rounds, started_at=began)
    except Unusable:
        return None


def ours(base: Observed, new: Observed, split: Split, confidence: float = CONFIDENCE) -> dict[str, Count]:
    """The gate's own verdicts on one comparison, of all cases that both sides know something of: in a loud hour a side
    may have no session with enough rounds left alone, and where nothing is compared nothing can be wrong.
    """
    sides = {case: (usable(base[case], split.base), usable(new[case], split.new)) for case in base}
    compared = {case: pair for case, pair in sides.items() if all(pair)}
    verdicts = judge_effects(
        [effect_of(*pair) for pair in compared.values()], [LEAST_EFFECT] * len(compared), [confidence] * len(compared)
    )
    kinds = {case: verdict.kind for case, verdict in zip(compared, verdicts, strict=True)}
    return {case: count_of(kind) for case, kind in kinds.items()}


def together(base: Observed, new: Observed, drawn: Sequence[Split]) -> Count:
    """The verdicts on the change that the cases share, one for each comparison of enough cases."""
    return total(_together(base, new, split) for split in drawn)


def _together(base: Observed, new: Observed, split: Split) -> Count:
    cases = [(_by_session(base[case], split.base), _by_session(new[case], split.new)) for case in base]
    compared = [case for case in cases if all(case)]
    if len(compared) < LEAST_CASES:
        return Count()
    known = sum(len(side) for case in cases for side in case)
    disturbed = 1 - known / (len(cases) * (len(split.base) + len(split.new)))
    factor = common_factor(compared, SESSIONS, LEAST_EFFECT, CONFIDENCE, disturbed)
    if factor is None or not factor.certain:
        return count_of("inconclusive")
    return count_of("slower" if factor.ratio > 1 else "faster")


def _by_session(series: Sequence[Observation | None], chosen: Sequence[int]) -> dict[int, Observation]:
    return {number: seen for number in chosen if (seen := series[number]) is not None}


def effects(base: Observed, new: Observed, drawn: Sequence[Split]) -> list[Effect]:
    """Of every case of each comparison that both sides know something of, in the order that the others are asked."""
    sides = ((usable(base[case], split.base), usable(new[case], split.new)) for split in drawn for case in base)
    return [effect_of(*pair) for pair in sides if all(pair)]


def usable(series: Sequence[Observation | None], chosen: Sequence[int]) -> list[Observation]:
    return [seen for seen in (series[number] for number in chosen) if seen is not None]


def rounds(sessions: Sessions, split: Split, slowed: float = 0.0) -> Iterator[tuple[Values, Values]]:
    """The times for the other rules: of each case all rounds of all sessions of base and new."""
    for series in sessions.values():
        base = np.concatenate([series[number].times for number in split.base])
        new = np.concatenate([series[number].slowed(slowed).times for number in split.new])
        yield base, new


def run(*, quick: bool = False) -> tuple[Figure, ...]:
    """Error rates of every rule on every recording."""
    rng = np.random.default_rng(0)
    figures: list[Figure] = []
    for label, recording in recordings().items():
        sessions, recorded = recording.sessions, recording.count
        seen = {slowed: see(sessions, slowed) for slowed in (0.0, *SLOWDOWNS)}
        measured: list[Scores] = []
        for a_side in A_SIDE:
            drawn = list(splits(recorded, a_side, 20 if quick else TRIALS, rng))
            title = f"{label}, {a_side} a side"
            others = {slowed: by_rule(rounds(sessions, split, slowed) for split in drawn) for slowed in seen}
            counts = {
                slowed: {
                    OURS: _total(seen[0.0], new, drawn, CONFIDENCE),
                    **{rule: asked.count for rule, asked in others[slowed].items()},
                }
                for slowed, new in seen.items()
            }
            less_sure = {
                slowed: {
                    f"{OURS}, {confidence:.0%} sure": _total(seen[0.0], new, drawn, confidence)
                    for confidence in LOWER_CONFIDENCES
                }
                for slowed, new in seen.items()
            }
            print(summary(title, len(drawn), f"{distinct(drawn)} of them different", counts))
            figures.append(Figure(name=f"different draws, {title}", unit="", samples=(float(distinct(drawn)),)))
            compared = Share(counts[0.0][OURS].comparisons, len(drawn) * len(sessions))
            figures.append(Figure.of_share(f"compared at all, {title}", compared))
            if not compared.count:  # a few draws of a loud hour
                continue
            figures.extend(rates(label, title, counts, {}))
            figures.extend(rates(label, title, less_sure, {}))
            figures.extend(false_alarms_beyond(title, counts))
            figures.extend(_rates_together(title, seen, drawn))
            if is_disturbed(label):
                continue
            measured.append(
                {
                    slowed: {
                        OURS: [evidence(effect) for effect in effects(seen[0.0], new, drawn)],
                        **{rule: asked.slower for rule, asked in others[slowed].items()},
                    }
                    for slowed, new in seen.items()
                }
            )
            figures.extend(at_equal_false_alarms(title, measured[-1]))
        if measured:
            figures.extend(beyond_others(label, measured))
    return tuple(figures)


def _rates_together(title: str, seen: Mapping[float, Observed], drawn: Sequence[Split]) -> Iterator[Figure]:
    title = f"together, {title}"
    for slowed, new in seen.items():
        count = together(seen[0.0], new, drawn)
        if count.comparisons and slowed:
            yield Figure.of_share(figure_name("caught", title, slowed), count.found_slower)
        elif count.comparisons:
            name = figure_name("false alarms", title, slowed)
            yield Figure.of_share(name, count.alarms, at_most=MOST_FALSE_ALARMS)


def _total(base: Observed, new: Observed, drawn: Sequence[Split], confidence: float) -> Count:
    return total(count for split in drawn for count in ours(base, new, split, confidence).values())
