"""NVTX ranges of an nsys export, and the kernels launched in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.profilers.nsys.export_timeline import read_export
from roofline.profilers.timeline import OK, RangeRow, Section, Timeline
from tests.roofline.profilers import nsys_build as build

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
    """The registered string first, as in nsys; what has no name keeps its time."""
    marks = [
        build.marked(0, 40, "text"),
        build.marked(0, 30, "not this", number=5),
        build.marked(0, 20, None, number=6),
        build.marked(0, 10, None),
    ]
    content = read(tmp_path, {**usual(), RANGES: marks}, strings={1: "kernel", 5: "registered"})
    assert [row.name for row in content.ranges] == ["text", "registered", "(string 6)", "(no name)"]
    assert content.sections["nvtx"] == OK


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


_USUAL_CALLS, _USUAL_KERNELS = usual()[CALLS], usual()[KERNELS]
_UNCALLED = "kernels are in no range: the export lacks the calls that launched them"


@pytest.mark.parametrize(
    ("change", "found", "reason"),
    [
        # What merely ran meanwhile, or was launched as the range was closed, isn't in it.
        (
            {
                CALLS: [*_USUAL_CALLS, build.call(4, 200), build.call(5, 50), build.call(6, 100)],
                KERNELS: [
                    *_USUAL_KERNELS,
                    build.kernel(500, 900, call=4),
                    build.kernel(110, 190, call=5),
                    build.kernel(500, 501, call=6),
                ],
            },
            {STEP: (3, 101, 3, 101)},
            None,
        ),
        # A backward pass is launched from another thread of the process.
        (
            {
                CALLS: [build.call(1, 110), build.call(2, 190, tid=2), build.call(3, 150, pid=9)],
                KERNELS: [*_USUAL_KERNELS[:2], build.kernel(300, 990, call=3, pid=9)],
            },
            {STEP: (1, 30, 2, 100)},
            None,
        ),
        # Where ranges of one name lie inside of each other or overlap a kernel counts once; each name has it whole.
        *(
            (
                {
                    RANGES: [
                        build.marked(start, end, name, kind=kind)
                        for start, end, name in ((100, 200, "a"), (105, 120, "a"), (180, 260, "a"), (105, 120, "b"))
                    ]
                },
                {"a": (3, 101, 3, 101), "b": (1, 30, 1, 30)},
                None,
            )
            for kind in (59, 60)
        ),
        # Each thread's ranges of one name have its own launches; for the process a kernel counts once.
        (
            {
                RANGES: [build.marked(100, 200, "a", tid=tid) for tid in (1, 2)],
                CALLS: [build.call(1, 110), build.call(2, 190, tid=2), build.call(3, 150, tid=3)],
            },
            {"a": (2, 100, 3, 101)},
            None,
        ),
        # Runtime, driver and backtrace have one number: the call began where the first of them does.
        (
            {
                CALLS: [build.call(1, 201, kind=67), build.call(1, 199), build.call(1, 200, kind=1)],
                KERNELS: [build.kernel(300, 310, call=1)],
            },
            {STEP: (1, 10, 1, 10)},
            None,
        ),
        # Traced node by node all kernels of a graph have the number of its launch.
        (
            {KERNELS: [build.kernel(300 + 10 * place, 305 + 10 * place, call=1) for place in range(4)]},
            {STEP: (4, 20, 4, 20)},
            None,
        ),
        # Each process numbers its own calls.
        (
            {
                RANGES: [build.marked(100, 200, "one", pid=1), build.marked(0, 200, "two", pid=2)],
                CALLS: [build.call(1, 110, pid=1), build.call(1, 10, pid=2)],
                KERNELS: [build.kernel(300, 310, call=1, pid=1), build.kernel(300, 370, call=1, pid=2)],
            },
            {"two": (1, 70, 1, 70), "one": (1, 10, 1, 10)},
            None,
        ),
        # Here 0 is a count: all calls are known, and none was in it.
        ({RANGES: [build.marked(0, 50, "load")]}, {"load": (0, 0, 0, 0)}, None),
        ({CALLS: _USUAL_CALLS[:1]}, {STEP: (1, 30, 1, 30)}, f"2 of 3 {_UNCALLED}"),
        # Nor is a call whose number is -1 that of kernels that have none, or -1 as well.
        *(
            (
                {
                    CALLS: [*_USUAL_CALLS, build.call(-1, 150)],
                    KERNELS: [*_USUAL_KERNELS, {**build.kernel(500, 600), "correlationId": number}],
                },
                {STEP: (2, 100, 2, 100)},
                f"1 of 4 {_UNCALLED}",
            )
            for number in (-1, None)
        ),
        (
            {GRAPHS: [build.graph(500, 600)]},
            {STEP: (2, 100, 2, 100)},
            "the kernels of graphs that were recorded whole (1) are in no range",
        ),
        # A sum of which one is a part isn't known either.
        (
            {
                RANGES: [
                    build.marked(100, 200, "a"),
                    {**build.marked(100, 200, "a"), "globalTid": None},
                    build.marked(100, 150, "b"),
                ]
            },
            {"a": None, "b": (1, 30, 1, 30)},
            "no kernels of 1 of 3 ranges: their thread isn't recorded",
        ),
        # Nobody knows how long a range without an end was open.
        (
            {RANGES: [build.marked(100, 200, STEP), build.marked(0, None, STEP)]},
            {STEP: (2, 100, 2, 100)},
            "1 of 2 ranges left out: still open when the recording ended. nsys stats counts them up to its last event",
        ),
    ],
)
def test_kernels_are_in_the_range_that_launched_them(
    tmp_path: Path, change: Rows, found: dict[str, tuple[int, int, int, int] | None], reason: str | None
) -> None:
    """Also where they ran later; the section says what is missing.

    :param found: number and time in ns of the kernels of its threads, then of all threads, by name.
    """
    content = read(tmp_path, {**usual(), **change})
    assert [row.name for row in content.ranges] == [*found]
    for row in content.ranges:
        own = found[row.name]
        if own is None:
            assert (row.kernels, row.kernel_s, row.process_kernels, row.process_kernel_s) == (None,) * 4
        else:
            assert (row.kernels, row.process_kernels) == own[::2]
            assert (row.kernel_s, row.process_kernel_s) == pytest.approx((own[1] * 1e-9, own[3] * 1e-9))
    assert content.sections["nvtx"] == (OK if reason is None else Section(state="partial", reason=reason))
    differ = any(row.kernels != row.process_kernels for row in content.ranges)
    assert any("process_kernel_s" in note for note in content.notes) == differ


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({CALLS: None}, f"the export has no table {CALLS}, by which a kernel's launch is found"),
        ({KERNELS: None}, "no kernel was recorded"),
        ({CALLS: []}, f"none of the 3 kernels was launched by a call in {CALLS}"),
        ({CALLS: [build.call(1, 110, pid=9)]}, f"none of the 3 kernels was launched by a call in {CALLS}"),
        (
            {CALLS: [], KERNELS: [{**build.kernel(120, 150, call=1), "globalPid": None}]},
            f"none of the 1 kernels was launched by a call in {CALLS}",
        ),
    ],
)
def test_kernels_that_cant_be_had_are_none(tmp_path: Path, change: Mapping[str, Any], told: str) -> None:
    """Null and why, never 0; the times of the ranges stand."""
    rows = {table: content for table, content in {**usual(), **change}.items() if content is not None}
    content = read(tmp_path, rows)
    (row,) = content.ranges
    assert row.total_s == pytest.approx(100e-9)
    assert (row.kernels, row.kernel_s, row.process_kernels, row.process_kernel_s) == (None, None, None, None)
    assert content.sections["nvtx"] == Section(state="partial", reason=f"no kernels of ranges: {told}")


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
