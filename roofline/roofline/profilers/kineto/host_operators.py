"""Share the host's time out among operators, by their nested calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from roofline.profilers.timeline import NS_PER_S, OperatorRow

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

_SLICE = 2**16
"""Calls that are Python objects at a time: as such one takes ten times the memory that it has in a column."""


def operator_rows(
    names: Sequence[str],
    which: NDArray[int64],
    thread: NDArray[int64],
    start_ns: NDArray[int64],
    end_ns: NDArray[int64],
) -> tuple[OperatorRow, ...]:
    """Sum up calls: a row an operator, by the time spent in itself, longest first.

    Of two calls of one thread that overlap, the earlier one made the later one. Of two that start together the longer
    one did, and of two of one length the one that stands first.

    :param names: of the operators.
    :param which: of n calls, the index of its name; ``thread``, ``start_ns`` and ``end_ns`` of the same n.
    """
    totals: dict[int, _Total] = {}
    stack: list[tuple[int, _Total]] = []
    last = None
    for name, own, start, told_end in _outermost_first(which, thread, start_ns, end_ns):
        if own != last:
            _close(stack, None)
            last = own
        _close(stack, start)
        # Clocks are rounded: what seems to outlast its caller ended with it.
        end = min(told_end, stack[-1][0]) if stack else told_end
        if stack:
            stack[-1][1].self_ns -= end - start
        one = totals.get(name)
        if one is None:
            one = totals[name] = _Total()
        one.calls += 1
        one.self_ns += end - start
        one.total_ns += 0 if one.open else end - start
        one.open += 1
        stack.append((end, one))
    rows = (
        OperatorRow(name=names[name], calls=one.calls, self_s=one.self_ns / NS_PER_S, total_s=one.total_ns / NS_PER_S)
        for name, one in totals.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.self_s, row.name)))


class _Total:
    """Of one name: what its calls sum up to, and how many of them are open."""

    __slots__ = ("calls", "open", "self_ns", "total_ns")

    def __init__(self) -> None:
        self.calls = self.open = self.self_ns = self.total_ns = 0


def _outermost_first(
    which: NDArray[int64], thread: NDArray[int64], start_ns: NDArray[int64], end_ns: NDArray[int64]
) -> Iterator[tuple[int, int, int, int]]:
    """Each call's name, thread, start and end: thread by thread, callers before what they called."""
    import numpy as np

    order = np.lexsort((-end_ns, start_ns, thread))  # stable: equal ones stay as they stand
    for begin in range(0, len(order), _SLICE):
        part = order[begin : begin + _SLICE]
        yield from zip(*(column[part].tolist() for column in (which, thread, start_ns, end_ns)), strict=True)


def _close(stack: list[tuple[int, _Total]], moment: int | None) -> None:
    """End the calls that ended by then; None: all."""
    while stack and (moment is None or stack[-1][0] <= moment):
        stack.pop()[1].open -= 1
