"""Machines stand side by side with the same workload each; nothing is pooled and nothing is left out in silence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import load
from roofline.model.points import Point, place_all
from roofline.results.reader import ResultFile, read_file
from roofline.schema.record import Counters, Device, Flag, Record
from roofline.show.machines import Row, machine_names, machines_table
from roofline.show.render import render
from roofline.show.tables import Table
from tests.roofline import build


def _run(
    tmp_path: Path, label: str, *records: Record | None, started: str = "2026-11-20", **machine: Any
) -> ResultFile:
    return build.result(
        tmp_path / f"{label}-{started}.json",
        records,
        of=build.session(build.roofs(), started_at=started),
        on=build.machine(label, **machine),
    )


def _step(seconds: float, **changes: Any) -> Record:
    return build.record(timing=build.timing(seconds), case=build.case(**changes))


def _points(*results: ResultFile) -> tuple[Point, ...]:
    return place_all(results, load())


def _table(*results: ResultFile) -> Table[Row]:
    return machines_table(_points(*results))


def test_speed_up_is_over_the_first_machine(tmp_path: Path) -> None:
    """0.2 s on one and 0.05 s on the other: four times."""
    table = _table(_run(tmp_path, "slow", _step(0.2)), _run(tmp_path, "fast", _step(0.05)))
    assert [(row.machine, row.speed_up) for row in table.rows] == [("slow", None), ("fast", pytest.approx(4))]
    assert table.title == "Machines side by side; speed-up over slow"


def test_two_labels_of_one_machine_are_two_rows(tmp_path: Path) -> None:
    """As of a laptop that was measured with one thread and with two."""
    one = _run(tmp_path, "1 thread", _step(0.2), fingerprint="same", threads={"intra_op": 1})
    two = _run(tmp_path, "2 threads", _step(0.1), fingerprint="same", threads={"intra_op": 2})
    table = _table(one, two)
    assert [(row.machine, row.speed_up) for row in table.rows] == [("1 thread", None), ("2 threads", pytest.approx(2))]
    assert not any("left out" in note for note in table.notes)


def test_rows_of_a_workload_stand_together_in_the_order_of_machines(tmp_path: Path) -> None:
    """Whatever the order of the cases in the files."""
    first = _run(tmp_path, "a", _step(1, batch=8), _step(1, batch=16))
    second = _run(tmp_path, "b", _step(1, batch=16), _step(1, batch=8))
    rows = _table(first, second).rows
    assert [(row.point.id.split("-")[2], row.machine) for row in rows] == [
        ("b8", "a"),
        ("b8", "b"),
        ("b16", "a"),
        ("b16", "b"),
    ]


def test_what_one_machine_alone_measured_is_named(tmp_path: Path) -> None:
    """Neither shown as compared nor dropped without a word."""
    one = _run(tmp_path, "a", _step(1, batch=8), _step(1, batch=16))
    other = _run(tmp_path, "b", _step(1, batch=8), _step(1, batch=4))
    table = _table(one, other)
    assert {row.point.benchmark.record.case.batch for row in table.rows if row.point.benchmark.record} == {8}
    assert "Only on a: resnet50-train-b16-fp32" in table.notes
    assert "Only on b: resnet50-train-b4-fp32" in table.notes


def test_a_note_of_many_cases_names_the_first(tmp_path: Path) -> None:
    """And how many more; when asked all of them."""
    one = _run(tmp_path, "a", *(_step(1, batch=batch) for batch in range(1, 7)))
    other = _run(tmp_path, "b", _step(1, batch=1))
    ids = [f"resnet50-train-b{batch}-fp32" for batch in range(2, 7)]
    assert f"Only on a: {', '.join(ids[:3])} and 2 more" in _table(one, other).notes
    assert f"Only on a: {', '.join(ids)}" in machines_table(_points(one, other), verbose=True).notes


def test_the_same_name_with_another_hash_is_another_workload(tmp_path: Path) -> None:
    """Another shape or option under one id must not be compared."""
    table = _table(_run(tmp_path, "a", _step(1)), _run(tmp_path, "b", _step(1, workload_hash="changed")))
    assert list(table.rows) == []
    assert any(
        note.startswith("Another workload under the same name") and note.endswith(": resnet50-train-b32-fp32")
        for note in table.notes
    )


def test_two_runs_of_one_machine_are_not_pooled(tmp_path: Path) -> None:
    """The newest is shown, and that another was left out."""
    older, newer = _run(tmp_path, "a", _step(0.1)), _run(tmp_path, "a", _step(0.3), started="2026-11-25")
    table = _table(older, newer, _run(tmp_path, "b", _step(0.1)))
    assert [row.point.step_time_s for row in table.rows] == [0.3, 0.1]
    assert table.notes[0] == "a: 1 older result of the same workload left out, the newest is shown"


_INVALID = (Flag(name="wrong_device", evidence="x", invalid=True),)


def test_an_invalid_row_is_left_out_and_named(tmp_path: Path) -> None:
    """Its number stands beside no other; the flag says why, and where alone the work was measured validly."""
    invalid = build.record(flags=_INVALID)
    table = _table(_run(tmp_path, "a", _step(0.1)), _run(tmp_path, "b", invalid))
    assert list(table.rows) == []
    assert list(table.notes) == [
        "Invalid on b, left out: resnet50-train-b32-fp32 (wrong_device)",
        "Valid only on a: resnet50-train-b32-fp32",
    ]


def test_no_speed_up_over_another_machine_than_the_first(tmp_path: Path) -> None:
    """The title names the first; where its row is invalid there is nothing to divide by."""
    table = _table(
        _run(tmp_path, "a", build.record(flags=_INVALID)),
        _run(tmp_path, "b", _step(0.1)),
        _run(tmp_path, "c", _step(1)),
    )
    assert [(row.machine, row.speed_up) for row in table.rows] == [("b", None), ("c", None)]


def test_an_invalid_row_of_a_single_machine_is_left_out_too(tmp_path: Path) -> None:
    """It would look like a number to compare the next machine with."""
    table = _table(_run(tmp_path, "a", build.record(flags=_INVALID)))
    assert list(table.rows) == []
    assert list(table.notes) == ["Invalid on a, left out: resnet50-train-b32-fp32 (wrong_device)"]


def test_a_single_machine_is_shown_alone(tmp_path: Path) -> None:
    """There is nothing beside it, and that is said."""
    table = _table(_run(tmp_path, "a", _step(0.1)))
    assert len(table.rows) == 1
    assert table.title == "a: no other machine beside it"
    assert table.notes == []


def test_versions_that_differ_are_told(tmp_path: Path) -> None:
    """They may be the reason for a difference."""
    old = {"torch": "2.11.0", "python": "3.12.4"}
    table = _table(_run(tmp_path, "a", _step(0.1)), _run(tmp_path, "b", _step(0.1), versions=old))
    assert "torch differs: 2.14.1 on a, 2.11.0 on b" in table.notes


def test_one_label_for_two_machines(tmp_path: Path) -> None:
    """Device first, then the fingerprint tells them apart."""
    other = Device(kind="cuda", name="NVIDIA L4")
    points = _points(
        _run(tmp_path, "lab", _step(0.1)),
        _run(tmp_path, "lab", build.record(device=other), started="2", fingerprint="0123456789"),
        _run(tmp_path, "lab", _step(0.1), started="3", fingerprint="abcdefghij"),
    )
    assert list(machine_names(points).values()) == [
        "lab (AMD EPYC 7B13) [of lab]",
        "lab (NVIDIA L4)",
        "lab (AMD EPYC 7B13) [efghij]",
    ]


def test_foreign_files_are_matched_by_name_with_a_warning(tmp_path: Path) -> None:
    """Times can be compared; that the work is the same isn't proven."""
    one, other = build.document([None]), build.document([None])
    other["machine_info"]["node"] = "other"
    other["benchmarks"][0]["stats"]["median"] = 0.05
    table = _table(
        read_file(build.write(tmp_path / "one.json", one)), read_file(build.write(tmp_path / "other.json", other))
    )
    assert [row.speed_up for row in table.rows] == [None, pytest.approx(2)]
    assert "that the work is the same isn't proven" in table.notes[-1]


