"""The tables of cases carry what the reports need, and the summary says what speaks against a number."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import load
from roofline.model.point_groups import cases, newest
from roofline.model.points import Point, points_of
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import Counters, Device, Flag, HostCounters, Process, Record, Rounds
from roofline.schema.session import NotMeasured, Roof
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.roof_tables import roofs_table
from roofline.show.cases.summary_tables import run_tables, summary_table, tables_that_fit, telling
from roofline.show.render import render
from roofline.show.tables import Table
from tests.roofline import build


def _all(tmp_path: Path, *records: Record | None, **session: Any) -> tuple[ResultFile, tuple[Point, ...]]:
    result = build.result(tmp_path / "a.json", records, of=build.session(build.roofs(), **session))
    return result, points_of(result, load())


def _csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _check(row: Mapping[str, str], expected: str) -> None:
    """Compare a row of CSV with ``name=value | name=value``."""
    pairs = dict(pair.split("=", 1) for pair in expected.split(" | "))
    assert {name: row[name] for name in pairs} == pairs


def _metrics(tmp_path: Path, record: Record | None) -> dict[str, str]:
    (row,) = _csv(render(metrics_table(_all(tmp_path, record)[1]), "csv", 80))
    return row


def test_metrics_csv_has_what_the_machine_told_meanwhile(tmp_path: Path) -> None:
    """Repeats and how long the loader took to start; power, heat, clocks and what held them down, energy a sample, a
    quota's waiting, and perf's ratios.
    """
    rounds = Rounds(
        steps=1,
        wall_s=(0.1, 0.1),
        sm_clock_hz=(1.2e9, 1.4e9),
        memory_clock_hz=(2.6e9, 2.6e9),
        power_w=(300.0, 320.0),
        temperature_c=(70.0, 84.0),
        device_memory_byte=(10**9, 2 * 10**9),
        throttle=("SW Power Cap", None),
        power_held_s=(0.0625, 0.03125),
        heat_held_s=(0.0, 0.0),
    )
    process = Process(
        user_s=1.0, system_s=1.0, max_rss_byte=1, voluntary_switches=1, involuntary_switches=1, throttled_s=0.25
    )
    events = HostCounters(status="missing_metric", cycles=2e9, instructions=3e9, branches=100.0, branch_misses=1.0)
    record = build.record(
        timing=build.timing(rounds=rounds, repeat_step_time_s=(0.25, 0.5), input_startup_s=1.5),
        process=process,
        host_counters=events,
        energy_j_per_step=64.0,
    )
    row = _metrics(tmp_path, record)
    _check(
        row,
        "repeat_step_time_s=0.25; 0.5 | input_startup_s=1.5 | energy_j_per_sample=2.0 | "
        "sm_clock_hz=1300000000.0 | memory_clock_hz=2600000000.0 | power_w=310.0 | temperature_c=84.0 | "
        "device_memory_byte=2000000000 | throttle_share=0.5 | throttle_reasons=SW Power Cap | "
        "power_held_s=0.09375 | heat_held_s=0.0 | throttled_s=0.25 | host_counter_status=missing_metric | "
        "instructions_per_cycle=1.5 | cache_miss_share= | branch_miss_share=0.01",
    )


def test_what_counters_read_has_columns(tmp_path: Path) -> None:
    """Bytes of each level, reads and writes, tensor cores; and how busy the device was by the profiler."""
    counters = Counters(
        status="ok",
        flop=4e11,
        flop_by_pipe={"tensor_bf16": 3e11, "fp32": 1e11},
        dram_byte=4e9,
        dram_read_byte=3e9,
        dram_write_byte=1e9,
        l2_byte=8e9,
        l1_byte=2e10,
    )
    profile = build.profile(source="kernels", device_busy_s=0.09, longest_gap_s=0.001)
    record = build.record(counters=counters, profile=profile)
    row = _metrics(tmp_path, record)
    _check(
        row,
        "counter_status=ok | counter_reason= | counter_flop_by_pipe=75.0 % tensor_bf16, 25.0 % fp32 | "
        "tensor_share=0.75 | counter_dram_byte_per_step=4000000000.0 | "
        "counter_dram_read_byte_per_step=3000000000.0 | counter_dram_write_byte_per_step=1000000000.0 | "
        "counter_l2_byte_per_step=8000000000.0 | counter_l1_byte_per_step=20000000000.0 | device_busy_s=0.09 | "
        "longest_gap_s=0.001",
    )
    assert float(row["device_share"]) == pytest.approx(0.9)
    (point,) = _csv(render(points_table(_all(tmp_path, record)[1]), "csv", 80))
    shared = ("counter_status", "tensor_share", "counter_l2_byte_per_step", "counter_dram_write_byte_per_step")
    assert {key: point[key] for key in shared} == {key: row[key] for key in shared}


def test_counters_that_were_refused_have_a_reason_and_no_numbers(tmp_path: Path) -> None:
    """Whatever stands beside the status."""
    counters = Counters(status="permission_denied", reason="ERR_NVGPUCTRPERM", flop=1.0, l2_byte=0.0)
    _, points = _all(tmp_path, build.record(counters=counters))
    (row,) = json.loads(render(metrics_table(points), "json", 80))
    assert (row["counter_status"], row["counter_reason"]) == ("permission_denied", "ERR_NVGPUCTRPERM")
    numbers = ("counter_flop_per_step", "counter_l2_byte_per_step", "counter_dram_byte_per_step", "tensor_share")
    assert [row[name] for name in numbers] == [None] * 4


_LOADER = {"workers": 2, "pin_memory": True, "prefetch_factor": 4, "augment": False}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(
            {"seed": 1, "threads": 3, "grad_accum_steps": 2, "augment": True, "loader": _LOADER},
            {"seed": 1, "threads": 3, "grad_accum_steps": 2, **_LOADER},
            id="a model fed by a loader",
        ),
        pytest.param(_LOADER, {"seed": None, "threads": None, "grad_accum_steps": None, **_LOADER}, id="loader alone"),
        pytest.param(
            {"seed": 0, "loader": None, "augment": None, "deterministic": False, "cudnn_benchmark": True},
            {"seed": 0, **dict.fromkeys(_LOADER), "deterministic": False, "cudnn_benchmark": True},
            id="ready tensors",
        ),
    ],
)
def test_metrics_have_the_settings_of_the_run(tmp_path: Path, config: dict[str, Any], expected: dict[str, Any]) -> None:
    """Wherever the case keeps them; null where there is no loader."""
    _, points = _all(tmp_path, build.record(case=build.case(config=config)))
    (row,) = json.loads(render(metrics_table(points), "json", 80))
    assert {key: row[key] for key in expected} == expected


def test_foreign_rows_have_empty_cells(tmp_path: Path) -> None:
    """What is not known is empty in CSV and null in JSON; the time is there."""
    _, points = _all(tmp_path, None)
    row = _metrics(tmp_path, None)
    assert (row["case"], row["step_time_s"], row["model"], row["samples_per_s"]) == ("test_0", "0.1", "", "")
    document = json.loads(render(points_table(points), "json", 80))
    assert document[0]["model"] is None
    assert document[0]["why_not_plottable"] == "no record of the work: a plain benchmark, without the fixture roofline"


def test_what_is_known_of_foreign_rows_is_shown(tmp_path: Path) -> None:
    """Their time, and no column of dashes; beside rows that have a record, too."""
    result, points = _all(tmp_path, build.record(), None)
    assert _shown(summary_table(result, points[1:])) == ["case", "step_time_s", "spread", "notes"]
    assert _shown(summary_table(result, points))[:3] == ["case", "throughput", "step_time_s"]


def _shown(table: Table[Any]) -> list[str]:
    return [column.name for column in table.displayed()]


def test_parameters_of_foreign_rows_are_columns(tmp_path: Path) -> None:
    """Nothing else tells what they measured: the same test with others is another workload."""
    content = build.document([None, None, build.record()])
    for row, params in zip(
        content["benchmarks"], ({"batch": 8}, {"batch": 32, "shape": [3, 4]}, {"x": 1}), strict=True
    ):
        row.update(params=params, name="test_a", fullname="t.py::test_a")
    result = read_file(build.write(tmp_path / "a.json", content))
    points = points_of(result, load())
    for table in (metrics_table(points), points_table(points)):
        rows = json.loads(render(table, "json", 80))
        assert [(row["param_batch"], row["param_shape"]) for row in rows] == [(8, None), (32, "[3, 4]"), (None, None)]
        assert "param_x" not in rows[0]
    assert "batch" in render(summary_table(result, points), "table", 300)
    assert len(newest(points)[0]) == 3


def test_what_a_user_noted_of_a_run_is_in_its_heading_and_a_column(tmp_path: Path) -> None:
    """Null in the rows of a run of which nobody noted it; no other run's heading has it."""
    of_runs = {"a.json": {"zone": "us-east1-b"}, "b.json": {}}
    results = [
        build.result(tmp_path / name, [build.record()], of=build.session(build.roofs(), noted=noted))
        for name, noted in of_runs.items()
    ]
    points = tuple(point for result in results for point in points_of(result, load()))
    for table in (metrics_table(points), points_table(points)):
        assert [row["note_zone"] for row in json.loads(render(table, "json", 80))] == ["us-east1-b", None]
        assert table.section is not None
        assert ["zone us-east1-b" in table.section(row) for row in table.rows] == [True, False]


