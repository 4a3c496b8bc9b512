"""Every unit that ncu prints comes out in base units; one of another dimension, or unknown, does not."""

from __future__ import annotations

import pytest

from roofline.counters.quantities import Dimension
from roofline.profilers.ncu.values import factors


@pytest.mark.parametrize(
    ("unit", "dimension", "one"),
    [
        ("byte", "byte", 1.0),
        ("Kbyte", "byte", 1e3),
        ("Mbyte", "byte", 1e6),
        ("Gbyte", "byte", 1e9),
        ("Tbyte", "byte", 1e12),
        ("s", "time", 1.0),
        ("second", "time", 1.0),
        ("ms", "time", 1e-3),
        ("msecond", "time", 1e-3),
        ("us", "time", 1e-6),
        ("usecond", "time", 1e-6),
        ("ns", "time", 1e-9),
        ("nsecond", "time", 1e-9),
        ("byte/s", "byte_per_s", 1.0),
        ("Gbyte/s", "byte_per_s", 1e9),
        ("Tbyte/second", "byte_per_s", 1e12),
        ("byte/nsecond", "byte_per_s", 1e9),
        ("inst", "count", 1.0),
        ("Kinst", "count", 1e3),
        ("sector", "count", 1.0),
        ("", "count", 1.0),
        ("hz", "frequency", 1.0),
        ("Ghz", "frequency", 1e9),
        ("cycle/nsecond", "frequency", 1e9),
        ("cycle/usecond", "frequency", 1e6),
        ("inst/cycle", "per_cycle", 1.0),
        ("%", "share", 1.0),
    ],
)
def test_units(unit: str, dimension: Dimension, one: float) -> None:
    """Prefixes are powers of 1000, parts of a second are small."""
    found = factors(unit, dimension)
    assert found is not None
    assert found[0] / found[1] == one


@pytest.mark.parametrize(
    ("unit", "dimension"),
    [
        ("", "time"),
        ("", "byte"),
        ("cycle", "time"),
        ("byte", "time"),
        ("ns", "byte"),
        ("byte/s", "byte"),
        ("byte", "byte_per_s"),
        ("%", "byte_per_s"),
        ("%", "count"),
        ("unit", "count"),
        ("inst/s", "per_cycle"),
        ("register/thread", "byte_per_s"),
        ("Xbyte", "byte"),
        ("Kns", "time"),
        ("", "share"),
        ("byte/", "byte_per_s"),
    ],
)
def test_foreign_units(unit: str, dimension: Dimension) -> None:
    """Better no value than one in the wrong unit."""
    assert factors(unit, dimension) is None


def test_no_digit_is_lost() -> None:
    """10,000 microseconds are 0.01 s, though 10,000 x 1e-6 is not."""
    found = factors("usecond", "time")
    assert found is not None
    assert 10_000.0 * found[0] / found[1] == 0.01
    assert 6.75 * found[0] / found[1] == 6.75e-6
