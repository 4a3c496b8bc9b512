"""A change that all cases share: of the machine, a library or the clocks rather than of one case.

The *level* of a session is the median over its cases of how far each lies from the middle of its own two sides (of
logarithms): up to half of the cases may have changed by themselves and hardly move it. Cases of one session share its
hour, so levels are compared as the sessions of one case more are (`roofline.comparison.effects.effect`). What a case
did beside that is its own. Where more than a few cases differ from the others so, nothing is shared.

In an hour full of other programs the machine itself changes between the sides. Where much of what the sessions measured
was left out as disturbed, a shared change is *certain* only if it is shown among the tests of all cases, too.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from roofline.comparison.effects.effect import Effect, Prior, effect_of
from roofline.comparison.effects.verdict import significant
from roofline.comparison.observations.observation import Observation
from roofline.timing.margin import MEDIAN_OVER_MEAN

LEAST_CASES = 3
"""Of fewer, one that changed by itself is most of the median."""

MOST_APART = 0.25
"""Of the cases, those that may differ from a change that is called common."""

MOST_DISTURBED = 0.25
"""Of what the sessions measured, the share that may be left out as disturbed in an hour that passes for quiet."""

Sessions = Mapping[Any, Observation]
"""Session -> what it says of a case."""

TwoSides = tuple[Sessions, Sessions]
"""A case in the sessions of the baseline and of the new side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonFactor:
    """``effect`` is of all cases together; ``own`` of each case beside it, in their order, None where its sessions have
    no level. ``apart`` are the places of those whose own effect is shown and matters. ``certain``: an hour full of
    other programs doesn't explain it.
    """

    effect: Effect
    own: tuple[Effect | None, ...]
    apart: tuple[int, ...]
    certain: bool

    @property
    def ratio(self) -> float:
        """Of new over base."""
        return self.effect.ratio


def common_factor(
    cases: Sequence[TwoSides], prior: Prior, least: float, confidence: float, disturbed: float = 0.0
) -> CommonFactor | None:
    """The change that the cases share; None where none is shown not to be chance and to matter, by a test of its own.

    :param cases: of one machine.
    :param least: the least effect that matters, relative.
    :param disturbed: share of what the sessions measured that is not in ``cases``, for it was disturbed.
    """
    levels = _levels(cases)
    base, new = (list(of_side.values()) for of_side in levels)
    if not base or not new:
        return None
    effect = effect_of(base, new, prior)
    if effect.chance > 1 - confidence or abs(effect.log_ratio) < math.log1p(least):
        return None
    own = tuple(_own_effect(case, levels, prior) for case in cases)
    apart = _apart(own, math.log1p(least), 1 - confidence)
    if len(apart) > MOST_APART * len(cases):
        return None
    certain = disturbed <= MOST_DISTURBED or effect.chance <= (1 - confidence) / (len(cases) + 1)
    return CommonFactor(effect=effect, own=own, apart=apart, certain=certain)


_Distances = dict[Any, list[tuple[float, Observation]]]
"""Session -> how far each of its cases lies from its middle, with what the session says of it."""


def _levels(cases: Sequence[TwoSides]) -> TwoSides:
    """The level of each session of either side that has `LEAST_CASES` or more of the cases."""
    found: tuple[_Distances, _Distances] = ({}, {})
    for case in cases:
        middle = statistics.fmean(
            statistics.fmean(math.log(seen.value) for seen in sessions.values()) for sessions in case
        )
        for sessions, distances in zip(case, found, strict=True):
            for session, seen in sessions.items():
                distances.setdefault(session, []).append((math.log(seen.value) - middle, seen))
    base, new = (
        {session: _level(seen) for session, seen in distances.items() if len(seen) >= LEAST_CASES}
        for distances in found
    )
    return base, new


def _level(seen: Sequence[tuple[float, Observation]]) -> Observation:
    errors = [one.error for _, one in seen if one.error is not None]
    known = math.sqrt(statistics.fmean(error**2 for error in errors) / len(errors)) if errors else None
    return Observation(
        value=math.exp(statistics.median(distance for distance, _ in seen)),
        error=None if known is None else MEDIAN_OVER_MEAN * known,
        started_at=seen[0][1].started_at,
    )


def _own_effect(case: TwoSides, levels: TwoSides, prior: Prior) -> Effect | None:
    """The effect of a case over the levels of its sessions."""
    base, new = (
        [
            replace(seen, value=seen.value / level.value)
            for session, seen in sessions.items()
            if (level := of_side.get(session)) is not None
        ]
        for sessions, of_side in zip(case, levels, strict=True)
    )
    return effect_of(base, new, prior) if base and new else None


def _apart(own: Sequence[Effect | None], least: float, level: float) -> tuple[int, ...]:
    known = [(place, effect) for place, effect in enumerate(own) if effect is not None]
    shown = significant([effect.chance for _, effect in known], level)
    return tuple(
        place for (place, effect), beyond in zip(known, shown, strict=True) if beyond and abs(effect.log_ratio) >= least
    )
