"""Steps, drifts and outliers of made series: what is told of each, and how surely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from roofline.histories.change_points import FoundLevels, find_levels
from roofline.histories.level_model import LevelModel

pytest.importorskip("ruptures", reason="needs the extra history")


def find(logs: Any, **changes: Any) -> FoundLevels:
    settings: dict[str, Any] = {"level": 0.01, "confidence": 0.99, "least": 0.02, **changes}
    return find_levels(np.exp(np.asarray(logs)).tolist(), **settings)


def scatter(count: int, deviation: float = 0.02, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(0, deviation, count)


def step(count: int, place: int, size: float) -> Any:
    return math.log1p(size) * (np.arange(count) >= place)


def test_a_step_is_told_with_its_place_and_size() -> None:
    """Both intervals hold what was put in."""
    levels = find(scatter(60) + step(60, 40, 0.08))
    (change,) = levels.changes
    assert abs(change.place - 40) <= 1
    assert change.earliest <= 40 <= change.latest
    low, high = change.effect.interval(0.99)
    assert low < 1.08 < high
    assert (change.effect.base_sessions, change.effect.new_sessions) == (change.place, 60 - change.place)
    assert levels.scatter == pytest.approx(0.02, rel=0.25)


def test_steps_up_and_down_are_told_apart() -> None:
    """Each with its own sign."""
    levels = find(scatter(90) + step(90, 30, 0.1) + step(90, 60, -0.1))
    assert [change.effect.log_ratio > 0 for change in levels.changes] == [True, False]


@pytest.mark.parametrize("bend", [1, 2], ids=["straight", "bent"])
def test_a_slow_drift_is_no_step(bend: int) -> None:
    """It is told as what it is, with its size."""
    levels = find(scatter(100) + 0.04 * np.linspace(0, 1, 100) ** bend)
    assert levels.changes == ()
    assert levels.drifts
    low, high = levels.drift.interval(0.99)
    assert low < math.exp(0.04) < high


def test_a_step_is_found_in_a_drift() -> None:
    """Though the two go against each other and end where they began."""
    (change,) = find(scatter(100) + np.linspace(0, 0.08, 100) + step(100, 50, -0.08)).changes
    assert abs(change.place - 50) <= 2
    assert change.effect.log_ratio < 0


@pytest.mark.parametrize("outliers", [[20], [20, 21], [59], [0, 1]])
def test_outliers_are_no_level(outliers: list[int]) -> None:
    """Neither one nor two in a row, however far away, also at the ends."""
    logs = scatter(60)
    logs[outliers] += 0.5
    assert find(logs).changes == ()


@pytest.mark.parametrize("outlier", [2, 7, 18])
def test_one_outlier_hides_no_step(outlier: int) -> None:
    """On either side of it, nor does it move it."""
    logs = scatter(21, 0.01) + step(21, 10, 0.1)
    logs[outlier] += math.log1p(0.18)
    (change,) = find(logs).changes
    assert (change.place, change.effect.ratio) == (10, pytest.approx(1.1, abs=0.02))


def test_times_that_are_all_the_same_show_nothing_and_a_step_of_them_shows() -> None:
    """Nothing divides by their scatter."""
    assert find(np.zeros(20)).changes == ()
    (change,) = find(step(20, 12, 0.2)).changes
    assert (change.place, change.earliest, change.latest) == (12, 12, 12)


def test_a_large_step_is_found_though_the_times_after_it_scatter() -> None:
    """The points speak within bounds, and leave nothing over that could be scatter."""
    loud = [9.028, 8.6, 6.54, 10.022, 7.302, 5.938, 8.616, 9.328, 10.383, 11.753, 21.578, 8.061]
    (change,) = find([*scatter(12, 0.01), *np.log(loud)]).changes
    assert change.place == 12


def test_a_step_too_small_to_matter_is_none() -> None:
    """However sure it is."""
    logs = scatter(100, 0.001) + step(100, 50, 0.015)
    assert find(logs).changes == ()
    assert len(find(logs, least=0.01).changes) == 1


def test_more_points_and_less_scatter_show_smaller_steps() -> None:
    """And a step beside another one can't be seen."""
    few, many, quiet = (
        find(scatter(count, deviation), asked=count // 2).least_detectable
        for count, deviation in ((20, 0.02), (200, 0.02), (200, 0.005))
    )
    assert few is not None
    assert many is not None
    assert quiet is not None
    assert few > many > quiet > 0.02
    changed = find(scatter(60) + step(60, 40, 0.08), asked=41)
    assert changed.least_detectable is None


@pytest.mark.parametrize(("wander", "variance"), [(0, 0.0), (3, 0.01), (4, 0.03)])
def test_the_fit_is_that_of_generalised_least_squares(wander: int, variance: float) -> None:
    """With the covariances of a random walk and scatter written out, and a level that begins anywhere."""
    logs = scatter(25) + step(25, 10, 0.1)
    effect = LevelModel(logs).fit([10]).effect(2, 10, 15, wander)
    count = np.arange(1, 26)
    covariance = np.eye(25) + variance * np.minimum.outer(count, count)
    columns = np.stack([np.ones(25), count, count**2, (count > 10).astype(float)], axis=1)
    weights = np.linalg.inv(covariance)
    normal = np.linalg.inv(columns.T @ weights @ columns)
    solved = normal @ columns.T @ weights @ logs
    assert effect.log_ratio == pytest.approx(solved[3], rel=1e-6)
    assert effect.error / effect.deviation == pytest.approx(math.sqrt(normal[3, 3]), rel=1e-6)


def test_the_likelihood_of_wandering_is_that_of_its_covariance() -> None:
    """Up to what is the same for all of them."""
    logs = scatter(15)
    differences = np.diff(logs)
    model = LevelModel(logs)

    def of_differences(variance: float) -> float:
        """Moving averages: neighbours share a point."""
        covariance = (2 + variance) * np.eye(14) - np.eye(14, k=1) - np.eye(14, k=-1)
        return -float(np.linalg.slogdet(covariance)[1]) / 2

    wanted: Sequence[float] = [of_differences(variance) for variance in (0.0, 0.01, 0.03)]
    got = [float(np.log(model.weights[index]).sum()) / 2 for index in (0, 3, 4)]
    assert np.diff(got) == pytest.approx(np.diff(wanted), rel=1e-9)
    assert (model.values**2).sum() == pytest.approx(((logs - logs.mean()) ** 2).sum())
    assert len(differences) == len(model.values)
