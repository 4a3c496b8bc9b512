"""From one recorded step to the time of its operations: whose is which stretch of the host, whose which kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_roofline.profilers.kineto.labels import LABEL
from pytest_roofline.profilers.kineto.recording import Recording, Span

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
        if node.parent is not None and node.parent.settled:
            node.settled = True
        elif node.is_label:
            _take_label(times, node)
            node.settled = True
        elif not node.holds_label and node.span.name != _DISPATCH:
            times.outside.append((node.span.name, node.span.duration_ns))
            node.settled = True
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
    settled: bool = False
    """Its time is accounted for, and with it that of all it calls."""

    @property
    def is_label(self) -> bool:
        return self.span.name.startswith(LABEL)


def _take_label(times: StepTimes, node: _Node) -> None:
    if node.number is not None:
        times.leaf_ns[node.number] = sum(child.duration_ns for child in node.children) or node.span.duration_ns
    else:
        times.outside.extend((child.name, child.duration_ns) for child in node.children)


def _nodes(spans: Sequence[Span]) -> list[_Node]:
    """The spans as they lie in one another, thread by thread, each after the one it lies in."""
    nodes: list[_Node] = []
    around: list[_Node] = []
    for span in sorted(spans, key=lambda span: (span.thread, span.start_ns, -span.end_ns)):
        while around and not _inside(span, around[-1].span):
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


def _inside(span: Span, other: Span) -> bool:
    return span.thread == other.thread and span.start_ns < other.end_ns and span.end_ns <= other.end_ns
