"""What the selftest concludes from its two trials."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from roofline.ab.measuring_in_turns import AbCase, Rules
from roofline.ab.selftest_outcome import (
    not_compared,
    selftest_cases,
    selftest_table,
    slowed,
    small_case_arguments,
    unchanged,
)
from roofline.show.render import render
from tests.roofline.ab.made import case, trial, turns
from tests.roofline.conftest import Run

SAME = case("a", turns(), turns())
SLOWED = case("a", turns(1.05), turns(1.05))
DIED = case("b", problem="new: its pytest ended with exit code 9")
DIED_LATER = case("b", turns(), problem="new: its pytest ended with exit code 9")
TIMELESS = case("b", turns(math.nan))
SKIPPED = case("b", problem="base: skipped: no; new: skipped: no", skipped=True)


def title(*cases: AbCase, slow: tuple[AbCase, ...]) -> str:
    return selftest_table(selftest_cases(trial(*cases), trial(*slow)), 0.05, ()).title


def test_it_passes_where_only_the_slowdown_alarms() -> None:
    """And tells from which slowdown on it would."""
    (one,) = cases = selftest_cases(trial(SAME), trial(SLOWED))
    assert one.compared
    assert one.failures == ()
    assert one.least_detectable is not None
    assert 0.02 < one.least_detectable < 0.05
    shown = render(selftest_table(cases, 0.05, ()), "table", 80)
    assert shown.startswith("Selftest passed: 1 of 1 case compared\n")
    assert "Detectable here in 19 of 20 tries: slowdowns from" in shown
    assert "slowed by 5.0 %" in shown


def test_what_is_detectable_is_so_after_all_pairs() -> None:
    """Unchanged code may be settled early; a slowdown has until the last one to be found."""
    slowed_ = case("a", *[turns(1.05)] * 3)
    found = {}
    for pairs in (3, 5):
        rules = Rules(pairs=pairs)
        (one,) = selftest_cases(trial(case("a", *[turns(noise=0.05)] * 3), rules=rules), trial(slowed_, rules=rules))
        assert one.least_detectable is not None
        found[pairs] = one.least_detectable
    assert found[5] < found[3]


def test_a_false_alarm_fails_it() -> None:
    """Unchanged code that is called slower or faster."""
    for ratio, called in ((1.1, "slower"), (0.9, "faster")):
        (one,) = selftest_cases(trial(case("a", turns(ratio), turns(ratio))), trial(SLOWED))
        assert one.failures == (f"a: false alarm: unchanged code is called {called}",)


NOISY = case("a", turns(1.0, noise=0.4), turns(1.1, noise=0.4))
BUSY = case("a", turns(1.05, disturbed=True), turns(1.05, disturbed=True))
SCATTERED = case("a", turns(1.4), turns(0.8))


@pytest.mark.parametrize(
    ("slow", "called"),
    [
        (SAME, "same"),
        (case("a", turns(0.9), turns(0.9)), "faster"),
        (NOISY, "inconclusive"),
        (BUSY, "inconclusive"),
        (SCATTERED, "inconclusive"),
    ],
)
def test_a_missed_slowdown_fails_it(slow: AbCase, called: str) -> None:
    """Whatever else it is called."""
    (one,) = selftest_cases(trial(SAME), trial(slow))
    assert one.failures == (f"a: missed: the slowed code is called {called}",)


@pytest.mark.parametrize("slow", [NOISY, BUSY, SCATTERED], ids=["noisy", "busy", "scattered"])
def test_a_busy_hour_does_not_read_as_a_broken_gate(slow: AbCase, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it couldn't tell, what to try stands below. It has failed all the same, and the job's log says what."""
    trials = iter((trial(SAME), trial(slow)))
    monkeypatch.setattr("roofline.cli.compare_and_gate.selftest.measure_in_turns", lambda *_: next(trials))
    code, out, err = run("selftest")
    assert code == 1
    assert out.startswith("Selftest failed: 1 of 1 case compared\n")
    assert "quieter hour, with a longer --max-time, or with more --pairs" in " ".join(out.split())
    assert "Error: a: missed: the slowed code is called inconclusive" in err


@pytest.mark.parametrize("lost", [DIED, DIED_LATER, TIMELESS], ids=["died", "died later", "no times"])
def test_a_case_that_could_not_be_measured_says_nothing(lost: AbCase) -> None:
    """It neither passes nor fails, and is missing; where there is no other, the selftest wasn't made."""
    cases = selftest_cases(trial(lost), trial(lost))
    assert [one.failures for one in cases] == [()]
    assert not_compared(cases) == cases
    assert title(lost, slow=(lost,)) == "Selftest not made: 0 of 1 case compared"


FOUND = case("b", turns(1.05), turns(1.05))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (case("b", turns(), turns()), (FOUND,), "passed: 2 of 2 cases compared"),
        (DIED, (FOUND,), "not completed: 1 of 2 cases compared"),
        (case("b", turns(), turns()), (DIED_LATER,), "not completed: 1 of 2 cases compared"),
        (case("b", turns(), turns()), (), "not completed: 1 of 2 cases compared"),
        (SKIPPED, (FOUND,), "not completed: 1 of 2 cases compared"),
        (SKIPPED, (SKIPPED,), "passed: 1 of 1 case compared"),
        (case("b", turns(1.1), turns(1.1)), (DIED,), "failed: 1 of 2 cases compared"),
    ],
)
def test_every_case_has_to_be_compared(
    first: AbCase, second: tuple[AbCase, ...], said: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In both trials, but those that skip themselves in both; else it's exit code 3 and the case is named, unless the
    gate was wrong about one, which is 1.
    """
    trials = iter((trial(SAME, first), trial(SLOWED, *second)))
    monkeypatch.setattr("roofline.cli.compare_and_gate.selftest.measure_in_turns", lambda *_: next(trials))
    code, out, err = run("selftest")
    assert out.startswith(f"Selftest {said}\n")
    assert code == {"passed": 0, "failed": 1, "not completed": 3}[said.partition(":")[0]]
    assert ("Error: cannot compare. Not measured in both trials: b.\n" in err) == (code == 3)


def test_where_every_case_is_skipped_nothing_was_tried(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is no pass."""
    monkeypatch.setattr("roofline.cli.compare_and_gate.selftest.measure_in_turns", lambda *_: trial(SKIPPED))
    code, out, err = run("selftest")
    assert (code, out.splitlines()[0]) == (3, "Selftest not made: 0 of 0 cases compared")
    assert "cannot compare. Every case is skipped." in err


def test_both_sides_are_the_same_code() -> None:
    """In the second trial both wait for the device after each step, and one is longer by the slowdown."""
    sides = unchanged(Path("/tree"), Path("/tree/sub"), "python")
    assert sides["base"].root == sides["new"].root
    assert [side.slowdown for side in sides.values()] == [None, None]
    assert [side.slowdown for side in slowed(sides, 0.05).values()] == [0.0, 0.05]


def test_the_shipped_cases_are_run_without_any_project_s_settings(tmp_path: Path) -> None:
    """Wherever the package lies: no conftest, no ini file but an empty one."""
    arguments = small_case_arguments(tmp_path)
    assert (tmp_path / "pytest.ini").read_text() == "[pytest]\n"
    assert "--noconftest" in arguments
    assert arguments[-2:] == ("--pyargs", "pytest_roofline.ab.selftest_cases")
