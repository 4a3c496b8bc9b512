"""The difference of two sides and its standard error, against closed forms."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from roofline.comparison.effects.effect import Effect, Prior, blocks, effect_of
from roofline.comparison.observations.observation import Observation

NOTHING = Prior(deviation=0.0, freedom=0.0, drift=0.0, hour_drift=0.0, unknown_error=0.0)
"""Nothing is known beforehand: the textbook's t test."""


def session(step_time_s: float, error: float | None = 0.0, started_at: str = "") -> Observation:
    return Observation(value=step_time_s, error=error, started_at=started_at)


def side(*step_times_s: float) -> list[Observation]:
    return [session(time) for time in step_times_s]


def test_without_a_prior_it_is_students_test() -> None:
    """Ratio, chance and interval are those of the pooled t test of the logarithms."""
    base, new = (1.0, 1.04, 0.98), (1.3, 1.28, 1.33, 1.31)
    effect = effect_of(side(*base), side(*new), NOTHING)
    expected = stats.ttest_ind([math.log(time) for time in new], [math.log(time) for time in base])
    assert effect.ratio == pytest.approx(math.exp(sum(map(math.log, new)) / 4 - sum(map(math.log, base)) / 3))
    assert effect.chance == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.99)
    assert effect.interval(0.99) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert (effect.base_sessions, effect.new_sessions) == (3, 4)


def test_one_session_a_side_knows_the_prior_alone() -> None:
    """Scatter between sessions, and what the rounds leave open, from two sides: all four variances add."""
    prior = Prior(deviation=0.03, freedom=4.0, drift=0.0, hour_drift=0.0, unknown_error=1.0)
    effect = effect_of([session(1.0, 0.04)], [session(2.0, 0.04)], prior)
    assert effect.log_ratio == pytest.approx(math.log(2))
    assert effect.error == pytest.approx(math.sqrt(2) * 0.05)
    assert effect.freedom == 4.0


def test_sessions_moderate_the_prior() -> None:
    """The variance is the mean of the prior's and the sessions', weighed by their degrees of freedom."""
    prior = Prior(deviation=0.02, freedom=4.0, drift=0.0, hour_drift=0.0, unknown_error=0.0)
    spread = math.exp(0.1)
    effect = effect_of(side(1.0, spread), side(1.0, spread), prior)
    scatter = 4 * 0.05**2
    assert effect.freedom == 6.0
    assert effect.deviation == pytest.approx(math.sqrt((4 * 0.02**2 + scatter) / 6))
    assert effect.error == pytest.approx(effect.deviation)


def test_a_session_that_cannot_tell_its_error() -> None:
    """Then the prior's is taken."""
    prior = Prior(deviation=0.0, freedom=4.0, drift=0.0, hour_drift=0.0, unknown_error=0.05)
    assert effect_of([session(1.0, None)], [session(1.0, None)], prior).deviation == pytest.approx(0.05)
    assert effect_of([session(1.0, 0.0)], [session(1.0, 0.0)], prior).deviation == 0.0
    assert effect_of([session(1.0, None)], [session(1.0, None)]).deviation == pytest.approx(math.hypot(0.02, 0.05))


def test_drift_stays_however_many_sessions() -> None:
    """Sides that lie apart in time share no drift: a thousand sessions don't make the error smaller than it."""
    prior = Prior(deviation=0.02, freedom=4.0, drift=0.5, hour_drift=0.5, unknown_error=0.0)
    apart = effect_of(side(*[1.0, 1.02] * 500), side(*[1.0, 1.02] * 500), prior)
    assert apart.drift == pytest.approx(0.5 * apart.deviation)
    assert apart.drift < apart.error < 1.01 * apart.drift


@pytest.mark.parametrize(("began", "drift"), [("11:00", 0.25), ("11:01", 0.5)])
def test_sessions_of_one_hour_have_the_drift_of_an_hour(began: str, drift: float) -> None:
    """Where more than an hour lies between two, a machine had the time to change."""
    prior = Prior(deviation=0.02, freedom=4.0, drift=0.5, hour_drift=0.25, unknown_error=0.0)
    sides = [[session(1.0, started_at=f"2026-01-01T{at}")] for at in ("10:00", began)]
    effect = effect_of(*sides, prior)
    assert effect.drift == pytest.approx(drift * effect.deviation)


def test_taking_turns_takes_drift_away() -> None:
    """A B A B: of two blocks a side each draw counts half, so half of the drift's variance stays."""
    times = [session(1.0, started_at=f"2026-01-0{day}") for day in (1, 2, 3, 4)]
    in_turns = effect_of([times[0], times[2]], [times[1], times[3]])
    after_each_other = effect_of(times[:2], times[2:])
    assert in_turns.drift**2 == pytest.approx(after_each_other.drift**2 / 2)


def test_a_late_session_hardly_takes_drift_away() -> None:
    """Nine of the base, ten new, one of the base: the base's blocks weigh 0.9 and 0.1."""
    times = [session(1.0, started_at=f"2026-01-{day:02}") for day in range(1, 21)]
    late = effect_of([*times[:9], times[19]], times[9:19])
    after_each_other = effect_of(times[:10], times[10:])
    assert late.drift**2 == pytest.approx(after_each_other.drift**2 * (0.9**2 + 0.1**2 + 1) / 2)


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ("12", "34", ([1.0], [1.0])),
        ("34", "12", ([1.0], [1.0])),
        ("13", "24", ([0.5, 0.5], [0.5, 0.5])),
        ("14", "23", ([0.5, 0.5], [1.0])),
        ("1256", "3", ([0.5, 0.5], [1.0])),
        ("1346", "25", ([0.25, 0.5, 0.25], [0.5, 0.5])),
    ],
)
def test_blocks(base: str, new: str, expected: tuple[list[float], list[float]]) -> None:
    """In the order in which sessions began, whatever the order they are given in."""
    sides = [[session(1, started_at=at) for at in reversed(times)] for times in (base, new)]
    assert blocks(*sides) == expected


@pytest.mark.parametrize(("first", "second"), [("1", ""), ("", "3"), ("", "")])
def test_blocks_unknown(first: str, second: str) -> None:
    """A session that doesn't say when it began: the sides may lie apart."""
    base = [session(1, started_at=at) for at in (first, second)]
    assert blocks(base, [session(1, started_at="2")]) == ([1.0], [1.0])


def test_the_sides_can_be_swapped() -> None:
    """What is slower one way is as much faster the other way."""
    one, two = side(1.0, 1.1), side(1.2, 1.3, 1.25)
    forth, back = effect_of(one, two), effect_of(two, one)
    assert isinstance(forth, Effect)
    assert forth.log_ratio == pytest.approx(-back.log_ratio)
    assert forth.chance == pytest.approx(back.chance)
