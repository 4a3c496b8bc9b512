"""Machines stand side by side with the same workload each; nothing is pooled and nothing is left out in silence."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import load
from roofline.model.point_groups import machine_names, newest
from roofline.model.points import Point, place_all
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import Counters, Device, Flag, Latency, Record, Rounds
from roofline.show.cases.machines_table import MachinesRow, machines_table
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


def _table(*results: ResultFile) -> Table[MachinesRow]:
    return machines_table(_points(*results))


def test_a_row_without_a_record_is_of_the_machine_of_its_file(tmp_path: Path) -> None:
    """A plain benchmark beside measured cases, and a run of plain ones alone, make no second machine."""
    points = _points(
        _run(tmp_path, "epyc-2cpu", None, _step(0.1)), _run(tmp_path, "epyc-2cpu", None, started="2026-11-21")
    )
    assert list(machine_names(points).values()) == ["epyc-2cpu"]
    assert len(newest(points)[0]) == 2


def test_speed_up_is_over_the_first_machine(tmp_path: Path) -> None:
    """0.2 s on one and 0.05 s on the other: four times."""
    table = _table(_run(tmp_path, "slow", _step(0.2)), _run(tmp_path, "fast", _step(0.05)))
    assert [(row.machine, row.speed_up) for row in table.rows] == [("slow", None), ("fast", pytest.approx(4))]
    assert table.title == "Machines side by side; speed-up over slow"


def test_two_labels_of_one_machine_are_two_rows(tmp_path: Path) -> None:
    """As of a laptop that was measured with one thread and with two."""
    runs = [_run(tmp_path, label, _step(seconds), fingerprint="same") for label, seconds in (("1", 0.2), ("2", 0.1))]
    assert [(row.machine, row.speed_up) for row in _table(*runs).rows] == [("1", None), ("2", pytest.approx(2))]


def test_rows_of_a_workload_stand_together_in_the_order_of_machines(tmp_path: Path) -> None:
    """Whatever the order of the cases in the files."""
    first = _run(tmp_path, "a", _step(1, batch=8), _step(1, batch=16))
    second = _run(tmp_path, "b", _step(1, batch=16), _step(1, batch=8))
    rows = _table(first, second).rows
    assert [f"{row.point.id.split('-')[2]} {row.machine}" for row in rows] == ["b8 a", "b8 b", "b16 a", "b16 b"]


def test_a_latency_beside_a_step_time_that_drifted_is_noted(tmp_path: Path) -> None:
    """The machine became faster by the time that single steps were taken; what has no latency needs no note."""
    latency = Latency(steps=14, median_s=0.15, p95_s=0.16, p99_s=0.16)
    walls = (*[0.2] * 30, *[0.15] * 30)
    drifted = build.timing(0.18, rounds=Rounds(steps=1, wall_s=walls))
    records = [
        build.record(case=build.case(id="infer", mode="infer"), timing=replace(drifted, latency=latency)),
        build.record(case=build.case(id="train"), timing=drifted),
        build.record(case=build.case(id="steady", mode="infer"), timing=build.timing(0.18, latency=latency)),
    ]
    drifts = [note for note in _table(_run(tmp_path, "a", *records)).notes if note.startswith("Drift on a")]
    assert [note.rpartition(": ")[2] for note in drifts] == ["infer"]


def test_what_one_machine_alone_measured_is_named(tmp_path: Path) -> None:
    """The first cases of a machine and how many more; when asked all of them."""
    one = _run(tmp_path, "a", *(_step(1, batch=batch) for batch in range(1, 7)))
    other = _run(tmp_path, "b", _step(1, batch=1), _step(1, batch=9))
    ids = [f"resnet50-train-b{batch}-fp32" for batch in range(2, 7)]
    table = _table(one, other)
    assert len(table.rows) == 2
    assert list(table.notes) == [f"Only on a: {', '.join(ids[:3])} and 2 more", "Only on b: resnet50-train-b9-fp32"]
    assert f"Only on a: {', '.join(ids)}" in machines_table(_points(one, other), verbose=True).notes


def test_tests_of_one_name_are_told_by_their_path(tmp_path: Path) -> None:
    """Without a record the path is part of what they are matched by."""
    runs = []
    for label in ("a", "b"):
        content = build.document([None], on=build.machine(label))
        content["benchmarks"][0].update(name="test_x", fullname=f"{label}/t.py::test_x")
        runs.append(read_file(build.write(tmp_path / f"{label}.json", content)))
    assert _table(*runs).notes[:2] == ["Only on a: a/t.py::test_x", "Only on b: b/t.py::test_x"]


def test_the_same_name_with_another_hash_is_another_workload(tmp_path: Path) -> None:
    """Another shape or option under one id must not be compared."""
    table = _table(_run(tmp_path, "a", _step(1)), _run(tmp_path, "b", _step(1, workload_hash="changed")))
    assert list(table.rows) == []
    assert table.notes[0].startswith("Another workload under the same name")
    assert len(table.notes) == 1


def test_two_runs_of_one_machine_are_not_pooled(tmp_path: Path) -> None:
    """The newest is shown, and that another was left out."""
    older, newer = _run(tmp_path, "a", _step(0.1)), _run(tmp_path, "a", _step(0.3), started="2026-11-25")
    table = _table(older, newer, _run(tmp_path, "b", _step(0.1)))
    assert [row.point.step_time_s for row in table.rows] == [0.3, 0.1]
    assert table.notes[0] == "a: 1 older result of the same workload left out, the newest is shown"


_INVALID = (Flag(name="wrong_device", evidence="x", invalid=True),)


def test_no_speed_up_over_another_machine_than_the_first(tmp_path: Path) -> None:
    """The title names the first; where its row is invalid there is nothing to divide by."""
    table = _table(
        _run(tmp_path, "a", build.record(flags=_INVALID)),
        _run(tmp_path, "b", _step(0.1)),
        _run(tmp_path, "c", _step(1)),
    )
    assert [(row.machine, row.speed_up) for row in table.rows] == [("b", None), ("c", None)]
    assert list(table.notes) == ["Invalid on a, left out: resnet50-train-b32-fp32 (wrong_device)"]


@pytest.mark.parametrize(("flags", "rows"), [((), 1), (_INVALID, 0)])
def test_a_single_machine_is_shown_alone(tmp_path: Path, flags: tuple[Flag, ...], rows: int) -> None:
    """There is nothing beside it, and that is said; an invalid row would look like one to compare the next with."""
    table = _table(_run(tmp_path, "a", build.record(flags=flags)))
    assert table.title == "a: no other machine beside it"
    assert (len(table.rows), len(table.notes)) == (rows, 1 - rows)


def test_versions_that_differ_are_named(tmp_path: Path) -> None:
    """They may be the reason for a difference."""
    old = {"torch": "2.11.0", "python": "3.12.4"}
    table = _table(_run(tmp_path, "a", _step(0.1)), _run(tmp_path, "b", _step(0.1), versions=old))
    assert list(table.notes) == ["Versions differ: torch"]


def test_one_label_for_two_machines(tmp_path: Path) -> None:
    """Device first, then the fingerprint tells them apart; what differs is said."""
    other = Device(kind="cuda", name="NVIDIA L4")
    points = _points(
        _run(tmp_path, "lab", _step(0.1)),
        _run(tmp_path, "lab", build.record(device=other), started="2", fingerprint="0123456789"),
        _run(tmp_path, "lab", _step(0.1), started="3", fingerprint="abcdefghij", cpu="AMD EPYC 7B14"),
    )
    assert list(machine_names(points).values()) == [
        "lab (AMD EPYC 7B13) [of lab]",
        "lab (NVIDIA L4)",
        "lab (AMD EPYC 7B13) [efghij]",
    ]
    (note,) = (note for note in machines_table(points).notes if note.startswith("What differs between lab "))
    assert note.endswith("processor AMD EPYC 7B13 v AMD EPYC 7B13 v AMD EPYC 7B14")


def test_foreign_files_are_matched_by_name_with_a_warning(tmp_path: Path) -> None:
    """Times can be compared; that the work is the same isn't proven. Their processor tells two of a name apart."""
    files = []
    for name, changes in {"a": {}, "b": {"cpu": {}}, "c": {"cpu": {}, "system": "Darwin"}}.items():
        document = build.document([None])
        document["machine_info"].update(changes)
        document["benchmarks"][0]["stats"]["median"] = 0.1 if name == "a" else 0.05
        files.append(read_file(build.write(tmp_path / f"{name}.json", document)))
    table = _table(*files)
    assert [row.machine for row in table.rows] == ["host (AMD EPYC 7B13)", "host [Linux 6.1]", "host [Darwin 6.1]"]
    assert [row.speed_up for row in table.rows] == [None, pytest.approx(2), pytest.approx(2)]
    assert "that the work is the same isn't proven" in table.notes[-1]


