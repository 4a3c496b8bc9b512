"""The margin: the distance of the median of the rounds from the median of a very long run.

Step times drift, come in levels and are interrupted; and a loop that stops as soon as its margin looks small picks the
moments at which it is too small. Margins that allow for none of this hold in about half of the runs.

Rounds far out are drawn in first, to `OUTLYING` deviations from the median, with the deviation of the nearest three
quarters of the rounds: the median stays where it is, and how long a pause took doesn't count. What is left is treated
as for a mean, and made `MEDIAN_OVER_MEAN` times as wide. The estimate is the sum of two parts:

1. *What the rounds show.* The slow end of the series, its first 40 cosine coefficients (DCT-II), is compared with 13
   spectra: white, and white beside 1/f, 1/f^2 (wandering) or 1/f^4 (a trend) of four strengths. Under each of them the
   coefficients are independent and normal, and the error of the mean *for the long run*, with the part of the spectrum
   below one cycle a run, is known up to their scale. The spectra are weighed by how well they explain the coefficients,
   and the margin is a quantile of the resulting mixture of t distributions.
2. *What no round shows.* `UNSEEN_S` of time lost may always have been missed: a run of 5 s can't claim less than 1 %.

The approach follows U. Mueller and M. Watson, "Measuring Uncertainty about Long-Run Predictions", Review of Economic
Studies 83 (2016), and U. Mueller, "HAC Corrections for Strongly Autocorrelated Time Series", Journal of Business &
Economic Statistics 32 (2014). Weights, strengths and `UNSEEN_S` were chosen on synthetic series and one recording;
``benchmarks/margin_coverage.py`` measures how often the margin holds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_ROUNDS = 5
"""Fewer rounds support no claim."""

LARGEST = 0.5
"""A half width beyond this share of the median is no claim either."""

UNSEEN_S = 0.05
"""Time lost to interruptions too rare to be seen in a run: some scheduler slices, one page fault to disk."""

COEFFICIENTS = 40
"""Cosine coefficients looked at: slow wobble, up to 20 cycles a run."""

OUTLYING = 3.0
"""Deviations from the median beyond which a round tells of an interruption alone."""

_NEAREST = 0.75
"""Of the rounds, those that the deviation is of. With fewer, a second level of the times would be drawn in as well."""

_NORMAL_NEAREST = 1.1503
"""Their largest distance from the median in a normal distribution, over its standard deviation."""

MEDIAN_OVER_MEAN = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, of normal values: 1.2533."""

_STRENGTHS = (3.0, 10.0, 30.0, 100.0)
"""Of the slow part beside the white one, at the lowest frequency."""

# Of the slow part: exponent of its spectrum, what it adds unseen to the variance of the mean (in units of its strength
# and the white part's variance), and its weight beforehand.
_SHAPES = ((1, 4.0, 0.2), (2, 8.0, 0.15), (4, 15.0, 0.05))
_WHITE_WEIGHT = 0.6

_LAG_COEFFICIENTS = 8

_CLOSE = 3e-4
"""A step of Newton's method is the last once it is shorter: about its square is left, below 1e-7 of the half width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The median of a series of rounds and how well it is known.

    :param half_width_relative: of the confidence interval for the long-run median, relative to the median; None where
        the rounds support no claim, and ``reason`` tells why.
    :param autocorrelation_rounds: how many rounds tell as much as one independent one (at least 1).
    """

    median: float
    half_width_relative: float | None
    autocorrelation_rounds: float | None
    reason: str | None = None


def time_for(target: float, half_width: float, span_s: float) -> float:
    """Timed seconds that a series needs in all until its relative half width is ``target``, where it is ``half_width``
    after ``span_s``: the part for what no round shows falls with the time, the rest with its square root.
    """
    unseen = UNSEEN_S / span_s
    rest = max(0.0, half_width - unseen)
    root = (rest + math.sqrt(rest * rest + 4 * unseen * target)) / (2 * target)
    return span_s * root * root


