"""NVTX ranges of an nsys export, and the kernels launched in them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.profilers.nsys.export_timeline import read_export
from roofline.profilers.timeline import OK, RangeRow, Section, Timeline
from roofline.profilers.timeline_tables import records
from tests.roofline.profilers import nsys_build as build
from tests.roofline.profilers.strange_cells import loose, spoiled

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
RANGES = "NVTX_EVENTS"

STEP = "resnet50-train-b32-amp_bf16"

Rows = dict[str, Sequence[Mapping[str, Any]]]


def usual() -> Rows:
    """A step that launches two kernels, of which the second runs when the range is closed; one kernel after it."""
    return {
        RANGES: [build.marked(100, 200, STEP)],
        CALLS: [build.call(1, 110), build.call(2, 190), build.call(3, 250)],
        KERNELS: [build.kernel(120, 150, call=1), build.kernel(300, 370, call=2), build.kernel(400, 401, call=3)],
    }


def read(tmp_path: Path, rows: Rows, **more: Any) -> Timeline:
    return read_export(build.write(tmp_path / "a.sqlite", rows, **more))


def test_ranges_are_summed_up(tmp_path: Path) -> None:
    """By name, longest total first: instances, total, average, median, least and most, in seconds."""
    marks = [
        build.marked(0, 1000, "step"),
        build.marked(2000, 5000, "step"),
        build.marked(6000, 8000, "step"),
        build.marked(10_000, 16_000, "step"),
        build.marked(0, 90_000, "epoch"),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks})
    epoch, step = (
        replace(row, kernels=None, kernel_s=None, process_kernels=None, process_kernel_s=None) for row in content.ranges
    )
    assert epoch == RangeRow(
        name="epoch", style="PushPop", instances=1, total_s=9e-5, avg_s=9e-5, med_s=9e-5, min_s=9e-5, max_s=9e-5
    )
    assert step == RangeRow(
        name="step", style="PushPop", instances=4, total_s=1.2e-5, avg_s=3e-6, med_s=2.5e-6, min_s=1e-6, max_s=6e-6
    )
    assert content.sections["nvtx"] == OK


def test_styles_are_told_apart(tmp_path: Path) -> None:
    """Push and pop, start and end, and those that nsys read from text files; marks and the like are no ranges."""
    kinds = {59: 10, 60: 20, 70: 30, 71: 40, 34: 1000, 33: 1000, 39: 1000}
    marks = [build.marked(0, length, "a", kind=kind) for kind, length in kinds.items()]
    rows = read(tmp_path, {**usual(), RANGES: marks}).ranges
    assert [(row.style, row.instances, row.total_s) for row in rows] == [
        ("StartEnd", 2, pytest.approx(60e-9)),
        ("PushPop", 2, pytest.approx(40e-9)),
    ]


def test_names_are_registered_strings_or_texts(tmp_path: Path) -> None:
    """The registered string first, as in nsys; what has no name keeps its time, and is told."""
    marks = [
        build.marked(0, 40, "text"),
        build.marked(0, 30, "not this", number=5),
        build.marked(0, 20, None, number=6),
        build.marked(0, 10, None),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks}, strings={1: "kernel", 5: "registered"})
    assert [row.name for row in content.ranges] == ["text", "registered", "(string 6)", "(no name)"]
    assert content.sections["nvtx"] == Section(state="partial", reason="ranges without a name: 2")


def test_domains_have_the_names_of_their_process(tmp_path: Path) -> None:
    """A number means another domain in each process. The default one has no name, and a nameless one its number."""
    marks = [
        build.marked(0, None, "NCCL", kind=75, domain=1),
        build.marked(0, None, None, kind=75, domain=2, number=5),
        build.marked(0, None, "other", kind=75, domain=1, pid=9),
        build.marked(0, 50, "a"),
        build.marked(0, 40, "a", domain=1),
        build.marked(0, 30, "a", domain=2),
        build.marked(0, 20, "a", domain=1, pid=9),
        build.marked(0, 10, "a", domain=7),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks}, strings={1: "kernel", 5: "CCCL"})
    assert [row.domain for row in content.ranges] == [None, "NCCL", "CCCL", "other", "domain 7"]
    assert {row.name for row in content.ranges} == {"a"}
    assert content.sections["nvtx"] == OK


def test_a_kernel_is_in_the_range_that_launched_it(tmp_path: Path) -> None:
    """Also where it ran later; what merely ran, or was launched as the range was closed, isn't in it."""
    rows = usual()
    rows[CALLS] = [*rows[CALLS], build.call(4, 200), build.call(5, 50)]
    rows[KERNELS] = [*rows[KERNELS], build.kernel(500, 900, call=4), build.kernel(110, 190, call=5)]
    content = read(tmp_path, rows)
    (row,) = content.ranges
    assert (row.kernels, row.kernel_s) == (2, pytest.approx(100e-9))
    assert (row.process_kernels, row.process_kernel_s) == (2, pytest.approx(100e-9))
    assert content.sections["nvtx"] == OK
    assert content.notes == ()