@pytest.mark.parametrize("table_of", [points_table, metrics_table])
def test_rows_stand_below_the_heading_of_their_run(
    tmp_path: Path, table_of: Callable[[tuple[Point, ...]], Table[Any]]
) -> None:
    """Its machine and its time (UTC). A copy, which has both in common, is told by its path; of one run none is said.
    In CSV and JSON columns tell the file.
    """
    names = ("a.json", "b.json", "copy.json")
    times = ("2026-01-01T10:00:00+00:00", "2026-01-02T10:00:00+00:00", "2026-01-02T10:00:00+00:00")
    results = [
        build.result(tmp_path / name, [build.record()], of=build.session(build.roofs(), started_at=time))
        for name, time in zip(names, times, strict=True)
    ]
    table = table_of(tuple(point for result in results for point in points_of(result, load())))
    assert table.section is not None
    first, *others = [table.section(row) for row in table.rows]
    assert (first.split(", ")[0], first.split(", ")[2]) == ("epyc-2cpu", times[0])
    assert str(tmp_path) not in first
    assert [heading.endswith(f"({result.path})") for heading, result in zip(others, results[1:], strict=True)] == [
        True
    ] * 2
    assert first in render(table, "table", 200).splitlines()
    rows = _csv(render(table, "csv", 80))
    assert [(row["file"], row["started_at"]) for row in rows] == list(zip(names, times, strict=True))
    assert table_of(points_of(results[0], load())).section is None


