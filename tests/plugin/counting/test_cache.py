"""The ideal cache: least traffic of a sequence of operations."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_roofline.counting.cache import Touch, Unit, least_traffic_byte
from pytest_roofline.counting.storages import Access

PARAMETER = Unit(100, external=True, outlives=True)
INTERMEDIATE = Unit(100, external=False, outlives=False)
OUTPUT = Unit(100, external=False, outlives=True)


def access(unit: int, byte: int = 100, *, first: bool = False) -> Access:
    return Access(unit, byte, first)


def touch(reads: list[Access], writes: list[Access]) -> Touch:
    return Touch(tuple(reads), tuple(writes))


def test_unlimited_cache_leaves_the_compulsory_traffic() -> None:
    """Parameter read once though used twice, output written once, what passes between operations free."""
    steps = [
        touch([access(0, first=True)], [access(1, first=True)]),
        touch([access(0), access(1)], [access(2, first=True)]),
    ]
    assert least_traffic_byte(steps, [PARAMETER, INTERMEDIATE, OUTPUT], inf) == 100 + 100


def test_no_cache_leaves_everything_that_matters_again() -> None:
    """Every read misses, every result that is read is written: the eager traffic."""
    steps = [
        touch([access(0, first=True)], [access(1, first=True)]),
        touch([access(0), access(1)], [access(2, first=True)]),
    ]
    assert least_traffic_byte(steps, [PARAMETER, INTERMEDIATE, OUTPUT], 0) == 5 * 100


def test_only_what_does_not_fit_is_written_and_read_again() -> None:
    """An intermediate of 100 bytes behind 60 bytes of cache: 40 out, 40 back in."""
    steps = [touch([], [access(0, first=True)]), touch([access(0)], [])]
    assert least_traffic_byte(steps, [INTERMEDIATE], 60) == 80


def test_what_is_read_last_is_given_up_first() -> None:
    """Of two intermediates the one needed sooner stays."""
    steps = [
        touch([], [access(0, first=True)]),
        touch([], [access(1, 80, first=True)]),
        touch([access(1, 80)], []),
        touch([access(0)], []),
    ]
    units = [INTERMEDIATE, Unit(80, external=False, outlives=False)]
    # 180 bytes don't fit into 100: 80 of the first go out and come back.
    assert least_traffic_byte(steps, units, 100) == 2 * 80


def test_what_memory_already_has_costs_no_write() -> None:
    """A parameter pushed out is read again, never written."""
    steps = [
        touch([access(0, first=True)], [access(1, first=True)]),
        touch([access(1)], []),
        touch([access(0)], []),
    ]
    assert least_traffic_byte(steps, [PARAMETER, INTERMEDIATE], 100) == 100 + 100


def test_a_changed_parameter_is_read_and_written() -> None:
    """An optimiser's update: 100 in, 100 out, once, however often it is changed on the way."""
    update = touch([access(0, first=True)], [access(0)])
    again = touch([access(0)], [access(0)])
    assert least_traffic_byte([update, again], [PARAMETER], inf) == 200


def test_what_is_overwritten_unread_is_not_fetched() -> None:
    """A buffer from before the step that is only written costs the write."""
    assert least_traffic_byte([touch([], [access(0, first=True)])], [PARAMETER], inf) == 100


def test_what_nobody_needs_costs_nothing() -> None:
    """A by-product that is never read and doesn't outlive the step."""
    assert least_traffic_byte([touch([], [access(0, first=True)])], [INTERMEDIATE], 10) == 0


def test_parts_of_a_storage_are_fetched_once_each() -> None:
    """Slices of a batch: each comes in when it is first read."""
    steps = [
        touch([access(0, 50, first=True)], []),
        touch([access(0, 50, first=True)], []),
        touch([access(0, 50)], []),
    ]
    assert least_traffic_byte(steps, [PARAMETER], inf) == 100


def test_parts_written_one_by_one_add_up() -> None:
    """A result put together from slices is dirty as a whole."""
    steps = [touch([], [access(0, 50, first=True)]), touch([], [access(0, 50, first=True)])]
    assert least_traffic_byte(steps, [OUTPUT], inf) == 100


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Touch], list[Unit]]:
    sizes = draw(st.lists(st.integers(1, 100), min_size=1, max_size=6))
    units = [Unit(size, external=draw(st.booleans()), outlives=draw(st.booleans())) for size in sizes]
    seen: set[int] = set()

    def some() -> list[Access]:
        chosen = draw(st.lists(st.integers(0, len(units) - 1), max_size=3, unique=True))
        accesses = [Access(unit, units[unit].byte, unit not in seen) for unit in chosen]
        seen.update(chosen)
        return accesses

    return [touch(some(), some()) for _ in range(draw(st.integers(1, 12)))], units


@settings(deadline=None, max_examples=300)
@given(sequences(), st.integers(0, 300))
def test_never_more_than_the_eager_traffic_nor_less_than_the_compulsory(
    drawn: tuple[list[Touch], list[Unit]], capacity: int
) -> None:
    """Low <= high, whatever the operations, and a finite cache saves no more than an unlimited one."""
    touches, units = drawn
    eager = sum(access.byte for one in touches for access in (*one.reads, *one.writes))
    low = least_traffic_byte(touches, units, capacity)
    assert least_traffic_byte(touches, units, inf) <= low <= eager


@pytest.mark.parametrize("capacity", [0, 50, 150, inf])
def test_an_unused_cache_leaves_nothing(capacity: float) -> None:
    """No operations, no traffic."""
    assert least_traffic_byte([], [], capacity) == 0
