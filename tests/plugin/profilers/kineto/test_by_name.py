"""What the profiler saw of several steps, by its name."""

from __future__ import annotations

from pytest_roofline.profilers.kineto.attribution import MOST_KERNELS, MOST_OUTSIDE, kernel_times, outside_times
from roofline.schema.record import KernelTime, OutsideTime


def test_calls_and_times_are_the_medians_of_the_steps() -> None:
    """Calls of one name are added up within a step; the longest comes first."""
    steps = [
        [("a", 1_000_000_000), ("b", 5_000_000_000), ("a", 1_000_000_000)],
        [("a", 3_000_000_000), ("b", 7_000_000_000)],
        [("b", 6_000_000_000), ("a", 2_000_000_000), ("a", 2_000_000_000), ("a", 0)],
    ]
    assert outside_times(steps) == (
        OutsideTime(name="b", calls=1.0, time_s=6.0),
        OutsideTime(name="a", calls=2.0, time_s=3.0),
    )
    assert kernel_times(steps) == (
        KernelTime(name="b", launches=1.0, time_s=6.0),
        KernelTime(name="a", launches=2.0, time_s=3.0),
    )


def test_what_most_steps_lack_is_in_none() -> None:
    """A step that lacks a name counts as 0, so that a hiccup of one step isn't told as part of every one."""
    assert outside_times([[("rare", 9)], [], []]) == ()
    assert [one.name for one in outside_times([[("often", 9)], [("often", 9)], []])] == ["often"]


def test_the_rest_is_one_entry() -> None:
    """Nothing is dropped for being short: what isn't listed is added up."""
    calls = [(f"kernel {number}", 500_000_000 * (number + 1)) for number in range(MOST_OUTSIDE + 3)]
    *listed, rest = outside_times([calls])
    assert [one.name for one in listed][:2] == [f"kernel {MOST_OUTSIDE + 2}", f"kernel {MOST_OUTSIDE + 1}"]
    assert len(listed) == MOST_OUTSIDE
    assert (rest.name, rest.calls, rest.time_s) == ("3 others", 3.0, 0.5 + 1.0 + 1.5)


def test_of_kernels_more_are_listed() -> None:
    """A training step of a large model has about a hundred different ones."""
    *listed, rest = kernel_times([[(f"kernel {number}", 500_000_000) for number in range(MOST_KERNELS + 2)]])
    assert (len(listed), rest) == (MOST_KERNELS, KernelTime(name="2 others", launches=2.0, time_s=1.0))


def test_exactly_as_many_as_fit_need_no_rest() -> None:
    """The entry for the others stands only where there are some."""
    assert len(outside_times([[(f"kernel {number}", 1) for number in range(MOST_OUTSIDE)]])) == MOST_OUTSIDE


def test_no_steps_and_no_calls() -> None:
    """Nothing outside is an empty tuple."""
    assert outside_times([[]]) == ()
    assert kernel_times([[]]) == ()
