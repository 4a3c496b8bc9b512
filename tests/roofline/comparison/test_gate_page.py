"""What docs/gate.md says that stored sessions can show is what the formulas give."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import NormalDist

import pytest

from roofline.comparison.effects.effect import effect_of
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT, judge_effects
from roofline.comparison.observations.observation import Observation

PAGE = Path(__file__).parents[3] / "docs" / "gate.md"
CASES = 10


def side(sessions: int, scatter: float, ratio: float = 1.0) -> list[Observation]:
    """Sessions that lie as the quantiles of a normal distribution do."""
    return [
        Observation(
            value=ratio * math.exp(scatter * NormalDist().inv_cdf((number + 0.5) / sessions)),
            error=scatter / 3,
            started_at="",
        )
        for number in range(sessions)
    ]


def kind(base: int, new: int, scatter: float, slowdown: float) -> str:
    """The verdict of the slowed case, the others unchanged."""
    before = side(base, scatter)
    effects = [effect_of(before, side(new, scatter, 1 + slowdown if slowed else 1.0)) for slowed in (True, False)]
    return judge_effects([effects[0], *effects[1:] * (CASES - 1)], [LEAST_EFFECT] * CASES, [CONFIDENCE] * CASES)[0].kind


def table() -> list[tuple[float, int, int, float, float]]:
    """Scatter, sessions of either side, the slowdown in its cell, and half of what the cell was rounded by."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    head = next(line for line in lines if line.startswith("| sessions, baseline and new"))
    sides = [tuple(map(int, pair)) for pair in re.findall(r"(\d+), (\d+)", head)]
    rows = []
    for line in lines:
        if found := re.match(r"\| scatter ([\d.]+) %", line):
            cells = re.findall(r"\| +([\d.]+) %", line)
            rows += [
                (float(found[1]) / 100, base, new, float(cell) / 100, 0.5 * (0.001 if "." in cell else 0.01))
                for (base, new), cell in zip(sides, cells, strict=True)
            ]
    return rows


@pytest.mark.parametrize(("scatter", "base", "new", "slowdown", "half"), table())
def test_the_least_slowdown_is_the_one_in_the_table(
    scatter: float, base: int, new: int, slowdown: float, half: float
) -> None:
    """A little more is slower, and a little less is not."""
    assert kind(base, new, scatter, slowdown + half) == "slower"
    assert kind(base, new, scatter, slowdown - 2 * half) != "slower"


@pytest.mark.parametrize(("sessions", "expected"), [(10, "inconclusive"), (11, "inconclusive"), (12, "same")])
def test_the_same_is_shown_by_twelve_sessions(sessions: int, expected: str) -> None:
    """At a scatter of 0.3 %, with an estimate that is as far off as one in ten: by 1.64 of its standard deviations."""
    off = 1.64 * 0.003 * math.sqrt(2 / sessions)
    assert kind(sessions, sessions, 0.003, off) == expected