def test_the_table_fits_80_columns_with_all_that_is_asked(tmp_path: Path) -> None:
    """Throughput and spread, speed-up, percent of the own roof, bound, latency."""
    cpu, cuda = build.two_machines(tmp_path)
    text = render(_table(read_file(cpu), read_file(cuda)), "table", 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[2].split() == ["machine", "/s", "samples/s", "speed-up", "roof", "bound", "latency"]
    assert "Too narrow" not in text


_ALIKE: dict[str, Any] = {"status": "missing_metric", "reason": "x"}


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"counters": Counters(status="ok", flop=1.2e11, dram_byte=2e9)}, ("flop_source", "provenance")),
        ({"counters": Counters(**_ALIKE, flop=1.2e11)}, ("flop_source",)),
        ({"counters": Counters(**_ALIKE, dram_byte=2e9)}, ("provenance",)),
        ({"device": Device(kind="cuda", name="NVIDIA A100-SXM4-80GB")}, ("roof_source",)),
    ],
)
def test_a_percent_of_roof_of_other_sources_is_named(
    tmp_path: Path, changes: dict[str, Any], differing: tuple[str, ...]
) -> None:
    """Counted and by counters the same work has another percent of the same roof, and of a published roof too."""
    other = build.result(
        tmp_path / "b.json",
        [build.record(**changes)],
        of=build.session(() if "device" in changes else build.roofs()),
        on=build.machine("b", changes.get("device", build.record().device)),
    )
    table = _table(_run(tmp_path, "a", _step(0.1)), other)
    assert [row.sources_differ_in for row in table.rows] == [None, differing]
    assert list(table.notes) == [f"% of roof doesn't compare, its sources differ: {', '.join(differing)}"]
    first, second = json.loads(render(table, "json", 80))
    assert (first["sources_differ_in"], second["sources_differ_in"]) == (None, list(differing))
