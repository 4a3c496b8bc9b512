"""perf attached to this process by stand-ins, and what it writes: counts, or why nothing was counted."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_roofline.measuring import InputEnded, Measured
from pytest_roofline.profilers.diagnosis import Diagnosis
from pytest_roofline.profilers.perf_stat import EVENTS, MOST_STEPS, PerfFailed, PerfStat, of_a_step, parse, steps_of
from roofline.schema.record import HostCounters
from tests.plugin.measuring.fakes import Lab
from tests.plugin.profilers.stubs import PerfBehaviour, Stubs
from tests.roofline import build

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="perf counts on Linux")

QUARTER = Measured(timing=build.timing(0.25))


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "bin")


def _found(path: Path, version: str = "6.8.12") -> Diagnosis:
    return Diagnosis(name="perf", status="ok", why="", path=path, version=version)


def _perf(stubs: Stubs, *behaviours: PerfBehaviour, answer_s: float = 60.0, **answers: object) -> PerfStat:
    path = stubs.perf(*behaviours, **answers)  # type: ignore[arg-type]
    return PerfStat(_found(path), stubs.system(), answer_s=answer_s)


def test_as_many_steps_as_fill_a_second_are_counted(stubs: Stubs) -> None:
    """Between two synchronisations, and divided by their number. perf is attached to this process, in the C locale,
    and switched on before the first step.
    """
    perf, during, lab = _perf(stubs, "ok", values={"cycles": 8e6, "branch-misses": 10}), list[str](), Lab(0.25)

    def step() -> None:
        during.append((stubs.folder / "told").read_text())
        lab.step()

    counters = perf.count(step, QUARTER, lab)
    assert lab.calls == ["synchronize", *4 * ["step"], "synchronize"]
    assert during == 4 * ["enable\n"]
    assert (counters.status, counters.reason, counters.source, counters.steps) == ("ok", None, "perf 6.8.12", 4)
    assert (counters.cycles, counters.instructions, counters.branch_misses) == (2e6, 250_000.0, 2.5)
    (call,) = stubs.calls("perf")
    assert call.arguments[5:11] == ["-e", ",".join(EVENTS), "-p", str(os.getpid()), "-D", "-1"]
    assert call.environment["LC_ALL"] == "C"


@pytest.mark.parametrize(("step_s", "steps"), [(0.25, 4), (30.0, 1), (1e-6, MOST_STEPS), (0.0, MOST_STEPS)])
def test_how_many_steps(step_s: float, steps: int) -> None:
    """At least one, and no more than need be held in a loop."""
    assert steps_of(step_s) == steps


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        (
            "denied",
            "permission_denied",
            "perf counted nothing: Access to performance monitoring and observability operations is limited.",
        ),
        ("crash", "failed", "perf counted nothing: it said nothing"),
        ("garbage", "failed", 'perf counted nothing: ,,,"'),
        ("hang", "timeout", "perf was ended: it had not answered for 0.3 s"),
    ],
)
def test_a_perf_that_fails(stubs: Stubs, behaviour: PerfBehaviour, status: str, reason: str) -> None:
    """The status and perf's own words, no number, and no step taken for nothing."""
    lab = Lab(0.25)
    counters = _perf(stubs, behaviour, answer_s=0.3 if behaviour == "hang" else 60.0).count(lab.step, QUARTER, lab)
    assert (counters.status, counters.reason) == (status, reason)
    assert counters.cycles is None
    assert lab.steps == 0


def test_a_program_that_cannot_be_started(stubs: Stubs, tmp_path: Path) -> None:
    """It was there when it was looked for."""
    lab = Lab(0.25)
    counters = PerfStat(_found(tmp_path / "gone"), stubs.system()).count(lab.step, QUARTER, lab)
    assert counters.status == "failed"
    assert counters.reason == "perf can't be started: No such file or directory"


@pytest.mark.parametrize("end", [InputEnded("the data ended after 9 batches"), MemoryError("no room")])
def test_a_step_that_raises(stubs: Stubs, end: Exception) -> None:
    """No counts of a number of steps that nobody took; perf, which would count on, is ended."""
    lab, perf = Lab(0.25), _perf(stubs, "ok")

    def step() -> None:
        if lab.steps == 2:
            raise end
        lab.step()

    if isinstance(end, InputEnded):
        counters = perf.count(step, QUARTER, lab)
        assert counters.status == "failed"
        assert counters.reason == "the data ended after 9 batches, before all steps had been counted"
    else:
        with pytest.raises(MemoryError, match=r"^no room$"):
            perf.count(step, QUARTER, lab)
    assert _has_ended(stubs.calls("perf")[0].pid)


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


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
    counters = of_a_step(parse("".join(f"<not supported>,,{name},0,100.00,,\n" for name in EVENTS)), 4, "perf 6.1")
    assert (counters.status, counters.steps) == ("missing_metric", None)
    assert counters.reason == f"the machine counts none of {', '.join(EVENTS)}: most virtual machines don't"
    assert all(getattr(counters, name) is None for name in EVENTS.values())


@pytest.mark.parametrize(
    ("old", "new", "source"),
    [
        ("cycles,2000000,100.00", "cycles,1500000,66.67", "perf 5.15 (scaled from 67 % of the time)"),
        ("cycles,2000000,100.00", "cycles,1500000,99.60", "perf 5.15"),
        ("cycles,2000000,100.00", "cycles,1500000,99.40", "perf 5.15 (scaled from 99 % of the time)"),
        ("cycles", "cycles:u", "perf 5.15 (user mode only)"),
    ],
)
def test_counts_of_less_say_so(old: str, new: str, source: str) -> None:
    """perf scales what took turns, by the least part; the kernel's part may be kept from the user."""
    assert of_a_step(parse(WHOLE.replace(old, new)), 4, "perf 5.15").source == source


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
    with pytest.raises(PerfFailed, match="wrote no counts"):
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
    except PerfFailed:
        return
    counters = of_a_step(events, 3, "perf")
    counts = [getattr(counters, name) for name in EVENTS.values()]
    assert all(count is None or (math.isfinite(count) and count >= 0) for count in counts)
    assert (counters.status == "ok") == (None not in counts)
    assert (counters.reason is None) == (counters.status == "ok")
