"""Where the level of a series of times changed, by how much, and how surely; and how far it drifts besides.

The model: the logarithm of a step time is a level, which drifts along a line that may bend, wanders at random and takes
steps, plus scatter, of which neighbours share a part. A level that wanders with scatter around it is the local level
model of A. Harvey, "Forecasting, Structural Time Series Models and the Kalman Filter" (1989), and a step in it his
level intervention. In terms of cosines (DCT-II) what wanders is independent, and scatter that is shared nearly so: the
fit is a weighted least squares. How far the level wanders and how much is shared is tried out. A step is told only if
it is sure by all of these that the series doesn't rule out: a machine that slowly gets slower has none.

`ruptures` cuts the series into levels (C. Truong, L. Oudre, N. Vayatis, "Selective review of offline change point
detection methods", Signal Processing 167 (2020)), with a low penalty. Of the steps between them the least sure one is
dropped until all that are left are sure: at most ``level`` is the chance that a series without a step has one told.
Where the series scatters less than the gate takes for known (`roofline.comparison.effects.effect.SESSIONS`), that
counts, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from roofline.comparison.effects.effect import SESSIONS, Effect
from roofline.comparison.effects.paired import least_detectable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST_POINTS = 3
"""Of a level. One or two points may be outliers."""

SHORTEST = 2 * LEAST_POINTS
"""Points of a series that can show a change."""

_WANDER = (0.0, 0.001, 0.003, 0.01, 0.03)
"""Variances tried of what the level wanders from one point to the next, over that of the scatter."""

_SHARED = (0.0, 0.2, 0.4, 0.6)
"""Correlations tried of the scatter of neighbours."""

_OUTLIER = 3.5
"""A point so far from the median of its neighbours, in deviations of the scatter, says nothing of the level."""

_NEIGHBOURS = 5
"""With the point itself."""

_NORMAL_MAD = 0.6745
"""Median of the absolute values of a normal distribution, over its standard deviation."""

_LINES = 2
"""Columns of a fit before those of the steps: what the level drifts over the whole series, and how that bends."""

_MOST = 3.5
"""No point speaks more for a step than one so far away, in deviations of the scatter."""

_LEAST_SCATTER = 1e-6
"""Relative: what is taken for the scatter of times that are all the same."""

_NEAR = 2.0
"""Of a logarithm of the likelihood: what lies further below the largest is ruled out."""

_WINDOW = 50
"""A change is looked for so many points around where `ruptures` put it."""


class LacksRuptures(Exception):
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
class Levels:
    """What a series shows.

    ``chance`` is that of its surest step, or a surer one, in a series without any: 1 where it shows none.
    ``drift`` is of the last point's level over the first one's, without the steps; ``drifts``: it is shown not to be
    chance and large enough to matter. ``scatter`` is the standard deviation of single points around their level,
    relative, and ``fitted_s`` that level at each point, in seconds, as if it didn't wander. ``least_detectable`` is the
    least step before the point asked for that would be told in 19 of 20 such series, relative; None where no step there
    can be seen.
    """

    changes: tuple[Change, ...]
    chance: float
    drift: Effect
    drifts: bool
    scatter: float
    fitted_s: tuple[float, ...]
    least_detectable: float | None


def find_levels(
    times_s: Sequence[float], *, level: float, confidence: float, least: float, asked: int | None = None
) -> Levels:
    """Find the steps of a series, and its drift.

    :param times_s: in order of time, at least `SHORTEST`, finite and above 0.
    :param level: the chance that a series without a step has one told, at most.
    :param confidence: of where a change is, and that a drift isn't chance.
    :param least: the least change that matters, relative.
    :param asked: the point before which the least step that would be told is asked for. Default: the last that can be.
    :raises LacksRuptures: it isn't installed.
    """
    import numpy as np

    measured = np.log(np.asarray(times_s))
    logs = _without_outliers(measured)
    matters = math.log1p(least)
    possible = len(logs) - SHORTEST + 1
    model = LevelModel(logs)
    places, chances = _surest(measured, model, _cut(logs), level / possible, matters)
    found: list[tuple[int, int]] = []
    for index in range(len(places)):
        places[index], interval = _placed(model, places, index, confidence)
        found.append(interval)
    fit = model.fit(places)
    drift = fit.effect(0, 1, 1, wander=0)
    asked = len(logs) - LEAST_POINTS if asked is None else asked
    return Levels(
        changes=tuple(
            Change(
                place=place,
                earliest=earliest,
                latest=latest,
                effect=fit.effect(_LINES + index, *_beside(places, index, len(logs))),
            )
            for index, (place, (earliest, latest)) in enumerate(zip(places, found, strict=True))
        ),
        chance=min(1.0, *(possible * chance for chance in chances), 1.0),
        drift=drift,
        drifts=drift.chance <= 1 - confidence and abs(drift.log_ratio) >= matters,
        scatter=fit.deviation,
        fitted_s=tuple(math.exp(one) for one in model.fitted(fit, wander=0)),
        least_detectable=_least(model, places, asked, least, level / possible),
    )


def _without_outliers(values: Array) -> Array:
    """The series with the median of their neighbours in place of outliers: two of them in a row make no level.

    F. Hampel, "The influence curve and its role in robust estimation", Journal of the American Statistical Association
    69 (1974). At the ends the neighbours are the first or last points.
    """
    import numpy as np

    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, _NEIGHBOURS), axis=1)
    median = np.pad(medians, _NEIGHBOURS // 2, mode="edge")
    return np.where(np.abs(values - median) > _OUTLIER * _scatter(values), median, values)


def _scatter(values: Array) -> float:
    """Standard deviation as the differences of neighbours tell it, which neither steps nor outliers change much."""
    import numpy as np

    return max(float(np.median(np.abs(np.diff(values)))) / _NORMAL_MAD / math.sqrt(2), _LEAST_SCATTER)


def _cut(values: Array) -> list[int]:
    """Where `ruptures` cuts the series into levels: more often than it changed, as it knows no drift.

    :raises LacksRuptures: it isn't installed.
    """
    try:
        import ruptures
    except ImportError as error:
        raise LacksRuptures("Change points need ruptures: pip install 'pytest-roofline[history]'") from error

    search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_POINTS).fit((values / _scatter(values)).reshape(-1, 1))
    return [int(end) for end in search.predict(pen=2 * math.log(len(values)))[:-1]]


def _chance(logs: Array, model: LevelModel, fit: Fit, index: int) -> float:
    """Probability that a step of a fit looks so sure though there is none.

    As if there were none, each point beside it speaks within bounds, outliers too, around one level for both sides: who
    has many outliers has some in a row by chance.
    """
    import numpy as np

    places, step = fit.places, float(fit.coefficients()[_LINES + index])
    before, after = _beside(places, index, len(logs))
    level = model.fitted(fit)
    level[places[index] - before : places[index]] += step * after / (before + after)
    level[places[index] : places[index] + after] -= step * before / (before + after)
    most = _MOST * max(_scatter(logs), SESSIONS.deviation)
    bounded = LevelModel(level + np.clip(logs - level, -most, most))
    return bounded.fit(places).chance(_LINES + index)


def _surest(
    logs: Array, model: LevelModel, places: list[int], level: float, matters: float
) -> tuple[list[int], list[float]]:
    """Of the steps those that are left when the least sure one has been dropped until all are sure and matter, and how
    likely each is by chance.
    """
    while places:
        fit = model.fit(places)
        chances = [_chance(logs, model, fit, index) for index in range(len(places))]
        doubtful = [
            index
            for index, chance in enumerate(chances)
            if chance > level or abs(fit.coefficients()[_LINES + index]) < matters
        ]
        if not doubtful:
            return places, chances
        places = _without(places, max(doubtful, key=chances.__getitem__))
    return [], []


def _without(places: Sequence[int], index: int) -> list[int]:
    return [*places[:index], *places[index + 1 :]]


def _beside(places: Sequence[int], index: int, count: int) -> tuple[int, int]:
    """How many points the levels before and after a step have."""
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
    effect = model.fit(with_it).effect(_LINES + index, *_beside(with_it, index, len(model)))
    return least_detectable(effect, least, level)


class LevelModel:
    """The series in terms of cosines.

    A level that wanders by q from one point to the next has the variance q/(2 - 2 cos(pi k/n)) in the k-th, whatever
    it began from; scatter has the same in each.
    """

    def __init__(self, logs: Array) -> None:
        import numpy as np

        count = len(logs)
        self._logs = logs
        way = np.arange(count) / (count - 1)
        self._lines = [way, 4 * way * (1 - way)]
        self.values = self._cosines(logs)
        self.known = SESSIONS.freedom if _scatter(logs) < SESSIONS.deviation else 0.0
        frequencies = 2 - 2 * np.cos(np.pi * np.arange(1, count) / count)
        shared = np.asarray(_SHARED)[:, None, None]
        scatter = (1 - shared**2) / ((1 - shared) ** 2 + shared * frequencies)
        self.weights = (1 / (scatter + np.asarray(_WANDER)[:, None] / frequencies)).reshape(-1, count - 1)
        self._steps: dict[int, Array] = {}

    def __len__(self) -> int:
        return len(self._logs)

    def fit(self, places: Sequence[int]) -> Fit:
        """Fit a drift and steps before these points."""
        import numpy as np

        return Fit(self, np.stack([*map(self._cosines, self._lines), *map(self._step, places)], axis=1), tuple(places))

    def fitted(self, fit: Fit, wander: int | None = None) -> Array:
        """The logarithm of the level at each point, without what it wanders.

        :param wander: which way it is fitted. Default: the likeliest.
        """
        import numpy as np

        points = np.arange(len(self))
        columns = [*self._lines, *(points >= place for place in fit.places)]
        shape = np.stack(columns, axis=1) @ fit.coefficients(wander)
        return np.asarray(shape + (self._logs - shape).mean())

    def _step(self, place: int) -> Array:
        import numpy as np

        if place not in self._steps:
            self._steps[place] = self._cosines((np.arange(len(self)) >= place).astype(float))
        return self._steps[place]

    def _cosines(self, values: Array) -> Array:
        """Without the constant one, which is the level that the series began from."""
        from scipy import fft

        return fft.dct(values, norm="ortho")[1:]  # type: ignore[no-any-return]


class Fit:
    """Weighted least squares of a model, for each way to wander and to share; the likeliest of them is taken."""

    def __init__(self, model: LevelModel, columns: Array, places: tuple[int, ...]) -> None:
        import numpy as np

        self.places = places
        weighted = model.weights[:, :, None] * columns
        self._normal = weighted.transpose(0, 2, 1) @ columns
        right = weighted.transpose(0, 2, 1) @ model.values
        self._solved = np.linalg.solve(self._normal, right[..., None])[..., 0]
        squares = (model.weights * model.values**2).sum(axis=1) - (right * self._solved).sum(axis=1)
        known, count = model.known, len(model.values)
        self._size = known + count
        self._squares = known * SESSIONS.deviation**2 + np.maximum(squares, 0)
        self.freedom = self._size - columns.shape[1]
        self._likelihoods = (np.log(model.weights).sum(axis=1) - self._size * np.log(self._squares / self._size)) / 2
        self._wander = int(np.argmax(self._likelihoods))

    @property
    def likelihood(self) -> float:
        """The logarithm of it."""
        return float(self._likelihoods[self._wander])

    def coefficients(self, wander: int | None = None) -> Array:
        """Of the drift over the whole series, of its bend, and of each step."""
        return self._solved[self._wander if wander is None else wander]  # type: ignore[no-any-return]

    @cached_property
    def deviation(self) -> float:
        """Of the scatter."""
        return self._deviation(self._wander)

    def _deviation(self, wander: int) -> float:
        return math.sqrt(float(self._squares[wander]) / self.freedom)

    def effect(self, column: int, before: int, after: int, wander: int | None = None) -> Effect:
        """What a coefficient says.

        :param before: points of the level before a step; ``after`` likewise.
        :param wander: which way; 0 is neither to wander nor to share. Default: the likeliest.
        """
        import numpy as np

        which = self._wander if wander is None else wander
        deviation = self._deviation(which)
        return Effect(
            log_ratio=float(self._solved[which, column]),
            error=deviation * math.sqrt(float(np.linalg.inv(self._normal[which])[column, column])),
            freedom=self.freedom,
            deviation=deviation,
            drift=0.0,
            base_sessions=before,
            new_sessions=after,
        )

    def chance(self, column: int) -> float:
        """Probability of a coefficient at least as large if it were 0 (two-sided), by the way of wandering and sharing
        by which it is the least sure, among all that are nearly as likely as the likeliest.
        """
        import numpy as np
        from scipy import special

        errors = np.sqrt(self._squares / self.freedom * np.linalg.inv(self._normal)[:, column, column])
        near = self._likelihoods >= self.likelihood - _NEAR
        return float(2 * special.stdtr(self.freedom, -(np.abs(self._solved[:, column]) / errors)[near].min()))
