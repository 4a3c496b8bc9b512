"""Synthetic step times with known long-run medians: each kind of trouble by itself (see `margin_coverage`).

Steps take 20 ms on average, so five make a round of 0.1 s. All noise is relative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

STEP_S = 0.02

_LONG_S = 5000.0
"""Drawn to find a median that no formula tells."""

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Series:
    """Draws of one process.

    :param noise: relative deviations of so many steps; need not have the mean 0.
    :param middle: of the noise, where its rounds lie alike to either side of it; None where they don't.
    """

    noise: Noise
    middle: float | None = 0.0

    def median_of(self, steps: int) -> float:
        """Long-run median of the step time in seconds, by rounds of so many steps."""
        return STEP_S * (1 + self.middle) if self.middle is not None else self._drawn(steps)

    @cache  # noqa: B019 (the series are constants of this module)
    def _drawn(self, steps: int) -> float:
        times = self(np.random.default_rng(1), _LONG_S)
        rounds = times[: len(times) // steps * steps].reshape(-1, steps)
        return float(np.median(rounds.mean(axis=1)))

    def __call__(self, rng: np.random.Generator, seconds: float) -> NDArray[np.float64]:
        """Step times of at least ``seconds``."""
        count = int(1.2 * seconds / STEP_S)
        return STEP_S * np.maximum(1 + self.noise(rng, count), 0.05)


def white(deviation: float) -> Noise:
    return lambda rng, count: deviation * rng.standard_normal(count)


def skewed(deviation: float) -> Noise:
    """Log-normal, of mean 0."""
    return lambda rng, count: np.expm1(deviation * rng.standard_normal(count) - deviation**2 / 2)


def persistent(deviation: float, seconds: float) -> Noise:
    """First-order autoregressive, with this time constant, plus a little white noise."""

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        memory = np.exp(-STEP_S / seconds)
        shocks = deviation * np.sqrt(1 - memory**2) * rng.standard_normal(count)
        values = np.empty(count)
        state = deviation * rng.standard_normal()
        for index, shock in enumerate(shocks):
            state = memory * state + shock
            values[index] = state
        return values + 0.01 * rng.standard_normal(count)

    return draw


def flicker(deviation: float) -> Noise:
    """About 1/f from 0.2 s to 200 s: a sum of persistent parts, an octave and a half apart."""
    parts = [persistent(deviation / np.sqrt(8), seconds) for seconds in np.geomspace(0.05, 60.0, 8)]

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        total: NDArray[np.float64] = np.stack([part(rng, count) for part in parts]).sum(axis=0)
        return total

    return draw


def bursts(per_s: float, seconds: float, slowdown: float) -> Series:
    """Interruptions that come at random (Poisson), last so long on average and slow every step in them down."""
    begin, end = per_s * STEP_S, STEP_S / seconds

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        busy = _two_states(rng, count, begin, end)
        return slowdown * busy + 0.01 * rng.standard_normal(count)

    return Series(draw, None)


def levels(seconds: float, apart: float) -> Series:
    """Two levels, each held so long on average."""
    change = STEP_S / seconds

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        return apart * _two_states(rng, count, change, change) + 0.01 * rng.standard_normal(count)

    return Series(draw, apart / 2)


def wave(seconds: float, amplitude: float) -> Noise:
    """A sine of this period and random phase."""

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        phase = 2 * np.pi * (np.arange(count) * STEP_S / seconds + rng.random())
        values: NDArray[np.float64] = amplitude * np.sin(phase) + 0.01 * rng.standard_normal(count)
        return values

    return draw


def _two_states(rng: np.random.Generator, count: int, begin: float, end: float) -> NDArray[np.float64]:
    """A stationary chain of 0 and 1 with these probabilities of change a step."""
    draws = rng.random(count)
    state = rng.random() < begin / (begin + end)
    values = np.empty(count)
    for index, draw in enumerate(draws):
        state = draw >= end if state else draw < begin
        values[index] = state
    return values


SERIES: dict[str, Series] = {
    "white 1 %": Series(white(0.01)),
    "white 10 %": Series(white(0.10)),
    "log-normal 20 %": Series(skewed(0.20), None),
    "persistent 2 % over 0.3 s": Series(persistent(0.02, 0.3)),
    "persistent 2 % over 1 s": Series(persistent(0.02, 1.0)),
    "persistent 2 % over 3 s": Series(persistent(0.02, 3.0)),
    "persistent 1 % over 10 s": Series(persistent(0.01, 10.0)),
    "1/f 1 %": Series(flicker(0.01)),
    "1/f 3 %": Series(flicker(0.03)),
    "bursts 3/s of 40 ms +100 %": bursts(3.0, 0.04, 1.0),
    "bursts 1/s of 0.1 s +30 %": bursts(1.0, 0.1, 0.3),
    "bursts 0.3/s of 0.2 s +30 %": bursts(0.3, 0.2, 0.3),
    "levels 5 % apart for 1 s": levels(1.0, 0.05),
    "levels 5 % apart for 3 s": levels(3.0, 0.05),
    "wave 2 % of 5 s": Series(wave(5.0, 0.02)),
    "wave 2 % of 20 s": Series(wave(20.0, 0.02)),
}
