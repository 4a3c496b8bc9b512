"""Every benchmark of a file becomes a point; runs are told apart and never pooled."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import DeviceTable, load
from roofline.model.point_groups import cases, newest, runs_of
from roofline.model.points import Point, place_all, points_of
from roofline.results.result import ResultFile
from roofline.schema.record import Check, Flag, Memory, Record
from tests.roofline import build


@pytest.fixture(scope="module")
def table() -> DeviceTable:
    return load()


def _points(tmp_path: Path, table: DeviceTable, *records: Record | None) -> tuple[Point, ...]:
    return points_of(build.result(tmp_path / "a.json", records), table)


def test_a_foreign_row_has_its_time(tmp_path: Path, table: DeviceTable) -> None:
    """pytest-benchmark's mean and deviation; no throughput, for what a sample is isn't known."""
    (point,) = _points(tmp_path, table, None)
    assert (point.id, point.mode) == ("test_0", None)
    assert point.step_time_s == 0.1
    assert point.spread == pytest.approx(0.02)
    assert (point.samples_per_s, point.fraction_of_sol) == (None, None)
    assert (point.bound.kind, point.placement.provenance) == ("undetermined", "none")


def test_one_round_has_no_spread(tmp_path: Path, table: DeviceTable) -> None:
    """pytest-benchmark writes a deviation of 0."""
    (point,) = _points(tmp_path, table, None)
    once = replace(point.benchmark.stats, rounds=1, stddev_s=0.0)
    assert replace(point, benchmark=replace(point.benchmark, stats=once)).spread is None


def test_the_cliff_of_a_file_changes_the_bound(tmp_path: Path, table: DeviceTable) -> None:
    """Batches 32 to 128 of one case; the last reserved 19 of 16 GB and is 12 times slower."""

    def batch(size: int, rate: float, reserved: float) -> Record:
        memory = Memory(peak_reserved_byte=int(reserved), device_total_byte=16 * 10**9)
        return build.record(case=build.case(batch=size), timing=build.timing(size / rate), memory=memory)

    points = _points(
        tmp_path, table, batch(32, 900, 5e9), batch(64, 1000, 9e9), batch(96, 1020, 12.5e9), batch(128, 85, 19e9)
    )
    assert [[flag.name for flag in point.flags] for point in points] == [
        [],
        [],
        [],
        ["memory_oversubscribed", "throughput_cliff"],
    ]
    assert points[3].bound.kind == "capacity"
    assert points[2].bound.kind != "capacity"


@pytest.mark.parametrize(("workers", "threads", "flags"), [(1, 1, ["fewer_threads"]), (1, 2, []), (0, 1, [])])
def test_a_case_with_fewer_threads_than_its_roofs_is_flagged(
    workers: int, threads: int, flags: list[str], tmp_path: Path, table: DeviceTable
) -> None:
    """On a machine of two threads, where the loader's workers have the other one."""
    case = build.case(data="sample", config={"loader": {"workers": workers}, "threads": threads})
    (point,) = _points(tmp_path, table, build.record(case=case))
    assert [flag.name for flag in point.flags] == flags
    assert all(flag.evidence.endswith("the rest; its roofs are of 2 threads") for flag in point.flags)


def test_the_cause_of_a_cliff_is_what_the_measuring_side_saw(tmp_path: Path, table: DeviceTable) -> None:
    """Memory that spilled, though this process had reserved less than the device has."""
    fast = build.record(timing=build.timing(0.032))
    spilled = Flag(name="spilled", evidence="15.8 GB in use by all programs of 16.0 GB")
    slow = build.record(case=build.case(batch=64), timing=build.timing(0.64), flags=(spilled,))
    point = _points(tmp_path, table, fast, slow)[1]
    assert [flag.name for flag in point.flags] == ["spilled", "throughput_cliff"]
    assert point.flags[1].evidence.endswith("cause: device memory is full")
    assert point.bound.kind == "capacity"


