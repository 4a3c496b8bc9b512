"""A change that all cases share: told as one, with what may have caused it, beside the cases that differ from it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.comparison import compare_paths
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.common_factor import CommonFactor, TwoSides, common_factor
from roofline.comparison.effects.effect import SESSIONS, effect_of
from roofline.comparison.effects.verdict import judge_effects
from roofline.comparison.observations.observation import Observation
from roofline.machine.published import load
from roofline.report.changes_figure import changes_figure
from roofline.schema.record import KEY
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

COUNT = 5
"""Sessions a side."""


def _cases(ratios: Sequence[float], scatter: float = 0.004) -> list[TwoSides]:
    """A case for each ratio of new over base, whose sessions lie a little apart; a second slower than a first."""
    rng = random.Random(0)

    def side(value: float, first: int) -> dict[int, Observation]:
        return {
            number: Observation(
                value=value * (1 + rng.gauss(0, scatter)),
                error=0.001,
                started_at=f"2026-11-20T{number:02}",
            )
            for number in range(first, first + COUNT)
        }

    return [(side(0.1 * (case + 1), 0), side(0.1 * (case + 1) * ratio, 10)) for case, ratio in enumerate(ratios)]


def _common(cases: Sequence[TwoSides], disturbed: float = 0.0) -> CommonFactor | None:
    return common_factor(cases, SESSIONS, 0.02, 0.99, disturbed)


def _found(cases: Sequence[TwoSides], disturbed: float = 0.0) -> CommonFactor:
    found = _common(cases, disturbed)
    assert found is not None
    return found


def test_a_machine_at_half_its_speed() -> None:
    """One factor, from which no case differs."""
    found = _found(_cases([2.0] * 8))
    assert found.ratio == pytest.approx(2.0, rel=0.01)
    low, high = found.effect.interval(0.99)
    assert low < 2.0 < high
    assert found.apart == ()


def test_a_session_is_known_as_well_as_the_median_of_its_cases() -> None:
    """Its error is sqrt(pi / 2) times that of the mean of as many cases."""
    cases = _cases([2.0] * 8, scatter=0.0)
    error = math.sqrt(math.pi / 2) * 0.001 / math.sqrt(8)
    base, new = ([replace(one, error=error) for one in side.values()] for side in cases[0])
    assert _found(cases).effect.error == pytest.approx(effect_of(base, new).error, rel=1e-5)


def test_a_case_that_differs_from_it_is_named_and_does_not_move_it() -> None:
    """The second took three times as long where the others took 1.2 times."""
    found = _found(_cases([1.2, 3.0, 1.2, 1.2, 1.2, 1.2]))
    assert found.ratio == pytest.approx(1.2, rel=0.01)
    assert found.apart == (1,)
    own = found.own[1]
    assert own is not None
    assert own.ratio == pytest.approx(2.5, rel=0.01)


def test_cases_that_changed_by_themselves_share_nothing() -> None:
    """Neither where a few did, nor where half did, nor where each did otherwise."""
    for ratios in ([2.0, 1, 1, 1, 1, 1], [2.0, 2, 2, 2, 1, 1], [3.0, 2.5, 2.0, 1.5, 1.2, 1.1]):
        assert _common(_cases(ratios)) is None


def test_two_cases_have_no_common_factor() -> None:
    """One that changed by itself would be half of it."""
    assert _common(_cases([2.0, 2.0])) is None
    assert _common(_cases([2.0, 2.0, 2.0])) is not None


def test_sessions_that_have_too_few_of_the_cases_are_left_out() -> None:
    """One that has two cases alone says nothing of what all share: here it would double the factor's interval."""
    cases = _cases([1.5] * 6)
    odd = Observation(value=40.0, error=0.001, started_at="2026-11-20T20")
    with_odd = [(base, {**new, 20: odd}) if place < 2 else (base, new) for place, (base, new) in enumerate(cases)]
    found = _found(with_odd)
    assert found.effect.new_sessions == COUNT


