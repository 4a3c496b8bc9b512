"""Where the host's time went, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.profilers.kineto import host_operators
from roofline.profilers.timeline import OperatorRow

Call = tuple[str, str, int, int]
"""Name, thread, start and end."""


def operator_rows(calls: Sequence[Call]) -> tuple[OperatorRow, ...]:
    names, threads = sorted({call[0] for call in calls}), sorted({call[1] for call in calls})
    columns = np.array(
        [(names.index(name), threads.index(thread), start, end) for name, thread, start, end in calls], np.int64
    ).reshape(-1, 4)
    return host_operators.operator_rows(names, *columns.T)


@pytest.mark.parametrize(
    ("calls", "rows"),
    [
        # linear calls t and addmm, addmm calls copy_: each nanosecond belongs to the innermost.
        (
            [("addmm", "1", 30, 90), ("linear", "1", 0, 100), ("copy_", "1", 40, 50), ("t", "1", 10, 20)],
            [("addmm", 1, 50, 60), ("linear", 1, 30, 100), ("copy_", 1, 10, 10), ("t", 1, 10, 10)],
        ),
        # The backward pass runs in a thread of its own, at the same time.
        ([("a", "1", 0, 100), ("b", "2", 10, 20)], [("a", 1, 100, 100), ("b", 1, 10, 10)]),
        # A recursion doesn't take longer than the program.
        ([("a", "", 0, 100), ("a", "", 10, 90), ("a", "", 200, 210)], [("a", 3, 110, 110)]),
        ([("a", "", 0, 10), ("b", "", 10, 20)], [("a", 1, 10, 10), ("b", 1, 10, 10)]),
        # Of calls that start together the longest is outside, of those of one length the first.
        ([("in", "", 0, 4), ("out", "", 0, 10)], [("out", 1, 6, 10), ("in", 1, 4, 4)]),
        ([("out", "", 0, 10), ("in", "", 0, 10)], [("in", 1, 10, 10), ("out", 1, 0, 10)]),
        ([("a", "", 0, 10), ("b", "", 0, 10)], [("b", 1, 10, 10), ("a", 1, 0, 10)]),
        # Times are rounded: what seems to outlast its caller ended with it.
        ([("out", "", 0, 10), ("in", "", 5, 11)], [("in", 1, 5, 5), ("out", 1, 5, 10)]),
        # A caller whose callees stand in another slice of the sorted calls is still open.
        (
            [("out", "", 0, 100), *(("in", "", 10 * place, 10 * place + 5) for place in range(5))],
            [("out", 1, 75, 100), ("in", 5, 25, 25)],
        ),
        ([], []),
    ],
)
def test_self_time_is_without_callees(
    monkeypatch: pytest.MonkeyPatch, calls: list[Call], rows: list[tuple[str, int, int, int]]
) -> None:
    """:param rows: name, calls, time in itself and in all, in ns."""
    monkeypatch.setattr(host_operators, "_SLICE", 2)
    found = operator_rows(calls)
    assert [(row.name, row.calls) for row in found] == [row[:2] for row in rows]
    assert [(row.self_s, row.total_s) for row in found] == [pytest.approx((a * 1e-9, b * 1e-9)) for *_, a, b in rows]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 20)).map(
            lambda one: (one[0], "", one[1], one[1] + one[2])
        )
    )
)
def test_self_times_add_up_to_the_time_with_a_call(calls: list[Call]) -> None:
    """However calls overlap: no nanosecond counts twice, and none is negative."""
    rows = operator_rows(calls)
    covered = {moment for _, _, start, end in calls for moment in range(start, end)}
    assert sum(one.self_s for one in rows) <= len(covered) * 1e-9 + 1e-15
    assert all(0 <= one.self_s <= one.total_s + 1e-15 for one in rows)
    assert sum(one.calls for one in rows) == len(calls)
