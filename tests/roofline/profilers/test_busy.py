"""For how much of its time a device had something to do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.profilers.busy import Busy, busy


def of(*intervals: tuple[int, int]) -> Busy | None:
    starts, ends = zip(*intervals, strict=True) if intervals else ((), ())
    return busy(np.array(starts, np.int64), np.array(ends, np.int64))


def test_nothing_is_no_idle_device() -> None:
    """Without an interval there is no span and no share: None, not 0."""
    assert of() is None


def test_intervals_that_overlap_count_once() -> None:
    """The union, in whatever order they come: 0 to 30, 50 to 60 and 100 to 110 of 110 ns."""
    one = of((100, 110), (0, 20), (10, 30), (12, 14), (50, 60))
    assert one is not None
    assert (one.start_ns, one.end_ns) == (0, 110)
    assert one.span_s == pytest.approx(110e-9)
    assert one.busy_s == pytest.approx(50e-9)
    assert one.share == pytest.approx(50 / 110)
    assert one.gaps == 2
    assert one.longest_gap_s == pytest.approx(40e-9)
    assert one.median_gap_s == pytest.approx(30e-9)


def test_a_long_interval_covers_what_starts_in_it() -> None:
    """The end that counts is the latest so far, not that of the interval before."""
    one = of((0, 100), (10, 20), (30, 40), (90, 120))
    assert one is not None
    assert (one.gaps, one.longest_gap_s, one.median_gap_s, one.share) == (0, None, None, 1.0)


def test_intervals_that_touch_leave_no_gap() -> None:
    """The next one starts when the last one ends."""
    one = of((0, 10), (10, 20))
    assert one is not None
    assert one.gaps == 0


def test_a_span_of_no_length_has_no_share() -> None:
    """A single event of no duration."""
    one = of((5, 5))
    assert one is not None
    assert one.share is None


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1
    )
)
def test_the_union_is_what_counting_moments_gives(intervals: list[tuple[int, int]]) -> None:
    """As many nanoseconds as there are moments that at least one interval covers."""
    one = of(*intervals)
    assert one is not None
    covered = {moment for start, end in intervals for moment in range(start, end)}
    assert one.busy_s == pytest.approx(len(covered) * 1e-9)