def test_other_threads_have_figures_of_their_own(tmp_path: Path) -> None:
    """A backward pass is launched from another thread of the process: told, and not the range's own thread's."""
    rows = usual()
    rows[CALLS] = [build.call(1, 110), build.call(2, 190, tid=2), build.call(3, 150, pid=9)]
    rows[KERNELS] = [
        build.kernel(120, 150, call=1),
        build.kernel(300, 370, call=2),
        build.kernel(300, 990, call=3, pid=9),
    ]
    content = read(tmp_path, rows)
    (row,) = content.ranges
    assert (row.kernels, row.kernel_s) == (1, pytest.approx(30e-9))
    assert (row.process_kernels, row.process_kernel_s) == (2, pytest.approx(100e-9))
    (note,) = (note for note in content.notes if note.startswith("NVTX"))
    assert "process_kernel_s" in note
    assert "backward" in note


@pytest.mark.parametrize("kind", [59, 60])
def test_a_kernel_counts_once_for_a_name(tmp_path: Path, kind: int) -> None:
    """Where ranges of one name lie inside of each other or overlap; each of several names has it whole."""
    marks = [
        build.marked(100, 200, "a", kind=kind),
        build.marked(105, 120, "a", kind=kind),
        build.marked(180, 260, "a", kind=kind),
        build.marked(105, 120, "b", kind=kind),
    ]
    a, b = read(tmp_path, {**usual(), RANGES: marks}).ranges
    assert (a.instances, a.total_s, a.kernels, a.kernel_s) == (
        3,
        pytest.approx(195e-9),
        3,
        pytest.approx(101e-9),
    )
    assert (b.kernels, b.kernel_s) == (1, pytest.approx(30e-9))


def test_one_name_on_several_threads(tmp_path: Path) -> None:
    """Each thread's ranges have its own launches; for the process a kernel counts once."""
    marks = [build.marked(100, 200, "a", tid=1), build.marked(100, 200, "a", tid=2)]
    rows = {**usual(), RANGES: marks}
    rows[CALLS] = [build.call(1, 110), build.call(2, 190, tid=2), build.call(3, 150, tid=3)]
    (row,) = read(tmp_path, rows).ranges
    assert (row.instances, row.kernels, row.kernel_s) == (2, 2, pytest.approx(100e-9))
    assert (row.process_kernels, row.process_kernel_s) == (3, pytest.approx(101e-9))


def test_a_call_in_several_rows_is_one(tmp_path: Path) -> None:
    """Runtime, driver and backtrace have one number: it began where the first of them does."""
    rows = usual()
    rows[CALLS] = [build.call(1, 201, kind=67), build.call(1, 199), build.call(1, 200, kind=1)]
    rows[KERNELS] = [build.kernel(300, 310, call=1)]
    (row,) = read(tmp_path, rows).ranges
    assert (row.kernels, row.kernel_s) == (1, pytest.approx(10e-9))


def test_a_graph_launches_all_of_its_kernels(tmp_path: Path) -> None:
    """Traced node by node they have the number of the graph's launch."""
    rows = usual()
    rows[KERNELS] = [build.kernel(300 + 10 * place, 305 + 10 * place, call=1) for place in range(4)]
    (row,) = read(tmp_path, rows).ranges
    assert (row.kernels, row.kernel_s) == (4, pytest.approx(20e-9))


