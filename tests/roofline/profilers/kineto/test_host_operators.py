"""Where the host's time went, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.profilers.kineto import host_operators
from roofline.profilers.timeline import OperatorRow


def operator_rows(calls: Sequence[tuple[str, str, int, int]]) -> tuple[OperatorRow, ...]:
    """:param calls: name, thread, start and end of each."""
    names, threads = sorted({call[0] for call in calls}), sorted({call[1] for call in calls})
    columns = np.array(
        [(names.index(name), threads.index(thread), start, end) for name, thread, start, end in calls], np.int64
    ).reshape(-1, 4)
    return host_operators.operator_rows(names, *columns.T)


def row(name: str, calls: int, self_ns: int, total_ns: int) -> OperatorRow:
    return OperatorRow(
        name=name, calls=calls, self_s=pytest.approx(self_ns * 1e-9), total_s=pytest.approx(total_ns * 1e-9)
    )


def test_self_time_is_without_callees() -> None:
    """linear calls t and addmm, addmm calls copy_; each nanosecond belongs to the innermost."""
    rows = operator_rows(
        [
            ("aten::addmm", "1/1", 30, 90),
            ("aten::linear", "1/1", 0, 100),
            ("aten::copy_", "1/1", 40, 50),
            ("aten::t", "1/1", 10, 20),
        ]
    )
    assert rows == (
        row("aten::addmm", 1, 50, 60),
        row("aten::linear", 1, 30, 100),
        row("aten::copy_", 1, 10, 10),
        row("aten::t", 1, 10, 10),
    )


def test_threads_dont_nest_in_each_other() -> None:
    """The backward pass runs in a thread of its own, at the same time."""
    rows = operator_rows([("a", "1/1", 0, 100), ("b", "1/2", 10, 20)])
    assert rows == (row("a", 1, 100, 100), row("b", 1, 10, 10))


def test_a_call_in_a_call_of_the_same_name_counts_once_in_the_total() -> None:
    """Otherwise a recursion would take longer than the program."""
    assert operator_rows([("a", "", 0, 100), ("a", "", 10, 90), ("a", "", 200, 210)]) == (row("a", 3, 110, 110),)


def test_calls_that_follow_each_other_dont_nest() -> None:
    """The next one starts when the last one ends."""
    assert operator_rows([("a", "", 0, 10), ("b", "", 10, 20)]) == (row("a", 1, 10, 10), row("b", 1, 10, 10))


def test_of_calls_that_start_together_the_longest_is_outside() -> None:
    """Whatever their order in the file."""
    assert operator_rows([("in", "", 0, 4), ("out", "", 0, 10)]) == (row("out", 1, 6, 10), row("in", 1, 4, 4))


def test_of_calls_of_one_time_the_first_is_outside() -> None:
    """Whatever their names: callers stand before what they called."""
    assert operator_rows([("out", "", 0, 10), ("in", "", 0, 10)]) == (row("in", 1, 10, 10), row("out", 1, 0, 10))
    assert operator_rows([("a", "", 0, 10), ("b", "", 0, 10)]) == (row("b", 1, 10, 10), row("a", 1, 0, 10))


def test_many_calls_are_one_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller whose callees stand in another slice of the sorted calls is still open."""
    monkeypatch.setattr(host_operators, "_SLICE", 2)
    calls = [("out", "", 0, 100), *(("in", "", 10 * place, 10 * place + 5) for place in range(5))]
    assert operator_rows(calls) == (row("out", 1, 75, 100), row("in", 5, 25, 25))


def test_a_call_that_seems_to_outlast_its_caller_ended_with_it() -> None:
    """Times are rounded; self times still add up to the time that passed."""
    assert operator_rows([("out", "", 0, 10), ("in", "", 5, 11)]) == (row("in", 1, 5, 5), row("out", 1, 5, 10))


def test_no_call_is_no_row() -> None:
    """As on a trace without operators."""
    assert operator_rows([]) == ()


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 20)).map(
            lambda one: (one[0], "", one[1], one[1] + one[2])
        )
    )
)
def test_self_times_add_up_to_the_time_with_a_call(calls: list[tuple[str, str, int, int]]) -> None:
    """However calls overlap: no nanosecond counts twice, and none is negative."""
    rows = operator_rows(calls)
    covered = {moment for _, _, start, end in calls for moment in range(start, end)}
    assert sum(one.self_s for one in rows) <= len(covered) * 1e-9 + 1e-15
    assert all(0 <= one.self_s <= one.total_s + 1e-15 for one in rows)
    assert sum(one.calls for one in rows) == len(calls)