def test_many_flags_take_the_room_of_one_where_space_is_short(tmp_path: Path) -> None:
    """The one that makes the row invalid is named; where there is room, and in JSON, all are."""
    flags = [Flag(name=name, evidence="x", invalid=name == "wrong_device") for name in ("margin", "wrong_device", "gc")]
    _, points = _all(
        tmp_path, build.record(flags=tuple(flags)), build.record(case=build.case(batch=2), flags=(flags[0],))
    )
    table = points_table(points)
    assert "wrong_device +2" in (narrow := render(table, "table", 80))
    assert "Not shown" not in narrow
    assert "wrong_device, margin, gc" in render(table, "table", 200)
    rows = json.loads(render(table, "json", 80))
    assert [len(row["flags"]) for row in rows] == [3, 1]


def test_a_row_without_a_step_time_is_invalid(tmp_path: Path) -> None:
    """It is shown, with its flag and without the number that is no time, whoever wrote the row."""
    content = build.document(
        [None, None, None, *(build.record(timing=build.timing(time)) for time in (-1.0, 0.0, 0.1))]
    )
    content["benchmarks"][0]["stats"] = {}
    content["benchmarks"][1]["stats"] = {"mean": -1.0}
    result = read_file(build.write(tmp_path / "a.json", content))
    points = points_of(result, load())
    wrong = "invalid: no_step_time"
    assert [point.why_invalid for point in points] == [wrong, wrong, None, wrong, wrong, None]
    assert [point.step_time_s for point in points] == [None, None, 0.1, None, None, 0.1]
    assert points[0].flags[-1].evidence == "its step time is missing or not finite"
    assert points[3].flags[-1].evidence == "its step time is -1 s, which is not a time"
    assert "no_step_time (invalid)" in render(summary_table(result, points), "table", 100)


