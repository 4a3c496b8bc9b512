"""Every case of two sides with its verdict, the worst first."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.comparison.comparison import Comparison, compare
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.judged_case import OUTCOMES
from roofline.comparison.sides.side_files import read_side
from roofline.machine.published import load
from tests.roofline import build
from tests.roofline.comparison import sessions


def _compare(base: list[Path], new: list[Path], settings: Settings | None = None) -> Comparison:
    settings = settings or Settings()
    sides = [read_side(paths, settings.by, load()) for paths in (base, new)]
    return compare(*sides, settings)


def _foreign(folder: Path, times: dict[str, float], count: int = sessions.COUNT) -> list[Path]:
    rounds = {name: tuple(time * (1 + 0.001 * (index % 3 - 1)) for index in range(9)) for name, time in times.items()}
    return [build.write(folder / f"{number}.json", sessions.foreign(rounds)) for number in range(count)]


def test_the_worst_stands_first(tmp_path: Path) -> None:
    """Slower, what could not be compared, inconclusive, new, faster, same; within each the largest difference."""
    base = _foreign(tmp_path / "base", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0, "gone": 1.0, "ms": 1.0})
    new = _foreign(tmp_path / "new", {"a": 1.0, "b": 1.5, "c": 2.0, "d": 0.5, "now": 1.0, "ms": 1000.0})
    found = [(case.match.id, case.outcome) for case in _compare(base, new, Settings(least_effect=0.2)).cases]
    assert found == [
        ("c", "slower"),
        ("b", "slower"),
        ("gone", "removed"),
        ("ms", "not comparable"),
        ("now", "new"),
        ("d", "faster"),
        ("a", "same"),
    ]
    assert [OUTCOMES.index(outcome) for _, outcome in found] == sorted(OUTCOMES.index(name) for _, name in found)


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [
        (600.0, "not comparable"),
        (1e-3, "not comparable"),
        (1e-9, "not comparable"),
        (400.0, "slower"),
        (0.01, "faster"),
    ],
)
def test_a_thousand_times_is_another_unit(tmp_path: Path, ratio: float, outcome: str) -> None:
    """And so is whatever lies further apart, from a factor of 500 on; less may be real."""
    comparison = _compare(_foreign(tmp_path / "base", {"a": 1.0}), _foreign(tmp_path / "new", {"a": ratio}))
    assert [case.outcome for case in comparison.cases] == [outcome]


def test_the_floor_is_of_the_step_time(tmp_path: Path) -> None:
    """Of the baseline: 0.5 s matter in a step of 1 s only beyond 50 %; in one of 100 s the least effect is larger."""
    base = _foreign(tmp_path / "base", {"short": 1.0, "long": 100.0})
    new = _foreign(tmp_path / "new", {"short": 4.0, "long": 100.0})
    comparison = _compare(base, new, Settings(least_effect=0.1, floor_s=0.5))
    assert {case.match.id: case.least for case in comparison.cases} == {
        "short": pytest.approx(0.5, rel=1e-3),
        "long": 0.1,
    }


@pytest.mark.parametrize(("side", "outcome"), [("base", "same"), ("new", "inconclusive")])
def test_only_what_new_sessions_lack_is_in_the_way_of_the_same(tmp_path: Path, side: str, outcome: str) -> None:
    """A session of the baseline that can't be used is one fewer to compare with, and no doubt about the new code."""
    files = {
        name: sessions.side(tmp_path / name, sessions.TIMES, first=first) for name, first in (("base", 0), ("new", 10))
    }
    sessions.edited(files[side][0], sessions.errored)
    found = _compare(files["base"], files["new"], Settings(least_effect=0.5)).cases
    assert {case.match.id: case.outcome for case in found}[sessions.ID] == outcome


def test_a_step_of_the_base_is_the_geometric_mean_of_its_sessions(tmp_path: Path) -> None:
    """1 s and 4 s: 2 s; as the ratio is judged."""
    base = [
        *_foreign(tmp_path / "one", {"a": 1.0}, count=1),
        *_foreign(tmp_path / "four", {"a": 4.0}, count=1),
    ]
    (case,) = _compare(base, _foreign(tmp_path / "new", {"a": 2.0})).cases
    assert case.base is not None
    assert case.base.value == pytest.approx(2.0)
    assert case.change == pytest.approx(0.0, abs=1e-12)


def test_a_fraction_of_the_base_is_the_geometric_mean_of_its_sessions(tmp_path: Path) -> None:
    """0.01 s by the roofs of 0.1 s and of 0.4 s: 10 % and 2.5 %."""
    base = [sessions.side(tmp_path / str(time), {"resnet50": time}, count=1)[0] for time in (0.1, 0.4)]
    (case,) = _compare(base, sessions.side(tmp_path / "new", {"resnet50": 0.2}, count=1), Settings(by="roof")).cases
    assert case.base is not None
    assert case.base.fraction_of_roof == pytest.approx(0.05, rel=0.01)
    assert case.base.fraction_of_speed_of_light == pytest.approx(0.05, rel=0.01)