def test_each_process_numbers_its_own_calls(tmp_path: Path) -> None:
    """Two ranks have calls of the same number."""
    rows = {
        RANGES: [build.marked(100, 200, "one", pid=1), build.marked(0, 200, "two", pid=2)],
        CALLS: [build.call(1, 110, pid=1), build.call(1, 10, pid=2)],
        KERNELS: [build.kernel(300, 310, call=1, pid=1), build.kernel(300, 370, call=1, pid=2)],
    }
    two, one = read(tmp_path, rows).ranges
    assert (one.kernels, one.kernel_s) == (1, pytest.approx(10e-9))
    assert (two.kernels, two.kernel_s) == (1, pytest.approx(70e-9))


def test_a_range_without_a_kernel_has_none(tmp_path: Path) -> None:
    """Here 0 is a count: all calls are known, and none was in it."""
    content = read(tmp_path, {**usual(), RANGES: [build.marked(0, 50, "load")]})
    assert [(row.kernels, row.kernel_s) for row in content.ranges] == [(0, 0.0)]
    assert content.sections["nvtx"] == OK


@pytest.mark.parametrize(
    ("change", "tables", "told"),
    [
        ({CALLS: None}, {}, f"the export has no table {CALLS}, by which a kernel's launch is found"),
        (
            {CALLS: [{"start": 1, "correlationId": 1}]},
            {CALLS: "start INTEGER, correlationId INTEGER"},
            f"{CALLS} has no column globalTid, by which a kernel's launch is found",
        ),
        (
            {KERNELS: [{"start": 1, "end": 2, "shortName": 1}]},
            {KERNELS: "start INTEGER, end INTEGER, shortName INTEGER"},
            f"{KERNELS} has no column correlationId, by which a kernel's launch is found",
        ),
        ({KERNELS: [build.kernel(9, 1, call=1)]}, {}, "no kernel with a time was recorded"),
        ({KERNELS: None}, {}, "no kernel with a time was recorded"),
        ({CALLS: []}, {}, f"none of the 3 kernels was launched by a call in {CALLS}"),
        ({CALLS: [build.call(1, 110, pid=9)]}, {}, f"none of the 3 kernels was launched by a call in {CALLS}"),
        (
            {CALLS: [], KERNELS: [{**build.kernel(120, 150, call=1), "globalPid": None}]},
            {},
            f"none of the 1 kernels was launched by a call in {CALLS}",
        ),
    ],
)
def test_kernels_that_cant_be_had_are_none(
    tmp_path: Path, change: Mapping[str, Any], tables: Mapping[str, str], told: str
) -> None:
    """Null and why, never 0; the times of the ranges stand."""
    rows = {table: content for table, content in {**usual(), **change}.items() if content is not None}
    content = read(tmp_path, rows, tables=tables)
    (row,) = content.ranges
    assert row.total_s == pytest.approx(100e-9)
    assert (row.kernels, row.kernel_s, row.process_kernels, row.process_kernel_s) == (None, None, None, None)
    assert content.sections["nvtx"] == Section(state="partial", reason=f"no kernels of ranges: {told}")


def test_kernels_without_their_call_are_counted(tmp_path: Path) -> None:
    """They may belong to any range, or to none."""
    rows = usual()
    rows[CALLS] = rows[CALLS][:1]
    content = read(tmp_path, rows)
    assert content.ranges[0].kernels == 1
    assert content.sections["nvtx"] == Section(
        state="partial", reason="2 of 3 kernels are in no range: the export lacks the calls that launched them"
    )


@pytest.mark.parametrize("number", [-1, None])
def test_a_kernel_without_a_number_has_no_call(tmp_path: Path, number: int | None) -> None:
    """Nor is a call whose number is -1 that of kernels that have none, or -1 as well."""
    rows = usual()
    rows[CALLS] = [*rows[CALLS], build.call(-1, 150)]
    rows[KERNELS] = [*rows[KERNELS], {**build.kernel(500, 600), "correlationId": number}]
    content = read(tmp_path, rows)
    assert content.ranges[0].kernels == 2
    assert content.sections["nvtx"] == Section(
        state="partial", reason="1 of 4 kernels are in no range: the export lacks the calls that launched them"
    )