def test_all_together_show_what_each_leaves_open() -> None:
    """4.5 % on each of ten cases is inconclusive among ten; the machine they share is shown to be slower."""
    cases = _cases([1.045] * 10, scatter=0.02)
    effects = [effect_of([*base.values()], [*new.values()]) for base, new in cases]
    assert {verdict.kind for verdict in judge_effects(effects, [0.02] * 10, [0.99] * 10)} == {"inconclusive"}
    found = _found(cases)
    assert found.ratio == pytest.approx(1.045, rel=0.01)


def test_in_a_disturbed_hour_it_is_certain_only_beyond_the_tests_of_all_cases() -> None:
    """4.5 % is what such an hour makes of unchanged code, too; twice the time is not."""
    for ratio, certain in ((1.045, False), (2.0, True)):
        for disturbed, expected in ((0.25, True), (0.26, certain)):
            assert _found(_cases([ratio] * 10, scatter=0.01), disturbed).certain is expected


def test_unchanged_cases_share_nothing() -> None:
    """Nor what is shown and too small to matter."""
    assert _common(_cases([1.0] * 10)) is None
    assert _common(_cases([1.015] * 10, scatter=0.0001)) is None


TIMES = {f"net{number}": 0.1 for number in range(6)}


def _scattered(folder: Path, times: Mapping[str, float], count: int, first: int = 0) -> list[Path]:
    """Sessions in which every second case lies 2 % above its time and the others below it, and next time reversed."""
    return [
        path
        for number in range(first, first + count)
        for path in sessions.side(
            folder,
            {name: time * (1.02, 0.98)[(place + number) % 2] for place, (name, time) in enumerate(times.items())},
            1,
            number,
        )
    ]


def _slowed(times: Mapping[str, float], by: float) -> dict[str, float]:
    return {name: time * by for name, time in times.items()}


