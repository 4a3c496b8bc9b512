"""How far the mean of the rounds may lie from the mean of a very long run.

Step times of real machines are not independent draws. They drift over seconds and minutes, they come in levels, they
are interrupted; and a loop that stops as soon as its margin looks small picks the moments at which it is too small.
Textbook margins (standard error, a few batch means) hold in 40 to 70 % of such runs instead of 95 %.

The estimate here is made of two parts that are added:

1. *What the rounds show.* The slow end of the series, its first 24 cosine coefficients (DCT-II), is compared with 11
   spectra: white; white and 1/f of five strengths; white and 1/f^2 of five strengths. Under each the coefficients are
   independent and normal, the scale is unknown, and the error of the mean *for the long run* is known up to that
   scale: it includes the part of the spectrum that lies below one cycle a run, which a run can't see, for a long run of
   some 30 to 100 times the length. The spectra are weighed by how well they explain the coefficients; the margin is a
   quantile of the resulting mixture of t distributions. White noise is seen to be white in long runs and gets a margin
   of 1.3 to 2 times the textbook's; a series that drifts gets one many times as wide.
2. *What no round shows.* A run in which nothing happened says little of rare interruptions: `UNSEEN_S` of time
   lost may always have been missed. So a run of 5 s can't claim less than 1 %.

The approach (low-frequency cosine coefficients, a mixture over the unknown persistence, prediction of a long-run mean)
follows U. Mueller and M. Watson, "Measuring Uncertainty about Long-Run Predictions", Review of Economic Studies 83
(2016); the use of few cosine coefficients with a t quantile, U. Mueller, "HAC Corrections for Strongly Autocorrelated
Time Series", Journal of Business & Economic Statistics 32 (2014). Weights, strengths and `UNSEEN_S` were chosen on
synthetic series (autoregressive, 1/f, bursts, levels, slow waves) and one recording; coverage is measured by
``benchmarks/margin_coverage.py``, with the product's own loop deciding when to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_ROUNDS = 5
"""Fewer rounds support no claim."""

LARGEST = 0.5
"""A half width beyond this share of the mean is no claim either."""

UNSEEN_S = 0.05
"""Time lost to interruptions too rare to be seen in a run: a tenth of a second's half."""

COEFFICIENTS = 24
"""Cosine coefficients looked at. Faster wobble than 12 cycles a run says nothing of the mean."""

_STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0)
"""Of the slow part beside the white one, at the lowest frequency."""

# exponent of the slow part, its unseen share of the mean's variance (a multiple of its strength), weight beforehand
_SHAPES = ((1, 4.0, 0.2), (2, 16.0, 0.2))
_WHITE_WEIGHT = 0.6

_LAG_COEFFICIENTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """The mean of a series of rounds and how well it is known.

    :param half_width_relative: of the confidence interval for the long-run mean, relative to the mean; None where the
        rounds support no claim.
    :param autocorrelation_rounds: how many rounds tell as much as one independent one (at least 1).
    :param effective_rounds: number of independent rounds that would tell as much.
    """

    mean: float
    half_width_relative: float | None
    autocorrelation_rounds: float | None
    effective_rounds: float | None


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

    def of(self, step_times: Sequence[float], span_s: float) -> Margin:
        """The margin of the mean of ``step_times``, one value a round in the order they were taken.

        :param step_times: any unit; at least one.
        :param span_s: timed seconds of all rounds together.
        """
        times = self._numpy.asarray(step_times, dtype=float)
        count, mean = len(times), float(times.mean())
        if count < LEAST_ROUNDS:
            return Margin(mean=mean, half_width_relative=None, autocorrelation_rounds=None, effective_rounds=None)
        # Orthonormal: each squared coefficient of white noise has the noise's variance as its expectation.
        powers = self._cosine(times - mean, type=2, norm="ortho")[1:] ** 2
        lag = self._autocorrelation(powers)
        half_width = self._half_width(powers[:COEFFICIENTS], count) / mean + UNSEEN_S / span_s
        return Margin(
            mean=mean,
            half_width_relative=half_width if half_width <= LARGEST else None,
            autocorrelation_rounds=lag,
            effective_rounds=count / lag,
        )

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
        # The tail probability falls with the half width: bisect.
        low, high = 0.0, float(errors.max())
        while self._outside(high, errors, weights, known) > self._miss:
            low, high = high, 2 * high
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            if self._outside(middle, errors, weights, known) > self._miss:
                low = middle
            else:
                high = middle
        return high

    def _outside(
        self, half_width: float, errors: NDArray[np.float64], weights: NDArray[np.float64], freedom: int
    ) -> float:
        """Probability that the long-run mean lies further away than this."""
        return float(2 * weights @ self._student(freedom, -half_width / errors))

    def _autocorrelation(self, powers: NDArray[np.float64]) -> float:
        """Long-run variance over variance: the slowest coefficients' power over all coefficients'."""
        everything = powers.mean()
        return max(1.0, float(powers[:_LAG_COEFFICIENTS].mean() / everything)) if everything > 0 else 1.0