def test_graphs_recorded_whole_are_told(tmp_path: Path) -> None:
    """Their kernels are in no row, and so in no range."""
    content = read(tmp_path, {**usual(), GRAPHS: [build.graph(500, 600)]})
    assert content.sections["nvtx"] == Section(
        state="partial", reason="the kernels of graphs that were recorded whole (1) are in no range"
    )


def test_ranges_whose_thread_isnt_told_have_no_kernels(tmp_path: Path) -> None:
    """Nor has a sum of which one is a part."""
    marks = [
        build.marked(100, 200, "a"),
        {**build.marked(100, 200, "a"), "globalTid": None},
        build.marked(100, 150, "b"),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks})
    assert [(row.name, row.instances, row.kernels) for row in content.ranges] == [("a", 2, None), ("b", 1, 1)]
    assert content.sections["nvtx"] == Section(
        state="partial", reason="no kernels of 1 of 3 ranges: their thread isn't told"
    )


def test_ranges_without_an_end_are_left_out_and_counted(tmp_path: Path) -> None:
    """Nobody knows how long they would have been open. What ends before it starts is none."""
    marks = [build.marked(100, 200, "a"), build.marked(0, None, "a"), build.marked(50, 40, "b")]
    content = read(tmp_path, {**usual(), RANGES: marks})
    assert [(row.name, row.instances) for row in content.ranges] == [("a", 1)]
    assert content.sections["nvtx"] == Section(
        state="partial",
        reason="1 of 3 ranges left out: still open when the recording ended. nsys stats counts them up to its last"
        " event; 1 of 3 ranges left out: without a start and an end after it, a range has no time",
    )
    only = read_export(build.write(tmp_path / "b.sqlite", {**usual(), RANGES: marks[1:2]}))
    assert only.ranges == ()
    assert only.sections["nvtx"].state == "failed"


@pytest.mark.parametrize("declared", ["TEXT", "REAL", ""])
def test_styles_in_a_column_of_another_type(tmp_path: Path, declared: str) -> None:
    """They are the same numbers; rows in which it is none are told, whatever it begins with."""
    tables = {RANGES: build.RANGE.replace("eventType INTEGER NOT NULL", f"eventType {declared}")}
    kinds: list[Any] = ["59", 60, "59 or so", "PushPop", None]
    marks = [
        {**build.marked(0, None, None, domain=1), "eventType": "75", "text": "NCCL"},
        *({**build.marked(100, 200, str(kind), domain=1), "eventType": kind} for kind in kinds),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks}, tables=tables)
    assert [(row.name, row.style, row.domain, row.kernels) for row in content.ranges] == [
        ("59", "PushPop", "NCCL", 2),
        ("60", "StartEnd", "NCCL", 2),
    ]
    assert content.sections["nvtx"] == Section(
        state="partial",
        reason="3 rows of NVTX_EVENTS left out: their eventType is no number, so nobody knows if they are ranges",
    )


@pytest.mark.parametrize("marks", [None, [], [build.marked(5, None, "mark", kind=34)]])
def test_no_range_is_told(tmp_path: Path, marks: list[dict[str, Any]] | None) -> None:
    """With what records some. It is no fault of the file."""
    rows = usual()
    del rows[RANGES]
    content = read(tmp_path, rows if marks is None else {**rows, RANGES: marks})
    section = content.sections["nvtx"]
    assert section.state == "skipped"
    assert "--trace=cuda,nvtx" in str(section.reason)
    assert content.state == "ok"


@pytest.mark.parametrize("gone", [("start",), ("end",), ("eventType",), ("text", "textId")])
def test_columns_that_are_gone_are_named(tmp_path: Path, gone: tuple[str, ...]) -> None:
    """A range without its name, its time or its style can't be summed up."""
    there = [name for name in build.marked(0, 1, "a") if name not in gone]
    row = {name: value for name, value in build.marked(0, 1, "a").items() if name in there}
    columns = ", ".join(f"{name} INTEGER" for name in there)
    content = read(tmp_path, {**usual(), RANGES: [row]}, tables={RANGES: columns})
    assert content.ranges == ()
    assert content.sections["nvtx"] == Section(
        state="failed", reason=f"{RANGES} has no column {' or '.join(gone)}, by which this version reads a range"
    )


