"""The margin of the median: exact small cases, and what it must see."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import fft, optimize, stats

from roofline.timing.margin import LARGEST, LEAST_ROUNDS, UNSEEN_S, MarginEstimator, time_for

ESTIMATOR = MarginEstimator(0.95)
LONG_S = 1e9
"""A span in which nothing rare is unseen."""


def _white(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.0, 0.02, count)


def _half_width(times: np.ndarray, span_s: float = LONG_S) -> float:
    found = ESTIMATOR.of(times.tolist(), span_s).half_width_relative
    assert found is not None
    return found


@pytest.mark.parametrize("count", [1, LEAST_ROUNDS - 1])
def test_few_rounds_support_no_claim(count: int) -> None:
    """With fewer than five rounds there is a median, no margin, and the reason."""
    margin = ESTIMATOR.of([2.0] * count, 1.0)
    assert margin.median == 2.0
    assert margin.half_width_relative is None
    assert margin.reason == f"{count} rounds; at least 5 are needed for a claim"


def test_equal_rounds_leave_what_is_unseen() -> None:
    """Even a series without any spread may have missed an interruption of 50 ms."""
    margin = ESTIMATOR.of([0.25] * 20, 5.0)
    assert margin.half_width_relative == UNSEEN_S / 5.0 == 0.01
    assert margin.autocorrelation_rounds == 1.0


def test_the_unseen_is_added() -> None:
    """A shorter span claims less, by exactly the difference of the two shares."""
    times = _white(30)
    assert _half_width(times, 2.0) - _half_width(times, 4.0) == pytest.approx(UNSEEN_S / 2 - UNSEEN_S / 4)


def test_never_less_than_independent_rounds_would_have() -> None:
    """Allowing for drift widens the textbook's t interval, for every one of many white series."""
    for seed in range(50):
        times = _white(40, seed)
        textbook = stats.t.ppf(0.975, 39) * times.std(ddof=1) / math.sqrt(40) / times.mean()
        assert _half_width(times) > textbook


def test_long_white_series_get_a_margin_of_the_order_of_the_textbook() -> None:
    """Noise without memory is recognised: the median over many is below four textbook margins."""
    ratios = []
    for seed in range(50):
        times = _white(400, seed)
        ratios.append(_half_width(times) / (1.96 * 0.02 / math.sqrt(400)))
    assert np.median(ratios) < 4


def test_order_matters() -> None:
    """The same values tell less of the mean when they come in slow swings than shuffled."""
    rng = np.random.default_rng(1)
    slow = 1 + 0.02 * np.sin(np.arange(90) / 9) + 0.002 * rng.standard_normal(90)
    assert _half_width(slow) > 3 * _half_width(rng.permutation(slow))


def test_a_pure_drift_may_go_on() -> None:
    """A series that only climbs has no mean yet: it is not known better than by a quarter of the range seen."""
    times = np.linspace(0.99, 1.01, 60)
    assert _half_width(times) > 0.005


def test_time_that_a_margin_needs() -> None:
    """Twice the time for half of what is unseen, four times for half of what the rounds show."""
    assert time_for(0.01, half_width=UNSEEN_S / 2.5, span_s=2.5) == pytest.approx(5.0)
    assert time_for(0.01, half_width=UNSEEN_S / 1e6 + 0.02, span_s=1e6) == pytest.approx(4e6, rel=1e-4)


def test_how_far_beyond_three_deviations_a_round_lies_does_not_matter() -> None:
    """Half the rounds at 0.99 and half at 1.01: three deviations end at 1.026, four at 1.035."""
    within, beyond, far = (_half_width(np.array([0.99, 1.01] * 10 + [0.99, last])) for last in (1.02, 1.03, 1.3))
    assert within < beyond == far


def test_a_hopeless_spread_is_no_claim() -> None:
    """A margin beyond half the mean isn't one, and the reason says how wide it would be."""
    margin = ESTIMATOR.of([1.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 9.0], 10.0)
    assert margin.half_width_relative is None
    assert margin.reason is not None
    assert "would be claimed" in margin.reason
    assert LARGEST == 0.5


