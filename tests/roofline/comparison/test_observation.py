"""What a session says of a case: which rounds count, and how well they know it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from roofline.comparison.observation import Unusable, disturbed_session, observe, observe_times
from roofline.schema.record import Rounds


def rounds(*wall_s: float, disturbed: tuple[str | None, ...] | None = None, steps: int = 2) -> Rounds:
    return Rounds(steps=steps, wall_s=wall_s, disturbed=disturbed)


def test_median_of_the_steps() -> None:
    """The time is that of a step, in the middle of the rounds: one long round doesn't move it."""
    seen = observe(rounds(2.0, 2.2, 2.4, 2.6, 90.0), started_at="2026-01-01T00:00:00")
    assert seen.step_time_s == 1.2
    assert (seen.rounds, seen.left_out, seen.started_at) == (5, 0, "2026-01-01T00:00:00")


def test_few_rounds_have_no_error() -> None:
    """Below five rounds it is the median, too, and nothing is claimed of how well it is known."""
    seen = observe(rounds(1.0, 2.0, 9.0, steps=1))
    assert seen.step_time_s == 2.0
    assert seen.error is None


def test_outliers_are_counted_with_their_size() -> None:
    """Half as long again as the median is one; how long they took doesn't change how well the median is known."""
    noise = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.02)
    seen, short = (observe_times([*noise, pause, 1.49]) for pause in (30.0, 1.5))
    assert (seen.outliers, seen.slowest) == (1, pytest.approx(30.0 / 1.01))
    assert (observe_times(noise).outliers, short.outliers) == (0, 0)
    assert seen.error == short.error


def test_marked_rounds_are_left_out() -> None:
    """By their mark alone, whether they were long or short."""
    marks = ("stolen", None, None, None, None, None, "stolen")
    seen = observe(rounds(0.1, 1.0, 1.0, 1.5, 1.0, 1.0, 9.0, disturbed=marks, steps=1))
    assert seen.step_time_s == 1.0
    assert (seen.rounds, seen.left_out) == (5, 2)


@pytest.mark.parametrize(("quiet", "usable"), [(5, True), (4, False), (0, False)])
def test_half_of_the_rounds_must_be_quiet(quiet: int, usable: bool) -> None:
    """Of ten rounds five undisturbed ones are enough, four are not."""
    marks = (None,) * quiet + ("others",) * (10 - quiet)
    series = rounds(*[1.0] * 10, disturbed=marks)
    if usable:
        assert observe(series).rounds == quiet
    else:
        with pytest.raises(Unusable, match=f"{10 - quiet} of 10 rounds were disturbed"):
            observe(series)


def test_half_of_the_cases_of_a_session_must_be_quiet() -> None:
    """Each counts alike, whatever number of rounds it has; those of which nobody looked what disturbed them don't."""
    quiet, loud, long = (
        rounds(*[1.0] * count, disturbed=(mark,) * count) for count, mark in ((10, None), (10, "a"), (97, "a"))
    )
    blind = rounds(*[1.0] * 30)
    assert disturbed_session([quiet, long, blind]) is None
    assert disturbed_session([quiet, quiet, loud, long]) is None
    assert disturbed_session([quiet, loud, long, blind]) == "2 of 3 cases were mostly disturbed from outside"
    assert disturbed_session([blind]) is None
    assert disturbed_session([]) is None


def test_white_noise_error_is_near_the_textbooks() -> None:
    """Independent rounds: between the textbook's standard error and three times it, for slow parts it might hide."""
    times = 1 + 0.05 * np.random.default_rng(0).standard_normal(100)
    error = observe_times(times.tolist()).error
    assert error is not None
    textbook = 0.05 / math.sqrt(100)
    assert textbook < error < 3 * textbook


def test_drifting_rounds_know_less() -> None:
    """The same values in order say far less of the next session than the same values mixed."""
    times = np.linspace(1.0, 1.2, 100)
    mixed = np.random.default_rng(0).permutation(times)
    drifting, steady = observe_times(times.tolist()).error, observe_times(mixed.tolist()).error
    assert drifting is not None
    assert steady is not None
    assert drifting > 3 * steady


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_no_time_is_refused(bad: float) -> None:
    """A time that is none says so instead of entering a mean."""
    with pytest.raises(Unusable, match="not a time"):
        observe_times([1.0, bad, 1.0])


@pytest.mark.parametrize("series", [Rounds(steps=1, wall_s=()), Rounds(steps=0, wall_s=(1.0,))])
def test_no_rounds_are_refused(series: Rounds) -> None:
    """Neither rounds nor steps: nothing was observed."""
    with pytest.raises(Unusable, match="no rounds"):
        observe(series)
    with pytest.raises(Unusable, match="no rounds"):
        observe_times([])


def test_errors_at_the_ends() -> None:
    """Equal rounds leave nothing open; rounds that spread too far for a claim leave half of the time open, not less."""
    assert observe_times([1.0] * 10).error == 0.0
    assert observe_times([1e-6, 1.0, 1e-6, 1.0, 1.0, 1e-6]).error == 0.5


def test_over_a_roof_both_errors_count() -> None:
    """Root of the sum of squares; what isn't known isn't known over a roof, either."""
    seen = observe(rounds(2.0, 2.2, 2.4, 2.6, 90.0), started_at="2026")
    over = replace(seen, error=0.03).over(0.6, 0.04)
    assert (over.step_time_s, over.error) == (2.0, pytest.approx(0.05, rel=1e-12))
    assert replace(seen, error=None).over(0.6, 0.04).error is None
    assert (over.rounds, over.started_at) == (5, "2026")
