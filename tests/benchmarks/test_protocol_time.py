"""The protocols are compared where the fixed one reaches the margin, by all the time that each takes."""

from __future__ import annotations

import math

import pytest

from benchmarks.protocol_time import counts, errors, figures, reached
from roofline.schema.record import Rounds, Timing


def timing(step_s: float, rounds: int, *, warmup_s: float = 0.0, margin: float | None = 0.01) -> Timing:
    return Timing(
        protocol="steps",
        step_time_s=step_s,
        step_time_sd_s=None,
        rounds=Rounds(steps=1, wall_s=(step_s,) * rounds),
        warmup_steps=1,
        warmup_s=warmup_s,
        warmup_settled=None,
        confidence=0.95,
        margin_target=None,
        margin=margin,
        stop_reason="fixed",
    )


FIXED = {
    "long": timing(1.0, 100, warmup_s=10.0),
    "short": timing(0.001, 100, margin=0.3),
    "unsure": timing(0.1, 100, margin=None),
}
ADAPTIVE = {
    "long": timing(1.02, 20, warmup_s=6.6),
    "short": timing(0.001, 9000),
    "unsure": timing(0.1, 90),
}


def test_cases_that_the_fixed_protocol_cannot_tell_are_left_out() -> None:
    """It claims too wide a margin for one, and none for the other."""
    assert reached(FIXED, 0.01) == ["long"]
    assert [figure.reached for figure in counts(FIXED, {0.01: [], 0.05: []})] == [True, False, True]


def test_warmup_counts_as_time() -> None:
    """(20.4 + 6.6) s of the adaptive protocol against 110 s."""
    found = {figure.name: figure for figure in figures({"long": FIXED["long"]}, ADAPTIVE, {}, 0.01)}
    ratio = found["±1 %: adaptive / fixed, all of these"]
    assert ratio.median == pytest.approx(27.0 / 110.0)
    assert ratio.reached


def test_time_that_does_not_reach_the_margin_is_no_gain() -> None:
    """The adaptive protocol ended by its budget."""
    adaptive = {"long": timing(1.0, 5, margin=0.02)}
    found = {figure.name: figure for figure in figures({"long": FIXED["long"]}, adaptive, {}, 0.01)}
    assert not found["±1 %: cases in which the adaptive one doesn't"].reached


def test_errors_are_relative_to_the_long_run() -> None:
    """Either way, as logarithms; a case without a long run has none."""
    found = errors("adaptive", ADAPTIVE, {"long": 1.0, "unsure": 0.1}, 0.01)
    assert found[0].samples == pytest.approx((math.log(1.02), 0.0))
    assert not errors("adaptive", ADAPTIVE, {}, 0.01)