def test_the_table_fits_80_columns_with_all_that_is_asked(tmp_path: Path) -> None:
    """Throughput and spread, speed-up, percent of the own roof, bound, latency."""
    cpu, cuda = build.two_machines(tmp_path)
    text = render(_table(read_file(cpu), read_file(cuda)), "table", 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[2].split() == ["machine", "/s", "±", "sd", "speed-up", "roof", "bound", "latency"]
    assert "Too narrow" not in text


_ANALYTIC_BYTES = Counters(status="missing_metric", reason="x", flop=1.2e11)
_ANALYTIC_FLOP = Counters(status="missing_metric", reason="x", dram_byte=2e9)


@pytest.mark.parametrize(
    ("counters", "differing", "what"),
    [
        (
            Counters(status="ok", flop=1.2e11, dram_byte=2e9),
            ("flop_source", "provenance"),
            "FLOP from analytic on a, counters on b; bytes from analytic on a, counters on b",
        ),
        (_ANALYTIC_BYTES, ("flop_source",), "FLOP from analytic on a, counters on b"),
        (_ANALYTIC_FLOP, ("provenance",), "bytes from analytic on a, counters on b"),
    ],
)
def test_a_percent_of_roof_of_other_sources_is_told(
    tmp_path: Path, counters: Counters, differing: tuple[str, ...], what: str
) -> None:
    """Counted and by counters the same work has another percent of the same roof: below the table, and in each row."""
    table = _table(_run(tmp_path, "a", _step(0.1)), _run(tmp_path, "b", build.record(counters=counters)))
    assert [row.sources_differ_in for row in table.rows] == [None, differing]
    assert list(table.notes) == [
        "% of roof doesn't compare between these machines, as it rests on other sources: "
        f"{what}: resnet50-train-b32-fp32"
    ]
    first, second = json.loads(render(table, "json", 80))
    assert (first["sources_differ_in"], second["sources_differ_in"]) == (None, list(differing))
    assert (first["provenance"], first["flop_source"]) == ("analytic", "analytic")
    assert "counters" in (second["provenance"], second["flop_source"])


def test_roofs_of_other_sources_are_told_once_for_all_workloads(tmp_path: Path) -> None:
    """A percent of a published roof is none of a measured one."""
    cases = (_step(0.1, batch=8), _step(0.1, batch=16))
    device = Device(kind="cuda", name="NVIDIA A100-SXM4-80GB")
    other = build.result(
        tmp_path / "b.json",
        [replace(case, device=device) for case in cases],
        of=build.session(),
        on=build.machine("b", device),
    )
    table = _table(_run(tmp_path, "a", *cases), other)
    assert [row.sources_differ_in for row in table.rows] == [None, ("roof_source",)] * 2
    assert list(table.notes) == [
        "% of roof doesn't compare between these machines, as it rests on other sources: "
        "roofs measured on a, spec on b: resnet50-train-b8-fp32, resnet50-train-b16-fp32"
    ]


def test_the_same_sources_need_no_note(tmp_path: Path) -> None:
    """Nor do rows without a percent: from the time alone there is none."""
    same = _table(_run(tmp_path, "a", _step(0.1)), _run(tmp_path, "b", _step(0.2)))
    assert [row.sources_differ_in for row in same.rows] == [None, ()]
    assert same.notes == []
    uncounted = build.record(work=None)
    without = _table(_run(tmp_path, "a", uncounted), _run(tmp_path, "b", _step(0.2)), _run(tmp_path, "c", _step(0.2)))
    assert [row.sources_differ_in for row in without.rows] == [None, None, ()]
    assert without.notes == []