def test_autocorrelation_of_slow_levels() -> None:
    """Ten rounds in a row at one level tell about as much as one."""
    times = np.repeat(_white(12), 10)
    margin = ESTIMATOR.of(times.tolist(), LONG_S)
    assert margin.autocorrelation_rounds is not None
    assert 4 < margin.autocorrelation_rounds < 25


def test_wobble_around_the_mean_is_not_held_against_it() -> None:
    """Rounds that alternate average out: never more than one round's worth of correlation."""
    times = 1 + 0.05 * (-1.0) ** np.arange(100)
    margin = ESTIMATOR.of(times.tolist(), LONG_S)
    assert margin.autocorrelation_rounds == 1.0
    assert _half_width(times) < 0.005


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_margin_holds_for_persistent_noise(memory: float) -> None:
    """In at least 93 of 100 fixed draws of 60 rounds the true median lies within the margin."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(100):
        shocks = 0.02 * math.sqrt(1 - memory**2) * rng.standard_normal(160)
        values = np.empty(160)
        state = 0.0
        for index, shock in enumerate(shocks):
            state = memory * state + shock
            values[index] = state
        times = 1 + values[100:]
        held += abs(np.median(times) - 1) <= _half_width(times) * np.median(times)
    assert held >= 93


def _by_bisection(times: np.ndarray, confidence: float) -> float:
    """The half width over the mean, of what the module's first lines say and nothing else, by halving an interval."""
    median = np.median(times)
    reach = 3 / 1.1503 * np.quantile(abs(times - median), 0.75)
    drawn = times.clip(median - reach, median + reach)
    powers = fft.dct(drawn - drawn.mean(), norm="ortho")[1:41] ** 2
    known, orders = len(powers), np.arange(1, len(powers) + 1)
    shapes = [(np.ones(known), 1.0, 0.6)] + [
        (1 + strength / orders**exponent, 1 + unseen * strength, weight / 4)
        for exponent, unseen, weight in ((1, 4.0, 0.2), (2, 8.0, 0.15), (4, 15.0, 0.05))
        for strength in (3.0, 10.0, 30.0, 100.0)
    ]
    scales = np.array([(powers / spectrum).mean() for spectrum, _, _ in shapes])
    evidence = np.array(
        [
            math.log(weight) - np.log(spectrum).sum() / 2 - known / 2 * math.log(scale)
            for (spectrum, _, weight), scale in zip(shapes, scales, strict=True)
        ]
    )
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    errors = np.sqrt(scales * np.array([unseen for _, unseen, _ in shapes]) / len(times))

    def too_likely(half_width: float) -> float:
        return float(2 * weights @ stats.t.sf(half_width / errors, known)) - (1 - confidence)

    return (
        float(optimize.bisect(too_likely, 0.0, 1e6 * errors.max(), xtol=1e-15, rtol=1e-12))
        * math.sqrt(math.pi / 2)
        / median
    )


@pytest.mark.parametrize("confidence", [0.5, math.erf(math.sqrt(0.5)), 0.95, 0.99, 0.9999])
@pytest.mark.parametrize("count", [LEAST_ROUNDS, 12, 40, 41, 300])
def test_it_is_the_mixture_s_quantile(count: int, confidence: float) -> None:
    """To a millionth, however the series behaves: without memory, wandering, climbing, in two levels, interrupted."""
    rng = np.random.default_rng(count)
    noise, rounds = rng.standard_normal((4, count)), np.arange(count)
    levels, interrupted = np.where(rounds < count / 3, 1.0, -1.0), np.where(rounds % 7 == 3, 9.0, 0.01 * noise[3])
    climbing = np.linspace(-3, 3, count) + noise[2] / 50
    shapes = [noise[0], noise[1].cumsum() / 3, climbing, levels, interrupted]
    for shape in shapes:
        times = 1 + 1e-5 * shape
        found = MarginEstimator(confidence).of(times.tolist(), math.inf).half_width_relative
        assert found == pytest.approx(_by_bisection(times, confidence), rel=1e-6)
