"""Find where the level of a series of times changed, by how much, how surely; and how far it drifts besides.

`ruptures` cuts the series into levels (C. Truong, L. Oudre, N. Vayatis, "Selective review of offline change point
detection methods", Signal Processing 167 (2020)), with a low penalty. Of the steps between them the least sure one is
dropped until all that are left are sure by each model of the series (`level_model`) that it doesn't rule out: a machine
that slowly gets slower has none. At most ``level`` is the chance that a series without a step has one told.
Where the series scatters less than the gate takes for known (`roofline.comparison.effects.effect.SESSIONS`), that
counts, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.comparison.effects.effect import SESSIONS, Effect
from roofline.comparison.effects.verdict import least_detectable
from roofline.histories.level_model import LINES, Fit, LevelModel, scatter_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST_POINTS = 3
"""Of a level. One or two points may be outliers."""

SHORTEST = 2 * LEAST_POINTS
"""Points of a series that can show a change."""

_OUTLIER = 3.5
"""A point so far from the median of its neighbours, in deviations of the scatter, says nothing of the level."""

_NEIGHBOURS = 5
"""With the point itself."""

_MOST = 3.5
"""No point speaks more for a step than one so far away, in deviations of the scatter."""

_FAR, _FEW = 2 * _OUTLIER, 50
"""Among fewer points than these the only one so far away, in deviations of the scatter, speaks neither for a step nor
against it. Among more it hides none."""

_WINDOW = 50
"""A change is looked for so many points around where `ruptures` put it."""


class LacksRuptures(ImportError):
    """A series can't be cut: the package for it isn't installed. The message says how to install it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A step of the level before the point ``place``, counted from 0.

    Where exactly is known as well as the confidence asked for: before one of the points from ``earliest`` to
    ``latest``. ``effect`` is of the level after it over that before it, without what it drifts.
    """

    place: int
    earliest: int
    latest: int
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLevels:
    """What a series shows.

    ``drift`` is of the last point's level over the first one's, without the steps; ``drifts``: it is shown not to be
    chance and large enough to matter. ``scatter`` is the standard deviation of single points around their level,
    relative, and ``fitted_s`` that level at each point, in seconds, as if it didn't wander. ``least_detectable`` is the
    least step before the point asked for that would be told in 19 of 20 such series, relative; None where no step there
    can be seen.
    """

    changes: tuple[Change, ...]
    drift: Effect
    drifts: bool
    scatter: float
    fitted_s: tuple[float, ...]
    least_detectable: float | None


def surest_chance(times_s: Sequence[float], *, level: float, least: float) -> float:
    """Tell how likely a series without a step has one told at least as surely as the surest of this one.

    :returns: 1 where none is told, here or at a lower level. The parameters are those of `find_levels`.
    :raises LacksRuptures: it isn't installed.
    """
    measured, logs = _logs_of(times_s)
    places = _cut(logs)
    if not places:
        return 1.0
    _, chances = _surest(measured, LevelModel(logs), places, level / _possible(logs), math.log1p(least))
    return min([1.0, *(_possible(logs) * chance for chance in chances)])


def find_levels(
    times_s: Sequence[float], *, level: float, confidence: float, least: float, asked: int | None = None
) -> FoundLevels:
    """Find the steps of a series, and its drift.

    :param times_s: in order of time, at least `SHORTEST`, finite and above 0.
    :param level: the chance that a series without a step has one told, at most.
    :param confidence: of where a change is, and that a drift isn't chance.
    :param least: the least change that matters, relative.
    :param asked: the point before which the least step that would be told is asked for. Default: the last that can be.
    :raises LacksRuptures: it isn't installed.
    """
    measured, logs = _logs_of(times_s)
    matters, level = math.log1p(least), level / _possible(logs)
    model = LevelModel(logs)
    places, _ = _surest(measured, model, _cut(logs), level, matters)
    found: list[tuple[int, int]] = []
    for index in range(len(places)):
        places[index], interval = _placed(model, places, index, confidence)
        found.append(interval)
    fit = model.fit(places)
    drift = fit.effect(0, 1, 1, wander=0)
    asked = len(logs) - LEAST_POINTS if asked is None else asked
    return FoundLevels(
        changes=tuple(
            Change(
                place=place,
                earliest=earliest,
                latest=latest,
                effect=fit.effect(LINES + index, *_beside(places, index, len(logs))),
            )
            for index, (place, (earliest, latest)) in enumerate(zip(places, found, strict=True))
        ),
        drift=drift,
        drifts=drift.chance <= 1 - confidence and abs(drift.log_ratio) >= matters,
        scatter=fit.deviation(),
        fitted_s=tuple(math.exp(one) for one in model.fitted(fit, wander=0)),
        least_detectable=_least(model, places, asked, least, level),
    )


def _logs_of(times_s: Sequence[float]) -> tuple[Array, Array]:
    """The logarithms as measured, but for one point far away among few; and without any outlier."""
    import numpy as np

    logs = np.log(np.asarray(times_s))
    cleaned = _without_outliers(logs)
    far = np.abs(logs - cleaned) > _FAR * scatter_of(logs)
    return np.where(far, cleaned, logs) if far.sum() == 1 and len(logs) < _FEW else logs, cleaned


def _possible(logs: Array) -> int:
    """Places that a step may have: each is a chance to be wrong, and they add up to the level."""
    return len(logs) - SHORTEST + 1


def _without_outliers(values: Array) -> Array:
    """The series with the median of their neighbours in place of outliers: two of them in a row make no level.

    F. Hampel, "The influence curve and its role in robust estimation", Journal of the American Statistical Association
    69 (1974). At the ends the neighbours are the first or last points. The farthest goes first: beside a step it may be
    what makes an outlier of another point.
    """
    import numpy as np

    cleaned, most = values.copy(), _OUTLIER * scatter_of(values)
    for _ in values:
        medians = np.median(np.lib.stride_tricks.sliding_window_view(cleaned, _NEIGHBOURS), axis=1)
        median = np.pad(medians, _NEIGHBOURS // 2, mode="edge")
        distances = np.abs(cleaned - median)
        farthest = int(np.argmax(distances))
        if distances[farthest] <= most:
            break
        cleaned[farthest] = median[farthest]
    return cleaned


def _cut(values: Array) -> list[int]:
    """Where `ruptures` cuts the series into levels: more often than it changed, as it knows no drift.

    :raises LacksRuptures: it isn't installed.
    """
    try:
        import ruptures
    except ImportError as error:
        raise LacksRuptures("Change points need ruptures: pip install 'pytest-roofline[history]'") from error

    search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_POINTS).fit(
        (values / scatter_of(values)).reshape(-1, 1)
    )
    return [int(end) for end in search.predict(pen=2 * math.log(len(values)))[:-1]]


def _chance(logs: Array, model: LevelModel, fit: Fit, index: int) -> float:
    """Probability that a step of a fit looks so sure though there is none.

    As if there were none, each point beside it speaks within bounds, outliers too, around one level for both sides: who
    has many outliers has some in a row by chance.
    """
    import numpy as np

    places, step = fit.places, float(fit.coefficients()[LINES + index])
    before, after = _beside(places, index, len(logs))
    level = model.fitted(fit)
    level[places[index] - before : places[index]] += step * after / (before + after)
    level[places[index] : places[index] + after] -= step * before / (before + after)
    most = _MOST * max(scatter_of(logs), SESSIONS.deviation)
    bounded = LevelModel(level + np.clip(logs - level, -most, most))
    return bounded.fit(places).chance(LINES + index)


def _surest(
    logs: Array, model: LevelModel, places: list[int], level: float, matters: float
) -> tuple[list[int], list[float]]:
    """Of the steps those that are left when the least sure one, or before it one too small to matter, has been dropped
    until there is none; and how likely each is by chance. At a lower level more are dropped, in the same order.
    """
    while places:
        fit = model.fit(places)
        chances = [_chance(logs, model, fit, index) for index in range(len(places))]
        small = [abs(step) < matters for step in fit.coefficients()[LINES:]]
        worst = max(range(len(places)), key=lambda index: (small[index], chances[index]))
        if not small[worst] and chances[worst] <= level:
            return places, chances
        places = _without(places, worst)
    return [], []


def _without(places: Sequence[int], index: int) -> list[int]:
    return [*places[:index], *places[index + 1 :]]


def _beside(places: Sequence[int], index: int, count: int) -> tuple[int, int]:
    """Count the points of the levels before and after a step."""
    ends = [0, *places, count]
    return ends[index + 1] - ends[index], ends[index + 2] - ends[index + 1]


def _placed(model: LevelModel, places: Sequence[int], index: int, confidence: float) -> tuple[int, tuple[int, int]]:
    """The likeliest place of a step, and the first and last of those that together are as sure as asked for.

    Each place is as likely as the times are if it is the one; the likeliest are taken together.
    """
    import numpy as np

    others, place = _without(places, index), places[index]
    ends = [0, *others, len(model)]
    first = max(ends[index] + LEAST_POINTS, place - _WINDOW)
    last = min(ends[index + 1] - LEAST_POINTS, place + _WINDOW)
    likely = np.array([model.fit(sorted((*others, one))).likelihood for one in range(first, last + 1)])
    shares = np.exp(likely - likely.max())
    order = np.argsort(-shares, kind="stable")
    enough = int(np.searchsorted(np.cumsum(shares[order]) / shares.sum(), confidence)) + 1
    taken = order[:enough]
    return first + int(order[0]), (first + int(taken.min()), first + int(taken.max()))


def _least(model: LevelModel, places: Sequence[int], asked: int, least: float, level: float) -> float | None:
    ends = [0, *places, len(model)]
    if any(abs(asked - end) < LEAST_POINTS for end in ends):
        return None
    with_it = sorted((*places, asked))
    index = with_it.index(asked)
    effect = model.fit(with_it).effect(LINES + index, *_beside(with_it, index, len(model)))
    return least_detectable(effect, least, level)
