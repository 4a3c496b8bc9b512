"""Numbers are shown with an SI prefix and significant digits, and never with an exponent."""

import pytest

from roofline.text.units import (
    first_lines,
    in_document,
    named,
    scaled,
    unit_of,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0, "0 s"),
        (2.5e-3, "2.50 ms"),
        (1.0, "1.00 s"),
        (12.3456, "12.3 s"),
        (3e-9, "3.00 ns"),
        (3e-12, "0.00300 ns"),
        (1e18, "1000 Ps"),
        (-2.5e-3, "-2.50 ms"),
    ],
)
def test_scaled(value: float | None, shown: str) -> None:
    """The largest prefix that leaves at least 1 is chosen; beyond the last one the number grows."""
    assert scaled(value, "s") == shown


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("step_time_s", "s"),
        ("forward_mac_per_sample", "MAC"),
        ("instructions_per_cycle", "instructions/cycle"),
        ("l2_intensity_flop_per_byte", "FLOP/B"),
        *(
            (name, "1")
            for name in (
                *("base_fraction_of_roof", "min_fraction_of_speed_of_light", "new_slowest_round", "share_compute"),
                *("share_of_time", "throttle_share", "between_sessions", "within_session", "slowest_over_fastest"),
            )
        ),
        ("batch", None),
    ],
)
def test_a_name_says_its_unit(name: str, unit: str | None) -> None:
    """A share, and whatever is relative to something of its kind, has 1."""
    assert unit_of(name) == unit


def test_rounding_may_change_the_prefix() -> None:
    """999.96 rounds to 1000, which is 1.00 k and not 1000."""
    assert scaled(999.96, "B") == "1.00 kB"
    assert scaled(999.4, "B") == "999 B"


def test_two_of_a_kind_are_shown_unless_all_are_asked_for() -> None:
    """The rest is counted, by how many each line is of."""
    lines = ["a", "b", "c", "d"]
    *first, rest = first_lines("slower", lines, verbose=False, counts=[1, 4, 2, 3])
    assert (first, rest) == (["a", "b"], "slower: and 5 more (-v shows all)")
    assert in_document(rest) == "slower: and 5 more (`roofline check -v` shows all)"
    assert first_lines("slower", lines, verbose=True) == ["a", "b", "c", "d"]
    assert first_lines("slower", lines[:2], verbose=False) == ["a", "b"]
    assert first_lines("slower", lines, verbose=False)[-1] == "slower: and 2 more (-v shows all)"
    assert [named(["a", "b", "c"], verbose=verbose) for verbose in (False, True)] == ["a, b and 1 more", "a, b, c"]
