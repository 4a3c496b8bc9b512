"""What the selftest concludes from its two trials."""

from __future__ import annotations

from pathlib import Path

from roofline.interleaving.selftest import selftest_table, slowed, small_case_arguments, tried, unchanged
from roofline.tables import render
from tests.roofline.interleaving.made import case, trial, turns

SAME = case("a", turns(), turns())
SLOWED = case("a", turns(1.05), turns(1.05))


def test_it_passes_where_only_the_slowdown_alarms() -> None:
    """And tells from which slowdown on it would."""
    (one,) = cases = tried(trial(SAME), trial(SLOWED))
    assert one.compared
    assert one.failures == ()
    assert one.least_detectable is not None
    assert 0.02 < one.least_detectable < 0.05
    shown = render(selftest_table(cases, 0.05, ()), "table", 80)
    assert shown.startswith("Selftest passed\n")
    assert "Detectable here in 19 of 20 tries: slowdowns from" in shown
    assert "slowed by 5.0 %" in shown


def test_a_false_alarm_fails_it() -> None:
    """Unchanged code that is called slower or faster."""
    for ratio, called in ((1.1, "slower"), (0.9, "faster")):
        (one,) = tried(trial(case("a", turns(ratio), turns(ratio))), trial(SLOWED))
        assert one.failures == (f"a: false alarm: unchanged code is called {called}",)


def test_a_missed_slowdown_fails_it() -> None:
    """Whatever else it is called."""
    (one,) = cases = tried(trial(SAME), trial(SAME))
    assert one.failures == ("a: missed: the slowed code is called same",)
    assert render(selftest_table(cases, 0.05, ()), "table", 80).startswith("Selftest failed\n")


def test_a_case_that_could_not_be_measured_says_nothing() -> None:
    """It neither passes nor fails; where there is no other, the selftest wasn't made."""
    cases = tried(trial(case("a", problem="x")), trial(case("a", problem="x")))
    assert not any(one.compared or one.failures for one in cases)
    assert render(selftest_table(cases, 0.05, ("why",)), "table", 80).startswith("Selftest not made\n")


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
    assert arguments[-2:] == ("--pyargs", "pytest_roofline.interleaving.small_cases")
