"""Recorded times by operation: by kernel, and by operator's name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from pytest_roofline.profilers.kineto.recording import LABEL, Recording, Span
from roofline.schema.record import KernelTime, OutsideTime

MOST_OUTSIDE = 30
MOST_KERNELS = 100
"""What comes after the longest of these is one entry together."""


def outside_times(steps: Sequence[Iterable[tuple[str, int]]]) -> tuple[OutsideTime, ...]:
    """Sum up what ran outside of the counted operations; at most `MOST_OUTSIDE` names and the others.

    :param steps: of each step every call with its nanoseconds.
    """
    return tuple(OutsideTime(name=name, calls=calls, time_s=s) for name, calls, s in _medians(steps, MOST_OUTSIDE))


def kernel_times(steps: Sequence[Iterable[tuple[str, int]]]) -> tuple[KernelTime, ...]:
    """Sum up all kernels, copies and fills; at most `MOST_KERNELS` names and the others. As `outside_times`."""
    return tuple(KernelTime(name=name, launches=calls, time_s=s) for name, calls, s in _medians(steps, MOST_KERNELS))


def _medians(steps: Sequence[Iterable[tuple[str, int]]], most: int) -> list[tuple[str, float, float]]:
    """Name, and the median over the steps of calls and of seconds, longest first.

    A name that a step lacks counts as 0 there; one that most steps lack is left out. What comes after the longest
    ``most`` is one entry together.
    """
    spent: list[dict[str, list[int]]] = [{} for _ in steps]
    for step, calls in zip(spent, steps, strict=True):
        for name, time_ns in calls:
            step.setdefault(name, []).append(time_ns)
    medians = [
        (
            name,
            float(median(len(step.get(name, ())) for step in spent)),
            median(sum(step.get(name, ())) for step in spent),
        )
        for name in dict.fromkeys(name for step in spent for name in step)
    ]
    longest = sorted((one for one in medians if one[1]), key=lambda one: -one[2])
    rest = longest[most:]
    if rest:
        others = (f"{len(rest)} others", sum(calls for _, calls, _ in rest), sum(time_ns for _, _, time_ns in rest))
        longest[most:] = [others]
    return [(name, calls, time_ns / 1e9) for name, calls, time_ns in longest]


_DISPATCH = "PythonDispatchMode"
"""torch's own span around what a mode does with one operation. The mode is ours: no part of the step."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Time in one step: of the operations, by their number, and of what belongs to none, each call with its name."""

    leaf_ns: dict[int, int] = field(default_factory=dict)
    outside: list[tuple[str, int]] = field(default_factory=list)


def by_operator(recording: Recording) -> StepTimes:
    """Time of operators on the host.

    An operation takes as long as the operators called directly inside its label, without the label's own costs. One
    that calls none (written in Python) takes as long as its label. Outside are operators that do no work, and spans in
    which no operation was dispatched at all.
    """
    times = StepTimes()
    for node in _nodes(recording.spans):
        if node.parent is not None and node.parent.accounted:
            node.accounted = True
        elif node.is_label:
            if node.number is None:
                times.outside.extend((child.name, child.duration_ns) for child in node.children)
            else:
                inside = sum(child.duration_ns for child in node.children)
                times.leaf_ns[node.number] = inside or node.span.duration_ns
            node.accounted = True
        elif not node.holds_label and node.span.name != _DISPATCH:
            times.outside.append((node.span.name, node.span.duration_ns))
            node.accounted = True
    return times


def by_kernel(recording: Recording) -> StepTimes:
    """Time of kernels on the device.

    An operation takes as long as all kernels launched inside its label together, whatever thread launched them; an
    operation that launched none takes no time. Outside are kernels launched elsewhere.
    """
    times = StepTimes()
    numbers: dict[int, int] = {}
    for node in _nodes(recording.spans):
        if node.number is not None:
            numbers[node.span.id] = node.number
            times.leaf_ns.setdefault(node.number, 0)
    for kernel in recording.kernels:
        number = numbers.get(kernel.launched_by)
        if number is None:
            times.outside.append((kernel.name, kernel.duration_ns))
        else:
            times.leaf_ns[number] += kernel.duration_ns
    return times


def by_self_time(recording: Recording) -> StepTimes:
    """Time of everything on the host by its name, without what it calls in turn: of a step that has no labels."""
    times = StepTimes()
    for node in _nodes(recording.spans):
        inside = sum(child.duration_ns for child in node.children)
        times.outside.append((node.span.name, node.span.duration_ns - inside))
    return times


@dataclass(slots=True)
class _Node:
    """A span and its place. ``number`` is that of the operation whose label it is or lies in."""

    span: Span
    parent: _Node | None
    number: int | None
    children: list[Span] = field(default_factory=list)
    holds_label: bool = False
    accounted: bool = False
    """Its time is accounted for, and with it that of all it calls."""

    @property
    def is_label(self) -> bool:
        return self.span.name.startswith(LABEL)


def _nodes(spans: Sequence[Span]) -> list[_Node]:
    """The spans as they lie in one another, thread by thread, each after the one it lies in."""
    nodes: list[_Node] = []
    around: list[_Node] = []
    for span in sorted(spans, key=lambda span: (span.thread, span.start_ns, -span.end_ns)):
        while around and not (
            span.thread == around[-1].span.thread
            and span.start_ns < around[-1].span.end_ns
            and span.end_ns <= around[-1].span.end_ns
        ):
            around.pop()
        parent = around[-1] if around else None
        node = _Node(span, parent, parent.number if parent else None)
        if parent:
            parent.children.append(span)
        if node.is_label:
            node.number = int(number) if (number := span.name.removeprefix(LABEL)) else None
            for outer in around:
                outer.holds_label = True
        nodes.append(node)
        around.append(node)
    return nodes