def test_an_estimate_from_time_alone_looks_like_one(tmp_path: Path) -> None:
    """Its intensity stands in brackets, and it has no percent of the roof."""
    result, points = _all(tmp_path, build.record(work=build.work(low=float("nan"), high=float("nan"))))
    line = render(summary_table(result, points), "table", 120).splitlines()[4]
    assert "(10)" in line
    assert line.split()[-2:] == ["undetermined", "1,2"]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_summary_has_every_column_from_80_columns_on(tmp_path: Path, width: int) -> None:
    """Throughput, margin, attained, intensity, roof, speed of light, bound and flags."""
    cpu, cuda = build.two_machines(tmp_path)
    for path in (cpu, cuda):
        result = read_file(path)
        text = render(summary_table(result, cases(points_of(result, load()))), "table", width)
        assert max(map(len, text.splitlines())) <= width
        assert text.splitlines()[1].split() == ["samples/s", "FLOP/", "%", "of", "%", "of"]
        assert " ".join(text.splitlines()[2].split()) == "case ± margin FLOP/s byte roof SOL bound flags"
        assert "Too narrow" not in text


def test_the_widest_rows_fit_into_80_columns(tmp_path: Path) -> None:
    """A fast small net, a wide range and four remarks: throughput and margin stay, rounded where they must be."""
    flags = tuple(Flag(name=name, evidence="x") for name in ("margin", "disturbed", "unsteady"))
    result, points = _all(
        tmp_path,
        build.record(
            case=build.case(model="mobilenet_v2", data="sample", batch=1024, id="mobilenet_v2-train-b1024-fp32-sample"),
            timing=build.timing(1024 / 130275, margin=0.1234),
            work=build.work(1e8, 1e8 / 2055, 1e8 / 95),
            flags=flags,
        ),
        build.record(
            case=build.case(model="mobilenet_v2", batch=64),
            timing=build.timing(1e9 / 5.3e8),
            work=build.work(1e9, 1e9 / 8.2, 1e9 / 1.7),
        ),
        build.record(case=build.case(batch=2), timing=build.timing(0.1, margin=0.0456)),
        build.record(case=build.case(batch=3), timing=build.timing(0.1, margin=None)),
    )
    lines = render(summary_table(result, points), "table", 80).splitlines()
    # A command stays whole.
    assert max(len(line) for line in lines if not line.startswith("    roofline summary ")) <= 80
    assert "Too narrow" not in "\n".join(lines)
    rows = [line.split() for line in lines[4:12]]
    assert rows[0][:5] == ["mobilenet_v2", "130275", "±12%", "12.7G", "95-2055"]
    assert any(row[3:6] == ["530M", "1.7-8.2", ".065-.31"] for row in rows)
    assert any("±5%" in row for row in rows)
    wide = render(summary_table(result, points), "table", 120)
    assert "20.0 ±4.6%" in wide
    assert "130275 ±12%" in wide
    assert "12.7 G" in wide
    assert "0.065-0.31" in wide