def test_few_columns_are_enough(tmp_path: Path) -> None:
    """Without thread and domain there are names and times."""
    row = {"start": 0, "end": 10, "eventType": 59, "text": "a"}
    tables = {RANGES: "start INTEGER, end INTEGER, eventType INTEGER, text TEXT"}
    content = read(tmp_path, {**usual(), RANGES: [row]}, tables=tables)
    assert [(row.name, row.total_s, row.kernels) for row in content.ranges] == [("a", pytest.approx(10e-9), None)]
    assert content.sections["nvtx"].state == "partial"


def test_without_their_numbers_domains_are_not_told_apart(tmp_path: Path) -> None:
    """None has a name then, and that is told: the one that was created need not be the one of the range."""
    marks = [
        build.marked(0, None, "NCCL", kind=75, domain=1),
        build.marked(0, 40, "a"),
        build.marked(0, 30, "a", domain=1),
    ]
    tables = {RANGES: "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER"}
    rows = [{name: mark[name] for name in ("start", "end", "eventType", "text", "globalTid")} for mark in marks]
    content = read(tmp_path, {**usual(), RANGES: rows}, tables=tables)
    assert [(row.name, row.domain, row.instances) for row in content.ranges] == [("a", None, 2)]
    assert content.sections["nvtx"].state == "partial"
    assert f"{RANGES} has no column domainId" in (content.sections["nvtx"].reason or "")


_SPAN = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 2), st.sampled_from("ab"))
_LAUNCH = st.tuples(st.integers(0, 12), st.integers(1, 9), st.integers(1, 2))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spans=st.lists(_SPAN, min_size=1, max_size=6), launched=st.lists(_LAUNCH, min_size=1, max_size=6))
def test_kernels_of_ranges_are_those_of_a_search_one_by_one(
    tmp_path: Path, spans: list[tuple[int, int, int, str]], launched: list[tuple[int, int, int]]
) -> None:
    """However ranges lie: for each name every kernel is held against every range."""
    path = tmp_path / "a.sqlite"
    path.unlink(missing_ok=True)
    ranges = [(min(one, other), max(one, other), tid, name) for one, other, tid, name in spans]
    rows = {
        RANGES: [build.marked(start, end, name, tid=tid) for start, end, tid, name in ranges],
        CALLS: [build.call(place, at, tid=tid) for place, (at, _, tid) in enumerate(launched)],
        KERNELS: [build.kernel(100, 100 + took, call=place) for place, (_, took, _) in enumerate(launched)],
    }
    for row in read_export(build.write(path, rows)).ranges:
        own = [(start, end, tid) for start, end, tid, name in ranges if name == row.name]
        by_thread = [took for at, took, by in launched if any(a <= at < b and by == tid for a, b, tid in own)]
        by_any = [took for at, took, _ in launched if any(a <= at < b for a, b, _ in own)]
        assert (row.kernels, row.process_kernels) == (len(by_thread), len(by_any))
        assert row.kernel_s == pytest.approx(sum(by_thread) * 1e-9)
        assert row.process_kernel_s == pytest.approx(sum(by_any) * 1e-9)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_cells_give_no_traceback_and_no_silent_0(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever stands in a row of ranges, calls or kernels: it counts, or it is told that it doesn't."""
    path = tmp_path / "a.sqlite"
    path.unlink(missing_ok=True)
    timeline = read_export(build.write(path, spoiled(data, usual()), tables=loose(usual())))
    state = timeline.sections["nvtx"].state
    assert state == "ok" or timeline.sections["nvtx"].reason
    assert (not timeline.ranges) == (state in ("skipped", "failed"))
    assert state != "ok" or all(row.kernels is not None and row.process_kernels is not None for row in timeline.ranges)
    json.dumps(records(timeline), allow_nan=False)
