"""The rules that the gate is held against: each as its own project has it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import gate_others
from benchmarks.gate_counts import Count
from benchmarks.gate_others import Other


@pytest.mark.parametrize(("change", "kind"), [(1.051, "slower"), (1.049, "inconclusive"), (0.5, "inconclusive")])
def test_mean_beyond(change: float, kind: str) -> None:
    """pytest-benchmark's rule looks at the mean alone, and at one direction."""
    base = np.array([1.0, 1.2, 0.8])
    assert gate_others.mean_beyond(base, base * change).kind == kind


@pytest.mark.parametrize(("change", "kind"), [(1.1, "slower"), (0.9, "faster"), (1.0, "inconclusive")])
@pytest.mark.parametrize("rule", [gate_others.mann_whitney, gate_others.criterion])
def test_tests_of_rounds(rule: gate_others.Rule, change: float, kind: str) -> None:
    """A clear change is seen by both, either way; the same values are none."""
    base = np.linspace(0.98, 1.02, 40)
    assert rule(base, base * change).kind == kind


def test_criterion_has_a_noise_threshold() -> None:
    """A difference that is significant and below 1 % is none to criterion, and is one to the rank test."""
    base = np.linspace(0.999, 1.001, 200)
    assert gate_others.criterion(base, base * 1.009).kind == "inconclusive"
    assert gate_others.criterion(base, base * 1.011).kind == "slower"
    assert gate_others.mann_whitney(base, base * 1.009).kind == "slower"


@pytest.mark.parametrize(
    ("change", "kind"), [(1.013, "inconclusive"), (1.02, "slower"), (0.987, "inconclusive"), (0.98, "faster")]
)
def test_criterion_asks_both_ends_of_the_interval(change: float, kind: str) -> None:
    """Significant and estimated at 1.3 %, but with 0.7 to 1.9 % possible: within the noise threshold."""
    base = np.linspace(0.977, 1.023, 40)  # standard deviation 1.36 %: of the difference of two means, 0.30 %
    assert gate_others.chance_of_difference(base, base * change) < 0.05
    assert gate_others.criterion(base, base * change).kind == kind


def test_the_interval_is_of_the_relative_change() -> None:
    """Two standard errors to either side: of 40 values a side with a deviation of 1.36 %, 0.30 % each."""
    base = np.linspace(0.977, 1.023, 40)
    low, high = gate_others.change_interval(base, base * 1.05)
    assert low == pytest.approx(0.05 - 1.05 * 1.96 * 0.0030, abs=0.001)
    assert high == pytest.approx(0.05 + 1.05 * 1.96 * 0.0030, abs=0.001)


def test_every_case_of_every_comparison_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By each rule; one that takes long is asked about the first comparisons only, and counts no others."""
    monkeypatch.setattr(
        gate_others,
        "OTHERS",
        {"mean": Other(gate_others.mean_beyond), "long": Other(gate_others.mean_beyond, most_draws=2)},
    )
    one = np.array([1.0, 1.0])
    comparisons = [[(one, one), (one, one * 1.1)], [(one, one), (one, one)], [(one, one * 2), (one, one * 2)]]
    asked = gate_others.by_rule(comparisons)
    assert {name: one.count for name, one in asked.items()} == {
        "mean": Count(slower=3, undecided=3),
        "long": Count(slower=1, undecided=3),
    }
    assert asked["mean"].slower == pytest.approx([0.0, 0.1, 0.0, 0.0, 1.0, 1.0])
    assert asked["long"].slower == asked["mean"].slower[:4]


def test_what_the_thresholds_are_laid_on() -> None:
    """The change of the mean; U's distance from its mean, in its deviations; the interval's lower end."""
    base = np.linspace(0.977, 1.023, 40)
    assert gate_others.mean_beyond(base, base * 1.02).slower == pytest.approx(0.02)
    assert gate_others.mann_whitney(base, base).slower == 0.0
    apart = gate_others.mann_whitney(base, base * 2).slower
    assert apart == pytest.approx(800 / np.sqrt(1600 * 81 / 12))
    assert gate_others.mann_whitney(base * 2, base).slower == -apart
    assert gate_others.criterion(base, base * 1.02).slower == gate_others.change_interval(base, base * 1.02)[0]
    assert gate_others.criterion(base, base).slower == -np.inf