def test_a_screen_has_what_needs_attention_then_the_best_and_the_worst(tmp_path: Path) -> None:
    """Invalid rows, some of the margins that were not reached, and as many near to their roofs as far from them.

    The case of batch 1 is the fastest, and each after it is slower. Notes speak of all cases.
    """
    missed = (Flag(name="margin", evidence="not reached"),)
    changes: dict[int, dict[str, Any]] = {
        3: {"flags": missed, "timing": build.timing(0.3, margin=0.3)},
        4: {"flags": missed, "timing": build.timing(0.4, margin=0.05)},
        5: {"flags": (Flag(name="finite_disproved", evidence="the loss is nan", invalid=True),)},
        7: {"flags": missed, "timing": build.timing(0.7, margin=None)},
        10: {"work": None},
    }
    records = [
        build.record(
            **{
                "case": build.case(batch=batch, samples_per_step=32),
                "timing": build.timing(batch / 10),
                **changes.get(batch, {}),
            }
        )
        for batch in range(1, 11)
    ]
    result, points = _all(tmp_path, *records)

    def blocks(most: int) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for block, place in telling(points, most):
            found.setdefault(block, []).append(place + 1)
        return found

    need, near, far = "Need attention", "Nearest to their roofs", "Furthest from them, or not placed"
    assert blocks(3) == {need: [5], near: [1], far: [10]}
    assert blocks(6) == {need: [5, 3], near: [1, 2], far: [10, 9]}
    assert blocks(10) == {need: [5, 3, 4, 7], near: [1, 2, 6], far: [10, 9, 8]}
    tables = run_tables(result, points, verbose=False)
    (table,) = tables_that_fit(tables, points, 39, 80, lambda some: 13 * len(some[0].rows))
    lines = render(table, "table", 80).splitlines()
    assert [line.split("  ")[:2] for line in lines[4:10]] == [
        *(["Need attention"], ["", "resnet50-train-b5-fp32"]),
        *(["Nearest to their roofs"], ["", "resnet50-train-b1-fp32"]),
        *(["Furthest from them, or not placed"], ["", "resnet50-train-b10-fp32"]),
    ]
    assert "[2] margin: 3 cases" in table.notes
    assert table.notes[-1] == f"3 of 10 cases. All: roofline summary {result.path} -v"


def test_the_summary_numbers_what_is_said(tmp_path: Path) -> None:
    """A number and a line a kind of remark, with how many cases have it; when asked, the evidence, equal ones once."""
    flagged = [
        build.record(case=build.case(batch=batch), flags=(Flag(name="disturbed", evidence=f"{max(batch, 2)} rounds"),))
        for batch in range(1, 5)
    ]
    result, points = _all(tmp_path, *flagged)
    table = summary_table(result, points)
    assert table.notes == [
        "[1] disturbed: 4 cases",
        "[2] undetermined: range straddles the knee: 4 cases",
        f"Evidence of each case: roofline summary {result.path} -v",
    ]
    assert render(table, "table", 120).splitlines()[4].split()[-1] == "1,2"
    assert summary_table(result, points, verbose=True).notes == [
        "[1] disturbed",
        "    resnet50-train-b1-fp32, resnet50-train-b2-fp32: 2 rounds",
        *(f"    resnet50-train-b{batch}-fp32: {batch} rounds" for batch in (3, 4)),
        "[2] undetermined: range straddles the knee",
    ]


_INVALID = Flag(name="wrong_device", evidence="ran on cpu", invalid=True)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        # The bound's reason would only repeat the flag's.
        ({"flags": (_INVALID,)}, "[1] wrong_device (invalid): 1 case, first resnet50-train-b32-fp32: ran on cpu"),
        ({"work": build.work(dtype="bf16")}, "[2] no speed of light: no compute roof for bf16: 1 case"),
        ({"timing": build.timing(compile_s=14.6)}, "[1] compiled: 1 case"),
    ],
)
def test_the_summary_says_what_is_to_be_known_of_a_case(tmp_path: Path, changes: dict[str, Any], note: str) -> None:
    """An invalid row with its evidence; a missing roof; the time to compile apart from the step's."""
    result, points = _all(tmp_path, build.record(**changes))
    notes = summary_table(result, points).notes
    assert note in notes
    assert "\n".join(notes).count("ran on cpu") <= 1
    in_full = "\n".join(summary_table(result, points, verbose=True).notes)
    assert ("14.6 s before its first step" in in_full) is ("timing" in changes)