def _throttle(content: dict[str, Any]) -> None:
    """A slow clock and another program, as the records of the new side tell them."""
    for row in content["benchmarks"]:
        rounds = row["extra_info"][KEY]["timing"]["rounds"]
        count = len(rounds["wall_s"])
        rounds["sm_clock_hz"] = [0.99e9] * count
        rounds["disturbed"] = ["other programs used 20 ms"] * (count // 4) + [None] * (count - count // 4)


def _told(content: dict[str, Any]) -> None:
    for row in content["benchmarks"]:
        rounds = row["extra_info"][KEY]["timing"]["rounds"]
        rounds["sm_clock_hz"] = [1.98e9] * len(rounds["wall_s"])
        rounds["disturbed"] = [None] * len(rounds["wall_s"])


def test_a_common_slowdown_is_told_with_its_causes(run: Run, tmp_path: Path) -> None:
    """Clock, load, governor and versions, as far as both sides' records have them; it fails as any slowdown does."""
    versions = {"python": "3.12.4", "torch": "2.13.0", "cuda": None}
    base = sessions.side(tmp_path / "base", TIMES, limits={"cpu_governor": "performance"}, versions=versions)
    new = sessions.side(tmp_path / "new", _slowed(TIMES, 2), first=10, limits={"cpu_governor": "powersave"})
    sessions.edit(base, _told)
    sessions.edit(new, _throttle)
    code, out, err = run("check", *new, "--baseline", *base, "-v", "--width", 1000)
    assert code == 1
    (line,) = [line for line in err.splitlines() if "together" in line]
    assert line.startswith("Error: all 6 cases together: +")
    _, _, causes = line.partition("what may have caused it: ")
    assert causes == (
        "SM clock 990 MHz, baseline 1.98 GHz, rounds disturbed from outside 25 %, baseline 0 %,"
        " torch 2.14.1, baseline 2.13.0, cpu_governor powersave, baseline performance"
    )
    assert line.removeprefix("Error: ") not in out
    _, out, _ = run("check", *new, "--baseline", *base, "--format", "json")
    rows = json.loads(out)
    assert [row["common_change"] for row in rows] == [pytest.approx(1.0, rel=0.02)] * 6
    assert [row["own_change"] for row in rows] == [pytest.approx(0.0, abs=0.02)] * 6


def test_all_together_fail_a_check_that_no_case_does(run: Run, tmp_path: Path) -> None:
    """4.5 % on each of twenty cases."""
    times = {f"net{number}": 0.1 for number in range(20)}
    base = _scattered(tmp_path / "base", times, count=5)
    new = _scattered(tmp_path / "new", _slowed(times, 1.045), count=5, first=10)
    code, out, err = run("check", *new, "--baseline", *base)
    assert (code, out.splitlines()[0]) == (
        1,
        "Regression: all cases together slower, none of 20 by itself (20 inconclusive)",
    )
    assert err.splitlines()[-1].startswith("Error: all 20 cases together: +4")


def test_in_a_disturbed_hour_it_does_not_pass(run: Run, tmp_path: Path) -> None:
    """Four of the new sessions were disturbed and are left out: whose change the others show isn't certain."""
    times = {f"net{number}": 0.1 for number in range(20)}
    base = _scattered(tmp_path / "base", times, count=5)
    new = _scattered(tmp_path / "new", _slowed(times, 1.045), count=9, first=10)
    sessions.edit([*base, *new], _told)
    sessions.edit(new[5:], sessions.disturbed)
    code, _, err = run("check", *new, "--baseline", *base, "--width", 1000)
    (line,) = [line for line in err.splitlines() if "together" in line]
    assert (code, line.partition(" cases")[0]) == (3, "Error: all 20")


def test_all_together_faster_is_told_and_passes(run: Run, tmp_path: Path) -> None:
    """It hides a case that only kept its time."""
    base = sessions.side(tmp_path / "base", TIMES)
    new = sessions.side(tmp_path / "new", {**_slowed(TIMES, 0.5), "net3": 0.1}, first=10)
    code, out, err = run("check", *new, "--baseline", *base, "--width", 1000)
    assert code == 0
    assert "all 6 cases together: -5" in out or "all 6 cases together: -4" in out
    assert "differing from that: net3-train-b32-fp32 (+" in out
    assert "together" not in err


def test_each_machine_has_its_own(run: Run, tmp_path: Path) -> None:
    """What is shared on one is not shared on another of the same label, and both are named apart."""
    made = {"a" * 16: 2.0, "b" * 16: 1.0}
    sides: dict[str, list[Path]] = {"base": [], "new": []}
    for hour, (fingerprint, by) in enumerate(made.items()):
        for name, times, first in (("base", TIMES, hour), ("new", _slowed(TIMES, by), hour + 10)):
            folder = tmp_path / name / fingerprint
            sides[name] += sessions.side(folder, times, first=first, count=4, fingerprint=fingerprint)
    _, out, err = run("check", *sides["new"], "--baseline", *sides["base"], "--width", 1000, "--junit", "x.xml")
    (line,) = [line for line in err.splitlines() if "together" in line]
    assert line.startswith("Error: all 6 cases together on epyc-2cpu (AMD EPYC 7B13) [aaaaaa]: +")
    assert line.endswith("; nothing that both sides record tells of a cause")
    assert "epyc-2cpu (AMD EPYC 7B13) [bbbbbb]" in out
    assert 'classname="epyc-2cpu (AMD EPYC 7B13) [bbbbbb]"' in Path("x.xml").read_text()
    figure = changes_figure(compare_paths(sides["base"], sides["new"], Settings(), load()))
    assert figure is not None
    labels = {label.get_text().partition("[")[2] for label in figure.axes[0].get_yticklabels()}
    assert labels == {"aaaaaa]", "bbbbbb]"}
