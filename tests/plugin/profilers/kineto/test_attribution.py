"""Whose time is whose, on traces made by hand that lie as kineto's do."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_roofline.profilers.kineto.attribution import (
    MOST_KERNELS,
    MOST_OUTSIDE,
    by_kernel,
    by_operator,
    by_self_time,
    kernel_times,
    outside_times,
)
from pytest_roofline.profilers.kineto.recording import LABEL, Kernel, Recording, Span
from roofline.schema.record import KernelTime, OutsideTime

MAIN, BACKWARD = 1, 2


def recording(*spans: Span, kernels: tuple[Kernel, ...] = ()) -> Recording:
    return Recording(wall_s=1.0, thread=MAIN, spans=spans, kernels=kernels)


def dispatched(name: str, start: int, end: int, label: str, *, thread: int = MAIN, first_id: int = 10) -> list[Span]:
    """What one operation leaves behind: the call, torch's span around the mode, the label, and the operator itself.

    The operator takes 10 less at either end than the label, and the label 10 less than the call.
    """
    return [
        Span(name, start, end, thread, first_id),
        Span("PythonDispatchMode", start + 5, end - 5, thread, first_id + 1),
        Span(label, start + 10, end - 10, thread, first_id + 2),
        Span(name, start + 20, end - 20, thread, first_id + 3),
    ]


FORWARD = dispatched("aten::mm", 100, 200, f"{LABEL}0", first_id=10)
"""An operator of 60 ns in a label of 80."""


VIEW = dispatched("aten::t", 0, 100, LABEL)
AROUND = Span("autograd::engine::evaluate_function: MmBackward0", 90, 210, MAIN, 1)
FREE = (Span("AccumulateGrad", 300, 350, MAIN, 2), Span("aten::empty", 310, 320, MAIN, 3))
BACK = dispatched("aten::add", 100, 200, f"{LABEL}1", thread=BACKWARD, first_id=50)
TOGETHER = (Span(f"{LABEL}2", 0, 100, MAIN, 1), Span("aten::mm", 0, 90, MAIN, 2))
SEVERAL = (Span(f"{LABEL}4", 0, 100, MAIN, 1), Span("aten::mm", 10, 30, MAIN, 2), Span("aten::add", 40, 45, MAIN, 3))


@pytest.mark.parametrize(
    ("spans", "leaf_ns", "outside"),
    [
        # Neither the label's nor the dispatch's own costs are in it, and what the operator calls is in it once.
        ((*FORWARD, Span("aten::empty", 130, 140, MAIN, 99)), {0: 60}, []),
        # A higher-order operator is one operation, whatever it calls in turn.
        (SEVERAL, {4: 25}, []),
        # One written in Python leaves no span of its own: the label's.
        ((Span(f"{LABEL}7", 10, 60, MAIN, 1),), {7: 50}, []),
        # One that ends with its label lies in it.
        ((Span(f"{LABEL}3", 0, 100, MAIN, 1), Span("aten::mm", 10, 100, MAIN, 2)), {3: 90}, []),
        # A view's label has no number: it does no work that is counted, but takes its time.
        (VIEW, {}, [("aten::t", 60)]),
        # What is around labels is no work beside them; of the rest the outermost counts, with all that it calls.
        ((AROUND, *FORWARD, *FREE), {0: 60}, [("AccumulateGrad", 50)]),
        # At the same time, on another thread, isn't inside.
        ((*FORWARD, *BACK, Span("other", 120, 180, 3, 90)), {0: 60, 1: 60}, [("other", 60)]),
        # Kineto's list is in no order that is promised; of two spans that start together the longer is around.
        (TOGETHER, {2: 90}, []),
        (TOGETHER[::-1], {2: 90}, []),
    ],
    ids=["operator", "several", "python", "to its end", "view", "outermost", "threads", "together", "swapped"],
)
def test_time_of_operators(spans: Sequence[Span], leaf_ns: dict[int, int], outside: list[tuple[str, int]]) -> None:
    """An operation takes as long as the operators in its label; spans in which nothing was dispatched are outside."""
    times = by_operator(recording(*spans))
    assert (times.leaf_ns, times.outside) == (leaf_ns, outside)


def test_kernels_go_to_the_label_they_were_launched_in() -> None:
    """All of them, copies too, however long after; those of the backward pass from the thread it runs on."""
    backward = dispatched("aten::convolution_backward", 300, 400, f"{LABEL}1", thread=BACKWARD, first_id=50)
    kernels = (
        Kernel("gemm", 500, 1500, launched_by=13),
        Kernel("Memcpy HtoD", 400, 470, launched_by=13),
        Kernel("dgrad", 1500, 3500, launched_by=53),
        Kernel("wgrad", 3500, 6500, launched_by=60),
    )
    inner = Span("aten::cudnn_convolution_backward", 330, 360, BACKWARD, 60)
    times = by_kernel(recording(*FORWARD, *backward, inner, kernels=kernels))
    assert times.leaf_ns == {0: 1070, 1: 5000}
    assert times.outside == []


def test_kernels_launched_elsewhere_are_outside() -> None:
    """By no span at all, by the call around a label, and by an operation without a number."""
    view = dispatched("aten::t", 300, 400, LABEL, first_id=50)
    kernels = (
        Kernel("alone", 0, 1, 0),
        Kernel("around", 1, 3, 10),
        Kernel("of a view", 3, 7, 53),
        Kernel("alone", 7, 15, 999),
    )
    times = by_kernel(recording(*FORWARD, *view, kernels=kernels))
    assert times.leaf_ns == {0: 0}
    assert times.outside == [("alone", 1), ("around", 2), ("of a view", 4), ("alone", 8)]


def test_self_times_add_up_to_the_outermost_spans() -> None:
    """Each span without what it calls directly; of two calls of one name each has its own."""
    region = Span("Torch-Compiled Region: 0/0", 0, 100, MAIN, 1)
    inner = [Span("aten::mm", 10, 40, MAIN, 2), Span("aten::empty", 15, 20, MAIN, 3), Span("aten::mm", 50, 60, MAIN, 4)]
    times = by_self_time(recording(region, *inner))
    assert sorted(times.outside) == [
        ("Torch-Compiled Region: 0/0", 60),
        ("aten::empty", 5),
        ("aten::mm", 10),
        ("aten::mm", 25),
    ]
    assert times.leaf_ns == {}


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


@pytest.mark.parametrize("more", [0, 3])
def test_the_rest_is_one_entry(more: int) -> None:
    """Nothing is dropped for being short: what isn't listed is added up. Of kernels more are listed."""
    shortest = [0.5, 1.0, 1.5][:more]
    for times, most in ((outside_times, MOST_OUTSIDE), (kernel_times, MOST_KERNELS)):
        calls = [(f"kernel {number}", 500_000_000 * (number + 1)) for number in range(most + more)]
        found = times([calls])
        assert [one.name for one in found][:2] == [f"kernel {most + more - 1}", f"kernel {most + more - 2}"]
        assert [(one.name, one.time_s) for one in found[most:]] == ([("3 others", sum(shortest))] if more else [])
