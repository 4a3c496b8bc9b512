"""What earlier sessions tell of a machine's scatter and drift: by hand, and found again in what was drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import special, stats

from roofline.comparison.effects.effect import Prior, effect_of
from roofline.comparison.effects.learning import Learned, holds, learn, share_found
from roofline.comparison.observations.observation import Observation

ASSUMED = Prior(deviation=0.02, freedom=4.0, drift=0.75, hour_drift=0.75, unknown_error=0.05)


def _block(logs: Sequence[float], day: int = 1, error: float = 0.0, minutes: int = 10) -> list[Observation]:
    """Sessions that followed each other on a day."""
    return [
        Observation(
            value=math.exp(log),
            error=error,
            started_at=f"2026-11-{day:02}T{minutes * place // 60:02}:{minutes * place % 60:02}:00+00:00",
        )
        for place, log in enumerate(logs)
    ]


def _known(learned: Learned | None) -> Learned:
    assert learned is not None
    return learned


def test_one_case_by_hand() -> None:
    """Five sessions weigh as much as what is assumed: four degrees of freedom each, of which ten per cent are seen."""
    logs = [-0.1, -0.1, 0.0, 0.1, 0.1]
    learned = _known(learn({"a": [_block(logs, error=0.03)]}, ASSUMED))
    # Of one case the distribution has the assumed freedom; the unbiased log of its variance is that of the sample's.
    assumed, seen = 0.02**2 + 0.03**2, 0.04 / 4
    scale = (4 * assumed + 4 * seen) / 8
    assert learned.prior.deviation == pytest.approx(math.sqrt(scale))
    assert learned.prior.freedom == 4
    assert learned.prior.included_error == pytest.approx(0.03)
    assert learned.of("a").deviation == pytest.approx(math.sqrt((4 * scale + 0.04) / 8))
    assert learned.of("a").freedom == 8
    assert learned.of("never measured") == learned.prior
    assert learned.prior.drift == ASSUMED.drift
    assert (learned.sessions, learned.days) == (5, 1)


@pytest.mark.parametrize("beyond", [-0.1, 5e-7, 0.01])
def test_cases_that_scatter_about_as_far_apart_as_chance_has_it(beyond: float) -> None:
    """Then no more is known of their variances than their sessions tell."""
    logs = [-0.1, -0.1, 0.0, 0.1, 0.1]
    by_chance = float(special.polygamma(1, 4 / 2))
    apart = math.sqrt(0.75 * (by_chance + beyond))  # of each of four logarithms of variances, to either side
    cases = {str(case): [_block([log * math.exp((-1) ** case * apart / 2) for log in logs])] for case in range(4)}
    learned = _known(learn(cases, ASSUMED))
    assert learned.prior.freedom == pytest.approx(4 + 4)  # the cases move together and count as one


def test_the_drift_of_one_case_by_hand() -> None:
    """Two blocks whose means lie 0.2 apart. Their own variance counts once on either side of a comparison."""
    blocks = [*_block([-0.1, 0.1, -0.1, 0.1, 0.0], day=1), *_block([0.1, 0.3, 0.1, 0.3, 0.2], day=3)]
    learned = _known(learn({"a": [blocks]}, ASSUMED))
    variance = learned.of("a").deviation ** 2
    of_block = (10 * 0.1**2 / variance - 1) / 5  # ten sessions, means 0.1 from that of all; 10 - 50 / 10
    assert learned.prior.drift == pytest.approx(math.sqrt((4 * 0.75**2 + 2 * of_block) / 5))
    assert learned.prior.hour_drift == min(ASSUMED.hour_drift, learned.prior.drift)
    assert (learned.sessions, learned.days) == (10, 2)


def test_the_drift_within_an_hour_by_hand() -> None:
    """Ten sessions of one hour: the second five lie 0.08 above the first."""
    logs = [-0.1, 0.1, -0.1, 0.1, 0.0, -0.02, 0.18, -0.02, 0.18, 0.08]
    learned = _known(learn({"a": [_block(logs)]}, ASSUMED))
    of_part = (10 * 0.04**2 / learned.of("a").deviation ** 2 - 1) / 5
    assert learned.prior.hour_drift == pytest.approx(math.sqrt((4 * 0.75**2 + 2 * of_part) / 5))
    assert learned.prior.drift == ASSUMED.drift


def test_another_commit_is_no_drift() -> None:
    """What lies between the sessions of two commits may be the code."""
    before, after = _block([0.0, 0.1, 0.0, 0.1, 0.0], day=1), _block([5.0, 5.1, 5.0, 5.1, 5.0], day=2)
    learned = _known(learn({"a": [before, after]}, ASSUMED))
    assert learned.prior.drift == ASSUMED.drift
    assert learned.of("a").freedom == 4 + 8


def test_a_quiet_hour_makes_the_drift_between_hours_no_smaller() -> None:
    """Of 0.1 % scatter: the drift stays at 0.75 x 2 %. Within the hour it is in proportion to the scatter."""
    learned = _known(learn({str(case): [_block([0.001, -0.001] * 10)] for case in range(4)}, ASSUMED))
    for prior in (learned.prior, learned.of("0")):
        assert prior.deviation < 0.015
        assert prior.drift * prior.deviation == pytest.approx(0.75 * 0.02)
        assert prior.hour_drift <= 0.75


def test_too_few_sessions_tell_nothing() -> None:
    """Four that followed each other; or five, each hours after the one before."""
    assert learn({"a": [_block([0, 0.1, 0.2, 0.1])]}, ASSUMED) is None
    assert learn({"a": [_block([0, 0.1, 0.2, 0.1, 0], minutes=61)]}, ASSUMED) is None
    assert learn({}, ASSUMED) is None


def test_sessions_of_unknown_time_are_left_out() -> None:
    """They may be of any hour."""
    unknown = [Observation(value=1.0, error=0.0)] * 9
    assert learn({"a": [unknown]}, ASSUMED) is None


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_what_was_drawn_is_found_again(shared: float) -> None:
    """Twenty days of five sessions of thirty cases, whose standard deviations lie around 3 %, with a drift of half of
    it between the days; without a common hour, or with most of a session's deviation shared by its cases.
    """
    rng = np.random.default_rng(1)
    cases, days, a_day, freedom, drift = 30, 20, 5, 8.0, 0.5
    deviations = 0.03 * np.sqrt(freedom / rng.chisquare(freedom, cases))
    common = math.sqrt(shared) * rng.standard_normal((days, a_day))
    series: dict[str, list[list[Observation]]] = {}
    for case, deviation in enumerate(deviations):
        own = math.sqrt(1 - shared) * rng.standard_normal((days, a_day))
        of_day = drift / math.sqrt(2) * rng.standard_normal((days, 1))
        logs = deviation * (common + own + of_day)
        series[str(case)] = [[one for day in range(days) for one in _block(logs[day].tolist(), day=day + 1)]]
    learned = _known(learn(series, ASSUMED))
    assert learned.prior.deviation == pytest.approx(0.03, rel=0.15)
    assert 4 < learned.prior.freedom < 20
    assert learned.prior.drift == pytest.approx(drift, rel=0.25)
    found = np.array([learned.of(str(case)).deviation for case in range(cases)])
    assert np.abs(np.log(found / deviations)).mean() < 0.1


def test_an_hour_like_those_and_another() -> None:
    """By the comparison's own scatter, which two sessions a side don't show."""
    prior = Prior(deviation=0.02, freedom=20.0, drift=0.2, hour_drift=0.2, unknown_error=0.05)

    def effects(scatter: float, sessions: int) -> list[bool]:
        logs = [scatter * (-1) ** place for place in range(sessions)]
        return [holds([effect_of(_block(logs), _block(logs, day=2))] * 3, [prior] * 3)]

    assert effects(0.02, 4) == [True]
    assert effects(0.04, 4) == [False]
    assert effects(0.02, 2) == [False]
    assert not holds([], [])


def test_the_share_that_is_found() -> None:
    """As the noncentral t distribution has it, of what is slower."""
    prior = Prior(deviation=0.02, freedom=20.0, drift=0.5, hour_drift=0.5, unknown_error=0.05)
    distance = math.log(1.05) / (0.02 * math.sqrt(2 / 5 + 0.25))
    expected = stats.nct.sf(stats.t.isf(0.005, 28), 28, distance)
    assert share_found(prior, 0.05, 5, 0.99) == pytest.approx(expected)