class MarginEstimator:
    """Margins at one confidence. Made once, before timing starts: it imports scipy."""

    def __init__(self, confidence: float) -> None:
        import numpy as np
        from scipy import fft, special

        self._numpy = np
        self._cosine = fft.dct
        self._student = special.stdtr
        self._miss = 1 - confidence
        orders = np.arange(1, COEFFICIENTS + 1)
        spectra, unseen, weights = [np.ones(COEFFICIENTS)], [1.0], [_WHITE_WEIGHT]
        for exponent, share, weight in _SHAPES:
            for strength in _STRENGTHS:
                spectra.append(1 + strength / orders**exponent)
                unseen.append(1 + share * strength)
                weights.append(weight / len(_STRENGTHS))
        self._spectra = np.array(spectra)
        self._log_determinants = np.cumsum(np.log(self._spectra), axis=1)
        self._unseen = np.array(unseen)
        self._log_weights = np.log(weights)
        # For each number of coefficients: the half width of a single t distribution, and its density in the middle.
        freedoms = np.arange(1.0, COEFFICIENTS + 1)
        self._quantiles: list[float] = special.stdtrit(freedoms, 1 - self._miss / 2).tolist()
        peaks = np.exp(special.gammaln((freedoms + 1) / 2) - special.gammaln(freedoms / 2)) / np.sqrt(
            math.pi * freedoms
        )
        self._peaks: list[float] = peaks.tolist()

    def of(self, step_times: Sequence[float], span_s: float) -> Margin:
        """The margin of the median of ``step_times``, one value a round in the order they were taken.

        :param step_times: any unit; at least one.
        :param span_s: timed seconds of all rounds together.
        """
        times = self._numpy.asarray(step_times, dtype=float)
        count, median = len(times), statistics.median(step_times)
        if count < LEAST_ROUNDS:
            reason = f"{count} rounds; at least {LEAST_ROUNDS} are needed for a claim"
            return Margin(median=median, half_width_relative=None, autocorrelation_rounds=None, reason=reason)
        times = self._drawn_in(times, median)
        # Orthonormal: each squared coefficient of white noise has the noise's variance as its expectation.
        powers = self._cosine(times - times.mean(), type=2, norm="ortho")[1:] ** 2
        lag = self._autocorrelation(powers)
        half_width = MEDIAN_OVER_MEAN * self._half_width(powers[:COEFFICIENTS], count) / median + UNSEEN_S / span_s
        claimed = half_width <= LARGEST
        return Margin(
            median=median,
            half_width_relative=half_width if claimed else None,
            autocorrelation_rounds=lag,
            reason=None if claimed else f"the rounds spread so far that ±{half_width:.0%} would be claimed",
        )

    def _drawn_in(self, times: NDArray[np.float64], median: float) -> NDArray[np.float64]:
        """The times with those far out drawn in to `OUTLYING` deviations from the median."""
        distances = self._numpy.sort(abs(times - median))
        # `numpy.quantile` takes ten times as long as the sorting.
        below, part = divmod(_NEAREST * (len(times) - 1), 1)
        nearest = distances[int(below)] * (1 - part) + distances[int(below) + 1] * part
        reach = OUTLYING / _NORMAL_NEAREST * nearest
        return self._numpy.clip(times, median - reach, median + reach)

    def _half_width(self, powers: NDArray[np.float64], count: int) -> float:
        np = self._numpy
        known = len(powers)
        scales = (powers / self._spectra[:, :known]).sum(axis=1) / known
        if not scales.min() > 0:
            return 0.0  # all rounds took the same time
        log_evidence = self._log_weights - self._log_determinants[:, known - 1] / 2 - known / 2 * np.log(scales)
        weights = np.exp(log_evidence - log_evidence.max())
        weights /= weights.sum()
        errors = np.sqrt(scales * self._unseen / count)
        return self._quantile(errors, weights, known)

    def _quantile(self, errors: NDArray[np.float64], weights: NDArray[np.float64], freedom: int) -> float:
        """The distance beyond which the mixture lies with the probability that may be missed.

        Newton's method on the logarithms of the half width and of the probability, where tails are nearly straight
        lines. The half widths of the narrowest and of the widest part lie to either side of it: a step that would leave
        them, or what was learnt of them since, goes to their middle instead.
        """
        alone = self._quantiles[freedom - 1]
        low, high = alone * float(errors.min()), alone * float(errors.max())
        half_width = alone * float(weights @ errors)
        while True:
            outside, steepness = self._tail(half_width, errors, weights, freedom)
            if outside > self._miss:
                low = half_width
            else:
                high = half_width
            step = math.log(outside / self._miss) / steepness
            wanted = half_width * math.exp(step)
            if abs(step) < _CLOSE:
                return wanted
            half_width = wanted if low < wanted < high else math.sqrt(low * high)

    def _tail(
        self, half_width: float, errors: NDArray[np.float64], weights: NDArray[np.float64], freedom: int
    ) -> tuple[float, float]:
        """Probability that the long-run value lies further away than this, and by how many percent it falls where the
        half width grows by one.
        """
        distances = half_width / errors
        outside = float(2 * weights @ self._student(freedom, -distances))
        densities = self._peaks[freedom - 1] * (1 + distances * distances / freedom) ** (-(freedom + 1) / 2)
        return outside, float(2 * weights @ (distances * densities)) / outside

    def _autocorrelation(self, powers: NDArray[np.float64]) -> float:
        """Long-run variance over variance: the slowest coefficients' power over all coefficients'."""
        everything = powers.mean()
        return max(1.0, float(powers[:_LAG_COEFFICIENTS].mean() / everything)) if everything > 0 else 1.0


@cache
def estimator_of(confidence: float) -> MarginEstimator:
    """The one for a confidence, made once."""
    return MarginEstimator(confidence)
