"""Plans: what the protocols mean."""

from __future__ import annotations

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
