"""Measure how often `roofline history` tells a change where there is none, and how many it finds.

    python -m benchmarks history

**Unchanged code.** Of every recording in ``benchmarks/data`` (see `gate_record`) each case's sessions make a history, a
point a session: in the order they were taken, in blocks of a few neighbours drawn at random, and one by one, so that
histories of several lengths can be drawn. Beside them stand made ones: with normal and with heavy-tailed scatter, with
a level that drifts or wanders, and with scatter that neighbours share. Of each kind at most 1 % may have a change told;
those as they were taken are ten for each recording, of one hour, and have no bound. What a level may do
(`roofline.histories.level_model`) was chosen on the recording *quiet* and on the made ones; the others are its test.

**240 made histories** of 100 points with a scatter of 2 % and a slow drift of 3 %, up or down, straight or curved;
every tenth has a step of 8 % somewhere in the middle half. They are judged together, as a command judges what it reads:
at most two false alarms, and at least 22 of the 24 steps found within three points. The others should be told to drift.

How often the intervals hold what they are of is told, too, what is found of other slowdowns, and the time it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, Share
from benchmarks.gate_stored import recordings, see
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT
from roofline.histories.change_points import SHORTEST, FoundLevels, find_levels
from roofline.histories.judged_series import judge_all
from roofline.histories.series import Entry, Series

Values = NDArray[np.float64]
"""Logarithms of step times, in order of time."""

MOST_ALARMS = 0.01
LENGTHS = (12, 30, 100)
"""Points of a history."""
HISTORIES = 1000
"""Drawn of each kind and length."""
BLOCK = 4
"""Sessions that followed one another and are drawn together."""

MADE, POINTS, EVERY = 240, 100, 10
SCATTER, DRIFT, STEP = 0.02, 0.03, 0.08
NEAR = 3
"""Points between a step and where it was told, at most."""


def levels_of(values: Values) -> FoundLevels:
    """Judge a history by itself."""
    return find_levels(np.exp(values).tolist(), level=1 - CONFIDENCE, confidence=CONFIDENCE, least=LEAST_EFFECT)


def levels_together(histories: Sequence[Values]) -> list[FoundLevels]:
    """Judge histories together, as a command judges what it reads."""
    series = [
        Series(
            case=str(number),
            machine="",
            entries=tuple(Entry(sessions=(), step_time_s=time_s) for time_s in np.exp(values).tolist()),
        )
        for number, values in enumerate(histories)
    ]
    judged = {one.series.case: one.levels for one in judge_all(series, Settings())}
    found = [judged[one.case] for one in series]
    return [levels for levels in found if levels is not None]


def unchanged(rng: np.random.Generator, histories: int) -> Iterator[tuple[str, list[Values]]]:
    """Kinds of histories of unchanged code by name, and so many of each."""
    for label, recording in recordings().items():
        observed = [[one.value for one in series if one is not None] for series in see(recording.sessions).values()]
        recorded = [np.log(series) for series in observed if len(series) >= SHORTEST]
        if not recorded:
            continue
        yield f"{label}, as taken", recorded
        for length in LENGTHS:
            chosen = [recorded[index % len(recorded)] for index in range(histories)]
            if len(recorded[0]) >= LENGTHS[0]:
                yield f"{label}, {length} in blocks", [_in_blocks(series, length, rng) for series in chosen]
            yield f"{label}, {length} drawn", [rng.choice(series, length) for series in chosen]
    for name, make in KINDS.items():
        for length in LENGTHS:
            yield f"made, {length} {name}", [make(length, rng) for _ in range(histories)]


def _in_blocks(series: Values, length: int, rng: np.random.Generator) -> Values:
    starts = rng.integers(0, len(series) - BLOCK + 1, -(-length // BLOCK))
    return np.concatenate([series[start : start + BLOCK] for start in starts])[:length]


def _straight(length: int, rng: np.random.Generator) -> Values:
    return np.asarray(DRIFT * rng.choice((-1, 1)) * np.linspace(0, 1, length))


def _curved(length: int, rng: np.random.Generator) -> Values:
    """As far as a straight one, most of it in the middle."""
    return np.asarray(DRIFT * rng.choice((-1, 1)) * (1 - np.cos(np.pi * np.linspace(0, 1, length))) / 2)


def _normal(length: int, rng: np.random.Generator) -> Values:
    return rng.normal(0, SCATTER, length)


def _shared(length: int, rng: np.random.Generator) -> Values:
    """Scatter of which neighbours have 0.4 in common."""
    values = _normal(length, rng)
    for place in range(1, length):
        values[place] = 0.4 * values[place - 1] + (1 - 0.4**2) ** 0.5 * values[place]
    return values


KINDS: dict[str, Callable[[int, np.random.Generator], Values]] = {
    "normal": _normal,
    "quiet": lambda length, rng: rng.normal(0, 0.003, length),
    "heavy-tailed": lambda length, rng: SCATTER / 3**0.5 * rng.standard_t(3, length),
    "drifting": lambda length, rng: _straight(length, rng) + _normal(length, rng),
    "curved": lambda length, rng: _curved(length, rng) + _normal(length, rng),
    "there and back": lambda length, rng: DRIFT * np.sin(np.pi * np.linspace(0, 1, length)) + _normal(length, rng),
    "wandering": lambda length, rng: np.cumsum(rng.normal(0, 0.1 * SCATTER, length)) + _normal(length, rng),
    "shared scatter": _shared,
}


def made_histories(rng: np.random.Generator, count: int) -> Iterator[tuple[Values, int | None]]:
    """Histories that drift, and before which point each takes a step; None where it takes none."""
    for number in range(count):
        drift = (_straight, _curved)[number % 2](POINTS, rng)
        place = int(rng.integers(POINTS // 4, 3 * POINTS // 4 + 1)) if number % EVERY == 0 else None
        step = 0 if place is None else rng.choice((-1, 1)) * np.log1p(STEP) * (np.arange(POINTS) >= place)
        yield drift + step + _normal(POINTS, rng), place


def of_made(rng: np.random.Generator, count: int) -> Iterator[Figure]:
    """False alarms, steps found and drifts told among so many, and how often the intervals hold."""
    found = places = sizes = false = told = 0
    histories = list(made_histories(rng, count))
    together = levels_together([values for values, _ in histories])
    for levels, (_, place) in zip(together, histories, strict=True):
        near = [one for one in levels.changes if place is not None and abs(one.place - place) <= NEAR]
        false += len(levels.changes) - len(near[:1])
        told += int(place is None and levels.drifts and not levels.changes)
        if near and place is not None:
            found += 1
            places += int(near[0].earliest <= place <= near[0].latest)
            low, high = near[0].effect.interval(CONFIDENCE)
            sizes += int(low <= (1 + STEP) ** np.sign(near[0].effect.log_ratio) <= high)
    steps = sum(place is not None for _, place in histories)
    title = f"{count} made histories"
    yield Figure(name=f"false alarms, {title}", unit="", samples=(float(false),), at_most=2.0 * count / MADE)
    yield Figure.of_share(f"steps found within {NEAR} points, {title}", Share(found, steps), at_least=22 / 24)
    yield Figure.of_share(f"told to drift, {title}", Share(told, count - steps), at_least=0.8)
    if found:
        yield Figure.of_share(f"place within its interval, {title}", Share(places, found))
        yield Figure.of_share(f"size within its interval, {title}", Share(sizes, found))


def found_of(size: float, scatter: float, length: int, rng: np.random.Generator, count: int) -> Share:
    """Steps of a size before the last quarter of a history that are told as slower."""
    place = 3 * length // 4
    step = np.log1p(size) * (np.arange(length) >= place)
    seen = [levels_of(step + rng.normal(0, scatter, length)).changes for _ in range(count)]
    return Share(sum(any(one.effect.log_ratio > 0 for one in changes) for changes in seen), count)


def _seconds_each(length: int, rng: np.random.Generator, count: int) -> Sequence[float]:
    taken = []
    for _ in range(count):
        values = _normal(length, rng)
        began = time.perf_counter()
        levels_of(values)
        taken.append(time.perf_counter() - began)
    return taken


def run(*, quick: bool = False) -> tuple[Figure, ...]:
    """Every rate."""
    rng = np.random.default_rng(0)
    histories = 10 if quick else HISTORIES
    figures = []
    for name, drawn in unchanged(rng, histories):
        alarms = Share(sum(bool(levels_of(values).changes) for values in drawn), len(drawn))
        most = MOST_ALARMS if len(drawn) == histories else None
        figures.append(Figure.of_share(f"false alarms, {name}", alarms, at_most=most))
    figures += of_made(rng, 20 if quick else MADE)
    figures += [] if quick else of_made(rng, 10 * MADE)
    for scatter in (0.003, 0.01, 0.02):
        for size in (0.03, 0.05, 0.1):
            share = found_of(size, scatter, 40, rng, histories // 4)
            figures.append(Figure.of_share(f"found of {size:.0%} slower, scatter {scatter:.1%}, 40 points", share))
    for length in (100, 1000):
        samples = tuple(_seconds_each(length, rng, 5))
        figures.append(Figure(name=f"time of a history of {length} points", unit="s", samples=samples))
    return tuple(figures)
