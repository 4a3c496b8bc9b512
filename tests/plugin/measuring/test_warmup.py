"""Warming up: until steady, for a number of steps, and giving up."""

from __future__ import annotations

import pytest

from pytest_roofline.measuring.warmup import LIMIT_S, ClockError, Warmup, is_steady, warm_up
from tests.plugin.measuring.fakes import Lab


def _warm_up(lab: Lab, steps: int | None = None, *, choose: bool = True) -> Warmup:
    return warm_up(lab.stopwatch(), steps, 0.1, choose=choose)


def test_a_steady_step_settles_in_seven_windows() -> None:
    """The first step stands apart; six windows of a round's length are the least that can be compared."""
    lab = Lab(0.5)
    warmup = _warm_up(lab)
    assert warmup == Warmup(steps=7, seconds=3.5, settled=True, first_step_s=0.5, round_steps=1)


def test_compiling_in_the_first_step_does_not_count() -> None:
    """A minute of compiling neither spends the time allowed nor unsettles the rest; it is told apart."""
    lab = Lab(60.0, 0.2)
    warmup = _warm_up(lab)
    assert warmup.settled is True
    assert warmup.first_step_s == 60.0
    assert warmup.seconds == pytest.approx(60.0 + 6 * 0.2)


def test_a_fast_step_gets_windows_as_long_as_a_round() -> None:
    """Windows grow until they last as long as a round must, and that tells how many steps a round takes."""
    lab = Lab(0.75, 0.001)
    warmup = _warm_up(lab)
    assert warmup.settled is True
    assert warmup.round_steps is not None
    assert 100 <= warmup.round_steps <= 101


def test_rounds_last_long_enough_even_if_warm_up_began_slowly() -> None:
    """The number of steps comes from the fastest window: a round may be longer than asked, not shorter."""
    warmup = _warm_up(Lab(*[0.02] * 10, 0.01))
    assert warmup.round_steps is not None
    assert warmup.round_steps * 0.01 >= 0.1


def test_a_step_that_goes_on_getting_faster_is_warmed_up_on() -> None:
    """While times fall from window to window the warm-up goes on, and ends after they stopped falling."""
    falling = [0.4 * 0.9**n for n in range(12)]
    lab = Lab(*falling, 0.1)
    warmup = _warm_up(lab)
    assert warmup.settled is True
    assert warmup.steps > 12


def test_a_step_that_never_settles_is_given_up_at_the_limit() -> None:
    """Gave up is told apart from settled, and the time allowed is kept to within one window."""
    climbing = [0.1 * 1.03**n for n in range(200)]
    warmup = _warm_up(Lab(*climbing))
    assert warmup.settled is False
    last_window_s = warmup.seconds - LIMIT_S
    assert 0 <= last_window_s < 0.5


def test_a_slow_step_settles_if_the_few_windows_agree() -> None:
    """Where six windows don't fit into the time allowed, those there are must agree within 2 %."""
    assert _warm_up(Lab(4.0, 4.0, 4.02)).settled is True
    assert _warm_up(Lab(4.0, 4.0, 4.2)).settled is False
    assert _warm_up(Lab(6.0)).settled is True


def test_one_window_tells_nothing() -> None:
    """A step longer than the time allowed can't be called steady."""
    warmup = _warm_up(Lab(30.0))
    assert warmup.settled is False
    assert warmup.steps == 2


@pytest.mark.parametrize(
    ("times", "steady"),
    [
        ([1.0] * 5, False),
        ([1.0] * 6, True),
        ([1.0, 1.1, 0.9, 1.05, 0.95, 1.0], True),
        ([1.3, 1.25, 1.2, 1.1, 1.05, 1.0], False),
        ([1.0, 1.05, 1.1, 1.2, 1.25, 1.3], False),
        ([1.0, 1.002, 1.004, 1.006, 1.008, 1.010], True),
        ([1.0, 1.01, 0.99, 1.0, 1.01, 0.5], False),
        ([1.0, 1.01, 0.99, 1.2, 1.3, 1.2], False),
        ([9.0, 5.0, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99], True),
    ],
    ids=[
        "too few",
        "constant",
        "noise",
        "falling",
        "climbing",
        "drift within 2 %",
        "just dropped",
        "jumped",
        "settled late",
    ],
)
def test_what_is_steady(times: list[float], steady: bool) -> None:
    """Windows are steady when the newer half reaches into the older one's range and the last is no new extreme."""
    assert is_steady(times) is steady


def test_a_number_of_steps_is_taken_and_called_neither_settled_nor_not() -> None:
    """Who asks for ten steps gets ten steps."""
    lab = Lab(3.0, 0.25)
    warmup = _warm_up(lab, 10, choose=False)
    assert warmup == Warmup(steps=10, seconds=3.0 + 9 * 0.25, settled=None, first_step_s=3.0, round_steps=None)


def test_no_warm_up() -> None:
    """None at all if none is asked for and nothing has to be found out."""
    lab = Lab()
    assert _warm_up(lab, 0, choose=False) == Warmup(
        steps=0, seconds=0.0, settled=None, first_step_s=None, round_steps=None
    )
    assert lab.steps == 0


def test_finding_the_length_of_a_round_takes_more_steps_than_asked_for() -> None:
    """Ten fast steps don't tell how many make a tenth of a second; those taken to find out are counted."""
    lab = Lab(2.0, 0.001)
    warmup = _warm_up(lab, 10)
    assert warmup.round_steps is not None
    assert warmup.round_steps * 0.001 >= 0.1
    assert warmup.steps == lab.steps > 10


def test_a_clock_that_stands_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an endless loop: a window is ten times the one before it."""
    monkeypatch.setattr("pytest_roofline.measuring.warmup._STANDSTILL_STEPS", 1000)
    lab = Lab(0.0)
    with pytest.raises(ClockError, match="did not advance over 1000 steps"):
        _warm_up(lab)
    assert lab.steps == 1 + 1 + 10 + 100 + 1000