def test_the_summary_tells_what_was_not_measured(tmp_path: Path) -> None:
    """A single case with its reason; of several of one outcome how many, and when asked the reason of each."""
    skipped = tuple(NotMeasured(id=f"case{number}", outcome="skipped", reason=f"r{number}") for number in range(3))
    left_out = (NotMeasured(id="vgg16-train-b512-fp32", outcome="out_of_memory", reason="needs 22 GB"), *skipped)
    result, points = _all(tmp_path, build.record(), not_measured=left_out)
    notes = summary_table(result, points).notes
    assert "vgg16-train-b512-fp32: out of memory: needs 22 GB" in notes
    assert "skipped: 3 cases (case0, case1 and 1 more)" in notes
    notes = summary_table(result, points, verbose=True).notes
    assert [f"case{number}: skipped: r{number}" for number in range(3)] == notes[-3:]


def test_the_summary_says_whether_input_bounds_the_step(tmp_path: Path) -> None:
    """A step fed by a loader beside the same on ready tensors, and the loader alone."""
    config = {"test": "input_pipeline"}
    result, points = _all(
        tmp_path,
        build.record(case=build.case(id="ready", config=config)),
        build.record(
            case=build.case(id="fed", data="sample", config=config), timing=build.timing(0.2, input_wait_s=0.1)
        ),
        build.record(case=build.case(id="alone", mode="input", data="sample"), work=None),
    )
    assert "input: 1 step fed: Input bounds the step." in summary_table(result, points).notes
    text = " ".join(render(summary_table(result, points, verbose=True), "table", 120).split())
    assert "input: resnet50-train-b32-fp32 on sample: 160 images/s, 50 % less than on ready tensors;" in text
    assert "Input bounds the step." in text
    assert "undetermined: loader alone" in text
    assert "alone: no model ran" not in text


def test_the_roofs_in_use(tmp_path: Path) -> None:
    """Value, knee, spread, source, time and kernel of each."""
    _, points = _all(tmp_path, build.record())
    lines = render(roofs_table(points), "table", 120).splitlines()
    assert lines[4].split() == (
        ["fp32", "10.0", "TFLOP/s", "100", "3.0", "%", "measured", "2026-11-20", "10:00", "matmul", "4096x4096x4096"]
    )
    assert lines[5].split()[:3] == ["dram", "100", "GB/s"]


def test_a_cache_slower_than_memory_is_doubtful(tmp_path: Path) -> None:
    """Its row stays as it was measured; below the roofs stands why, and below the points one line."""
    roofs = [*build.roofs(), build.roof("byte", "llc", 5e10)]
    result = build.result(tmp_path / "a.json", [build.record(), build.record()], of=build.session(roofs))
    points = points_of(result, load())
    text = " ".join(render(roofs_table(points), "table", 120).split())
    assert "llc 50.0 GB/s" in text
    assert "llc (50.0 GB/s, less than dram's 100 GB/s)" in text
    assert points_table(points).notes == ["Doubtful roofs (llc) in a.json: `roofline summary` says why"]


_FOO = Device(kind="cuda", name="NVIDIA FooBar 9000")


@pytest.mark.parametrize(
    ("device", "roofs", "said", "names"),
    [
        (
            build.CPU,
            [build.roof("flop", "fp32", 1e13, from_file="20261101T000000Z-abc.json")],
            "Taken over from an earlier run of this machine: 20261101T000000Z-abc.json",
            ["fp32"],
        ),
        # bf16's would only be clutter.
        (build.CUDA, [], "NVIDIA A100 Tensor Core GPU, data sheet, 2021", ["fp32", "dram"]),
        (_FOO, [], "None: none measured in this file and none published for 'NVIDIA FooBar 9000'", []),
    ],
    ids=["taken over", "published", "none"],
)
def test_where_the_roofs_are_from(
    tmp_path: Path, device: Device, roofs: list[Roof], said: str, names: list[str]
) -> None:
    """An earlier run's file, or the document of those that a case needs; or why there are none."""
    result = build.result(
        tmp_path / "a.json", [build.record(device=device)], of=build.session(roofs), on=build.machine(device=device)
    )
    table = roofs_table(points_of(result, load()))
    assert said in render(table, "table", 200)
    assert [roof.name for roof in table.rows] == names
