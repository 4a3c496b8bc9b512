"""When the device had something to do: streams run beside each other, and only what lies between kernels is a gap."""

from __future__ import annotations

import pytest

from pytest_roofline.profilers.kineto.attribution import Busy, busy
from pytest_roofline.profilers.kineto.recording import Kernel


@pytest.mark.parametrize(
    ("intervals", "busy_ns", "longest_gap_ns"),
    [
        ([], 0, 0),
        ([(100, 150)], 50, 0),
        ([(100, 150), (150, 170)], 70, 0),
        ([(100, 150), (160, 170), (200, 201)], 61, 30),
        ([(0, 100), (20, 30), (110, 120)], 110, 10),
        ([(0, 100), (50, 150), (20, 160)], 160, 0),
        ([(200, 210), (0, 10)], 20, 190),
        ([(0, 10), (0, 10), (5, 5), (30, 30)], 10, 20),
    ],
    ids=["none", "one", "touching", "gaps", "inside another", "overlapping", "out of order", "of no length"],
)
def test_the_union_and_its_longest_gap(intervals: list[tuple[int, int]], busy_ns: int, longest_gap_ns: int) -> None:
    """What overlaps counts once; before the first and after the last is no gap between two."""
    kernels = [Kernel("kernel", start, end, 0) for start, end in intervals]
    assert busy(kernels) == Busy(busy_ns, longest_gap_ns)