def test_a_row_of_which_a_check_failed_is_invalid(tmp_path: Path, table: DeviceTable) -> None:
    """Whether or not whoever wrote it set a flag for it, too; and it is no measure for its neighbours."""
    check = Check(name="precision", status="failed", evidence="3 products ran in tf32")
    smaller = build.record(checks=(check,), timing=build.timing(0.032))
    points = _points(tmp_path, table, smaller, build.record(case=build.case(batch=64), timing=build.timing(0.64)))
    assert [point.valid for point in points] == [False, True]
    assert points[0].why_invalid == points[0].why_not_drawn == "invalid: precision_disproved"
    assert (points[0].bound.why, points[1].flags) == ("invalid", ())


def test_flags_of_the_record_come_first(tmp_path: Path, table: DeviceTable) -> None:
    """What the measuring side said stands before what the analysis found."""
    own = Flag(name="disturbed", evidence="2 rounds")
    (point,) = _points(tmp_path, table, build.record(flags=(own,), work=build.work(2e12, 1e9, 1e9)))
    assert [flag.name for flag in point.flags] == ["disturbed", "above_roof", "faster_than_sol"]


def test_cases_leave_out_the_roofs(tmp_path: Path, table: DeviceTable) -> None:
    """A benchmark that measured a roof is no case under it."""
    roof = build.record(case=build.case(id="roof-fp32", mode="roof"))
    points = _points(tmp_path, table, roof, build.record())
    assert [point.mode for point in points] == ["roof", "train"]
    assert [point.mode for point in cases(points)] == ["train"]


def _run(tmp_path: Path, name: str, started: str, step_s: float, **machine: Any) -> ResultFile:
    return build.result(
        tmp_path / name,
        [build.record(timing=build.timing(step_s))],
        of=build.session(build.roofs(), started_at=started),
        on=build.machine(**machine),
    )


def test_the_newest_run_counts_and_none_is_averaged(tmp_path: Path, table: DeviceTable) -> None:
    """Two runs of one machine: the later start, whatever the order of the files, and a note."""
    late = _run(tmp_path, "a.json", "2026-11-21T00:00:00+00:00", 0.2)
    early = _run(tmp_path, "b.json", "2026-11-20T00:00:00+00:00", 0.1)
    shown, notes = newest(place_all([late, early], table))
    assert [point.step_time_s for point in shown] == [0.2]
    assert notes == ("epyc-2cpu: 1 older result of the same workload left out, the newest is shown",)


def test_runs_with_other_threads_are_told(tmp_path: Path, table: DeviceTable) -> None:
    """They are of one machine, and no comparison of the code."""
    runs = [
        _run(tmp_path, f"{count}.json", f"2026-11-{count}T00:00:00+00:00", 0.1, threads={"intra_op": count})
        for count in (20, 10)
    ]
    _, (note,) = newest(place_all(runs, table))
    assert note.endswith(", the newest is shown; threads differ: 10, 20")


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ((1,), None),
        ((1, 3), "Cases of 2 runs: 1 of 2026-11-03, 1 of 2026-11-01."),
        ((2, 1, 4, 3), "Cases of 4 runs: 1 of 2026-11-04, 1 of 2026-11-03, 1 of 2026-11-02, and of 1 more."),
    ],
)
def test_the_runs_that_points_are_of(
    tmp_path: Path, table: DeviceTable, days: tuple[int, ...], said: str | None
) -> None:
    """The newest first, and three at most."""
    files = [_run(tmp_path, f"{day}.json", f"2026-11-{day:02}T00:00:00+00:00", 0.1) for day in days]
    found = runs_of(place_all(files, table))
    assert (found and found.replace("T00:00:00+00:00", "")) == said


def test_other_machines_and_other_workloads_stay(tmp_path: Path, table: DeviceTable) -> None:
    """Only the same work on the same machine is the same thing."""
    one = _run(tmp_path, "a.json", "2026-11-21T00:00:00+00:00", 0.2)
    other = _run(tmp_path, "b.json", "2026-11-20T00:00:00+00:00", 0.1, label="other")
    changed = build.result(tmp_path / "c.json", [build.record(case=build.case(workload_hash="another"))])
    shown, notes = newest(place_all([one, other, changed], table))
    assert len(shown) == 3
    assert notes == ()
