"""Plans: what the protocols mean, and values that make no measurement."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_roofline.measuring import Plan


def test_the_adaptive_protocol_chooses_for_itself() -> None:
    """No number of steps is fixed unless it is given."""
    assert (Plan().fixed_warmup_steps, Plan().fixed_steps) == (None, None)
    given = Plan(warmup_steps=3, steps=7)
    assert (given.fixed_warmup_steps, given.fixed_steps) == (3, 7)


@pytest.mark.parametrize("protocol", ["window", "steps"])
def test_the_reports_protocols_are_ten_and_a_hundred_steps(protocol: str) -> None:
    """Unless other numbers are given; 0 steps of warm-up are a number."""
    assert (Plan(protocol=protocol).fixed_warmup_steps, Plan(protocol=protocol).fixed_steps) == (10, 100)
    given = Plan(protocol=protocol, warmup_steps=0, steps=5)
    assert (given.fixed_warmup_steps, given.fixed_steps) == (0, 5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"protocol": "fast"}, "protocol is 'fast'; use one of adaptive, window, steps"),
        ({"warmup_steps": -1}, "warmup_steps is -1; use None or a whole number from 0 up"),
        ({"steps": 0}, "steps is 0; use None or a whole number from 1 up"),
        ({"repeats": 0}, "repeats is 0; use a whole number from 1 up"),
        ({"margin": 0.0}, "margin is 0.0; use a number above 0"),
        ({"confidence": 1.0}, "confidence is 1.0; use a number between 0 and 1"),
        ({"max_time_s": 0.0}, "max_time_s is 0.0; use a number above 0"),
        ({"max_time_s": float("nan")}, "max_time_s is nan; use a number above 0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_values_that_make_no_measurement(values: dict[str, Any], message: str) -> None:
    """The message names the value and what is allowed."""
    with pytest.raises(ValueError, match="^" + message.replace(".", r"\.") + "$"):
        Plan(**values)
