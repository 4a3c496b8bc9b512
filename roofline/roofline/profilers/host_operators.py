"""Where the host's time went, operator by operator, from their nested calls."""

from __future__ import annotations

from collections.abc import Iterable

from roofline.profilers.busy import NS_PER_S
from roofline.profilers.timeline import OperatorRow


def operator_rows(calls: Iterable[tuple[str, str, int, int]]) -> tuple[OperatorRow, ...]:
    """A row an operator, by the time spent in itself, longest first.

    :param calls: name, thread, start and end in nanoseconds of each, in any order. Of two calls of one thread that
        overlap, the later one was made by the earlier one.
    """
    threads: dict[str, list[tuple[int, int, str]]] = {}
    for name, thread, start, end in calls:
        threads.setdefault(thread, []).append((start, -end, name))
    totals: dict[str, _Total] = {}
    for events in threads.values():
        _add(events, totals)
    rows = (
        OperatorRow(name=name, calls=one.calls, self_s=one.self_ns / NS_PER_S, total_s=one.total_ns / NS_PER_S)
        for name, one in totals.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.self_s, row.name)))


class _Total:
    """Of one name: what its calls sum up to, and how many of them are open."""

    __slots__ = ("calls", "open", "self_ns", "total_ns")

    def __init__(self) -> None:
        self.calls = self.open = self.self_ns = self.total_ns = 0


def _add(events: list[tuple[int, int, str]], totals: dict[str, _Total]) -> None:
    """:param events: of one thread: start, negative end (of those that start together the longest is outside), name."""
    stack: list[tuple[int, _Total]] = []
    for start, minus_end, name in sorted(events):
        while stack and stack[-1][0] <= start:
            stack.pop()[1].open -= 1
        # Clocks are rounded: what seems to outlast its caller ended with it.
        end = min(-minus_end, stack[-1][0]) if stack else -minus_end
        one = totals.get(name)
        if one is None:
            one = totals[name] = _Total()
        if stack:
            stack[-1][1].self_ns -= end - start
        one.calls += 1
        one.self_ns += end - start
        one.total_ns += 0 if one.open else end - start
        one.open += 1
        stack.append((end, one))
    for _, one in stack:
        one.open -= 1
