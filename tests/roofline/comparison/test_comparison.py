"""Every case of two sides with its verdict, the worst first."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.comparison.comparison import Comparison, compare
from roofline.comparison.comparison_lines import ComparisonLines, found_in
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.gate import judge
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
        (1e3, "not comparable"),
        (1.04e-3, "not comparable"),
        (1e6, "not comparable"),
        (1e-6, "not comparable"),
        (1e-9, "not comparable"),
        (100.0, "slower"),
        (0.01, "faster"),
    ],
)
def test_a_thousand_times_is_another_unit(tmp_path: Path, ratio: float, outcome: str) -> None:
    """And so is whatever lies further apart; a hundred times may be real."""
    comparison = _compare(_foreign(tmp_path / "base", {"a": 1.0}), _foreign(tmp_path / "new", {"a": ratio}))
    assert [case.outcome for case in comparison.cases] == [outcome]


def test_another_unit_is_not_in_the_family(tmp_path: Path) -> None:
    """It takes no part in what the others have to show."""
    base, new = ({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1000.0})
    alone = _compare(_foreign(tmp_path / "1", {"a": 1.0}), _foreign(tmp_path / "2", {"a": 1.0}))
    beside = _compare(_foreign(tmp_path / "3", base), _foreign(tmp_path / "4", new))
    assert beside.of("inconclusive")[0].more_sessions == alone.of("inconclusive")[0].more_sessions


def test_the_floor_is_of_the_step_time(tmp_path: Path) -> None:
    """0.5 s matter in a step of 1 s only beyond 50 %; in one of 100 s the least effect is the larger."""
    base = _foreign(tmp_path / "base", {"short": 1.0, "long": 100.0})
    new = _foreign(tmp_path / "new", {"short": 1.0, "long": 100.0})
    comparison = _compare(base, new, Settings(least_effect=0.1, floor_s=0.5))
    assert {case.match.id: case.least for case in comparison.cases} == {
        "short": pytest.approx(0.5, rel=1e-3),
        "long": 0.1,
    }


def test_the_floor_is_over_the_time_of_the_baseline(tmp_path: Path) -> None:
    """0.5 s are half of the 1 s that it took, and an eighth of the 4 s that it takes now."""
    base, new = _foreign(tmp_path / "base", {"a": 1.0}), _foreign(tmp_path / "new", {"a": 4.0})
    (case,) = _compare(base, new, Settings(least_effect=0.1, floor_s=0.5)).cases
    assert case.least == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(("side", "outcome"), [("base", "same"), ("new", "inconclusive")])
def test_only_what_new_sessions_lack_is_in_the_way_of_the_same(tmp_path: Path, side: str, outcome: str) -> None:
    """A session of the baseline that can't be used is one fewer to compare with, and no doubt about the new code."""
    files = {
        name: sessions.side(tmp_path / name, sessions.TIMES, first=first) for name, first in (("base", 0), ("new", 10))
    }
    sessions.edited(files[side][0], sessions.errored)
    found = _compare(files["base"], files["new"], Settings(least_effect=0.5)).cases
    assert {case.match.id: case.outcome for case in found}[sessions.ID] == outcome


def test_a_mean_of_sessions_is_not_told_as_one_files(tmp_path: Path) -> None:
    """With several sessions a side, how many there are; with one, its file."""
    base = [*_foreign(tmp_path / "one", {"a": 1.0}, count=1), *_foreign(tmp_path / "four", {"a": 4.0}, count=1)]
    new = _foreign(tmp_path / "new", {"a": 200.0}, count=1)
    comparison = _compare(base, new)
    (case,) = comparison.cases
    assert (
        ComparisonLines(comparison, verbose=True)
        .of([case])[0]
        .endswith(f" (2.00 s over 2 sessions ({base[0]} and 1 more), 200 s in {new[0]})")
    )


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


def test_two_cases_of_a_kind_are_named_unless_all_are_asked_for(tmp_path: Path) -> None:
    """A line for each that is slower, and one for those of one reason; the rest is counted."""
    slower = {f"case{number}": 2.0 + number for number in range(5)}
    before = dict.fromkeys([*slower, *(f"gone{number}" for number in range(5))], 1.0)
    base, new = _foreign(tmp_path / "base", before, count=1), _foreign(tmp_path / "new", slower, count=1)
    comparison = _compare(base, new)
    short, full = (judge(found_in(comparison, verbose=verbose)).failures for verbose in (False, True))
    assert [line.split(": ")[:2] for line in short] == [
        *(["slower", "case4"], ["slower", "case3"], ["slower", "and 3 more (-v shows all)"]),
        ["removed", "gone0, gone1 and 3 more"],
    ]
    assert [line.split(": ")[:2] for line in full] == [
        *(["slower", f"case{number}"] for number in (4, 3, 2, 1, 0)),
        ["removed", "gone0, gone1, gone2, gone3, gone4"],
    ]
