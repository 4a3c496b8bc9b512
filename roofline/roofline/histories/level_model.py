"""The model of a series of times: a level that drifts, wanders and takes steps, and scatter around it.

The logarithm of a step time is a level, which drifts along a line that may bend, wanders at random and takes steps,
plus scatter, of which neighbours share a part. A level that wanders with scatter around it is the local level model of
A. Harvey, "Forecasting, Structural Time Series Models and the Kalman Filter" (1989), and a step in it his level
intervention. In terms of cosines (DCT-II) what wanders is independent, and scatter that is shared nearly so: the fit is
a weighted least squares. How far the level wanders and how much is shared is tried out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from roofline.comparison.effects.effect import SESSIONS, Effect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_WANDER = (0.0, 0.001, 0.003, 0.01, 0.03, 1.0)
"""Variances tried of what the level wanders from one point to the next, over that of the scatter. The last is for a
machine whose hours differ as much as its sessions: few points don't rule it out, many do.
"""

_SHARED = (0.0, 0.2, 0.4, 0.6)
"""Correlations tried of the scatter of neighbours."""

_NORMAL_MAD = 0.6745
"""Median of the absolute values of a normal distribution, over its standard deviation."""

LINES = 2
"""Columns of a fit before those of the steps: what the level drifts over the whole series, and how that bends."""

_LEAST_SCATTER = 1e-6
"""Relative: what is taken for the scatter of times that are all the same."""

_NEAR = 3.0
"""Of a logarithm of the likelihood: what lies further below the largest is ruled out. Of two parameters, how far the
level wanders and how much is shared, this leaves 95 %: half of the quantile of chi-squared with two degrees of freedom.
"""


def scatter_of(values: Array) -> float:
    """Standard deviation as the differences of neighbours tell it, which neither steps nor outliers change much."""
    import numpy as np

    return max(float(np.median(np.abs(np.diff(values)))) / _NORMAL_MAD / math.sqrt(2), _LEAST_SCATTER)


@lru_cache(maxsize=64)
def _weights(count: int) -> tuple[Array, Array]:
    """Of each cosine of so many points, by each way to wander and to share; and the sums of their logarithms."""
    import numpy as np

    frequencies = 2 - 2 * np.cos(np.pi * np.arange(1, count) / count)
    shared = np.asarray(_SHARED)[:, None, None]
    scatter = (1 - shared**2) / ((1 - shared) ** 2 + shared * frequencies)
    weights = (1 / (scatter + np.asarray(_WANDER)[:, None] / frequencies)).reshape(-1, count - 1)
    return weights, np.log(weights).sum(axis=1)


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
        self.known = SESSIONS.freedom if scatter_of(logs) < SESSIONS.deviation else 0.0
        self.weights, self.log_weights = _weights(count)
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
        self._squares = known * SESSIONS.deviation**2 + np.maximum(squares, count * _LEAST_SCATTER**2)
        self.freedom = self._size - columns.shape[1]
        self._likelihoods = (model.log_weights - self._size * np.log(self._squares / self._size)) / 2
        self._wander = int(np.argmax(self._likelihoods))

    @property
    def likelihood(self) -> float:
        """The logarithm of it."""
        return float(self._likelihoods[self._wander])

    def coefficients(self, wander: int | None = None) -> Array:
        """Of the drift over the whole series, of its bend, and of each step."""
        return self._solved[self._wander if wander is None else wander]  # type: ignore[no-any-return]

    def deviation(self, wander: int | None = None) -> float:
        """Of the scatter."""
        return math.sqrt(float(self._squares[self._wander if wander is None else wander]) / self.freedom)

    def effect(self, column: int, before: int, after: int, wander: int | None = None) -> Effect:
        """Give the effect that a coefficient is.

        :param before: points of the level before a step; ``after`` likewise.
        :param wander: which way; 0 is neither to wander nor to share. Default: the likeliest.
        """
        import numpy as np

        which = self._wander if wander is None else wander
        deviation = self.deviation(which)
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
