"""Reading what perf stat writes: numbers with their reservations, and never a zero for what wasn't counted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_roofline.profilers.perf_stat import EVENTS, NoEvents, of_a_step, parse
from roofline.schema.record import HostCounters

WHOLE = """\
# started on Sat Nov 28 11:00:00 2026

8000000,,cycles,2000000,100.00,,
12000000,,instructions,2000000,100.00,1.50,insn per cycle
40000,,cache-references,2000000,100.00,,
10000,,cache-misses,2000000,100.00,25.00,of all cache refs
200000,,branches,2000000,100.00,,
2000,,branch-misses,2000000,100.00,1.00,of all branches
"""


def test_events_of_a_step() -> None:
    """Divided by the steps; comments and derived figures are left aside."""
    assert of_a_step(parse(WHOLE), 4, "perf 6.8.12") == HostCounters(
        status="ok",
        source="perf 6.8.12",
        steps=4,
        cycles=2e6,
        instructions=3e6,
        cache_references=1e4,
        cache_misses=2500.0,
        branches=5e4,
        branch_misses=500.0,
    )


@pytest.mark.parametrize(
    "word", ["<not supported>,,cycles,0,100.00,,", "<not counted>,,cycles,0,0.00,,", "0,,cycles,0,0.00,,"]
)
def test_an_event_that_was_not_counted_is_none(word: str) -> None:
    """Whether the machine doesn't have it, or its counter never ran: not 0. The others stand."""
    counters = of_a_step(parse(WHOLE.replace("8000000,,cycles,2000000,100.00,,", word)), 4, "perf 6.8.12")
    assert counters.cycles is None
    assert counters.instructions == 3e6
    assert (counters.status, counters.reason) == ("missing_metric", "the machine doesn't count cycles")


def test_a_count_of_zero_that_was_counted_stands() -> None:
    """A loop can do without a branch missed."""
    text = WHOLE.replace("2000,,branch-misses", "0,,branch-misses")
    assert of_a_step(parse(text), 4, "perf").branch_misses == 0.0


def test_a_machine_that_counts_nothing() -> None:
    """As most virtual machines: no number at all."""
    text = "".join(f"<not supported>,,{name},0,100.00,,\n" for name in EVENTS)
    counters = of_a_step(parse(text), 4, "perf 6.1")
    assert counters.status == "missing_metric"
    assert counters.reason == f"the machine counts none of {', '.join(EVENTS)}: most virtual machines don't"
    assert counters.steps is None
    assert all(getattr(counters, name) is None for name in EVENTS.values())


def test_counters_that_took_turns() -> None:
    """perf scales what was counted for a part of the time; the least part is told."""
    text = WHOLE.replace("cycles,2000000,100.00", "cycles,1500000,75.00").replace(
        "branches,2000000,100.00", "branches,1333333,66.67"
    )
    counters = of_a_step(parse(text), 4, "perf 6.8.12")
    assert counters.source == "perf 6.8.12 (scaled from 67 % of the time)"
    assert counters.status == "ok"


def test_user_mode_only() -> None:
    """Where perf_event_paranoid keeps the kernel's part from the user, the counts are of less."""
    events = parse(WHOLE.replace("cycles", "cycles:u").replace("instructions", "instructions:u"))
    assert events.user_only
    assert events.counts["cycles"] == 8e6
    assert of_a_step(events, 4, "perf 5.15").source == "perf 5.15 (user mode only)"


def test_two_kinds_of_cores_are_added_up() -> None:
    """Each has counters of its own, and an event may have run on one of them alone."""
    text = """\
3000,,cpu_core/cycles/,500,100.00,,
1000,,cpu_atom/cycles/,100,20.00,,
700,,cpu_core/branches/u,500,100.00,,
<not counted>,,cpu_atom/branches/u,0,0.00,,
"""
    events = parse(text)
    assert (events.counts["cycles"], events.counts["branches"]) == (4000.0, 700.0)
    assert (events.share, events.user_only) == (0.2, True)


@pytest.mark.parametrize(
    "text", ["", "\n# started on Sat\n", "Error:\nNo permission", "1.5,msec,task-clock,5,100.00,,"]
)
def test_a_text_without_events(text: str) -> None:
    """Is no step without cycles."""
    with pytest.raises(NoEvents, match=r"^no line tells of an event$"):
        parse(text)


@pytest.mark.parametrize("count", ["1.234.567", "1 234", "-5", "nan", "inf", "1e9", "0x10", "", "१२३", "9" * 400])
def test_a_count_that_is_none_is_not_guessed(count: str) -> None:
    """No number in another locale's writing, nothing that isn't finite."""
    assert parse(f"{count},,cycles,5,100.00,,\n5,,branches,5,100.00,,").counts["cycles"] is None


CELLS = st.one_of(
    st.sampled_from([*EVENTS, "cycles:u", "cpu_core/cycles/", "<not counted>", "<not supported>", "0", "12", "100.00"]),
    st.text(max_size=8),
)
LINES = st.lists(CELLS, max_size=8).map(",".join)


@given(st.one_of(st.text(), st.lists(LINES, max_size=8).map("\n".join)))
def test_whatever_perf_writes(text: str) -> None:
    """It is read as finite counts of at least 0, or there are none."""
    try:
        events = parse(text)
    except NoEvents:
        return
    counters = of_a_step(events, 3, "perf")
    counts = [getattr(counters, name) for name in EVENTS.values()]
    assert all(count is None or (math.isfinite(count) and count >= 0) for count in counts)
    assert (counters.status == "ok") == (None not in counts)
    assert (counters.reason is None) == (counters.status == "ok")
