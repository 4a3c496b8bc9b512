"""pytest-benchmark's files as rows: this suite's with their record, others' with what they state."""

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.audits import audit, rows_of
from roofline.audits.reading import read_one
from roofline.audits.row import StatedRow, exact
from roofline.schema.record import Check, Memory, Profile
from tests.roofline import build
from tests.roofline.audits.make import KNOWN

STATS = {
    "min": 1e-3, "max": 4e-3, "mean": 2e-3, "stddev": 5e-4, "median": 1.9e-3, "q1": 1.5e-3, "q3": 2.2e-3,
    "rounds": 10, "iterations": 3, "ops": 500.0, "total": 2e-2,
}  # fmt: skip


def _foreign(
    folder: Path, *benchmarks: dict[str, Any], name: str = "foreign.json", node: str = "host"
) -> tuple[StatedRow, ...]:
    rows = [{"name": "test_one", "fullname": "t.py::test_one", "stats": STATS, **benchmark} for benchmark in benchmarks]
    path = build.write(folder / name, {"machine_info": {"node": node}, "benchmarks": rows, "version": "5.0"})
    return rows_of(path, KNOWN.devices)


def _own(folder: Path, *records: Any) -> tuple[StatedRow, ...]:
    ceilings = (*build.roofs(), build.roof("latency", "launch", 2e-6))
    path = build.write(folder / "own.json", build.document(records, of=build.session(ceilings), on=build.machine()))
    return rows_of(path, KNOWN.devices)


def _rules(rows: tuple[StatedRow, ...]) -> set[str]:
    found = audit(rows, KNOWN.devices)
    return {result.rule.name for result in found.results if result.contradictions}


def test_a_foreign_benchmark_brings_its_statistics(tmp_path: Path) -> None:
    (row,) = _foreign(tmp_path, {})
    assert (row.place, row.name, row.model) == ("benchmark 1", "test_one", None)
    assert (row.mean_s, row.steps_per_s, row.steps, row.total_s) == tuple(map(exact, (2e-3, 500.0, 10.0, 2e-2)))
    assert [share for share, _ in row.percentiles] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert _rules((row,)) == set()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"ops": 250.0}, "rate_times_time"),
        ({"total": 2e-1}, "rate_times_time"),
        ({"mean": 5e-3, "ops": 200.0, "total": 5e-2}, "mean_above_percentile"),
        ({"q1": 2e-3, "median": 1.9e-3}, "out_of_order"),
        ({"stddev": 0.0}, "zero_spread"),
    ],
)
def test_each_statistic_that_was_changed_is_found(tmp_path: Path, changes: dict[str, float], rule: str) -> None:
    assert _rules(_foreign(tmp_path, {"stats": {**STATS, **changes}})) == {rule}


def test_one_round_has_no_spread(tmp_path: Path) -> None:
    """pytest-benchmark writes 0 for it."""
    one = {**STATS, "rounds": 1, "total": 2e-3, "stddev": 0.0}
    assert _rules(_foreign(tmp_path, {"stats": one})) == set()


def test_old_files_lack_statistics(tmp_path: Path) -> None:
    (row,) = _foreign(tmp_path, {"stats": {"mean": 1.0, "min": 0.5, "max": 2.0}})
    assert (row.steps_per_s, row.total_s, row.steps) == (None, None, None)


def test_what_a_foreign_file_states_in_params_and_extra_info_is_read(tmp_path: Path) -> None:
    """1.7e13 FLOP in 1 ms are 630 times 27 TFLOP/s."""
    stats = {**STATS, "mean": 1e-3, "ops": 1e3, "total": 1e-2}
    extra = {"flop_per_call": 1.7e13, "peak_tflop_per_s": 27, "model": "m", "note": [1], "gpu": None}
    (row,) = _foreign(tmp_path, {"stats": stats, "extra_info": extra, "params": {"batch": 8, "device": "mps"}})
    assert (row.model, row.device, row.device_kind, row.batch) == ("m", "mps", "accelerator", exact(8.0))
    assert _rules((row,)) == {"above_roof"}


def test_names_that_differ_in_the_device_alone_are_the_same_work(tmp_path: Path) -> None:
    names = ("test_net[cpu-64]", "test_net[cuda-64]", "test_net[cuda-32]", "test_cpuid")
    rows = _foreign(tmp_path, *({"name": name, "fullname": f"t.py::{name}"} for name in names))
    assert [row.device for row in rows[:3]] == ["cpu", "cuda", "cuda"]
    assert rows[0].work == rows[1].work != rows[2].work
    assert rows[3].device_kind is None
    found = audit(rows, KNOWN.devices)
    ((_, one),) = [(v.rule.name, c) for v in found.results if v.rule.name == "same_as_cpu" for c in v.contradictions]
    assert one.row is rows[1]
    assert "2.0000 ms on cuda, 2.0000 ms on cpu (benchmark 1)" in one.arithmetic


def test_the_same_times_on_two_machines_are_copied(tmp_path: Path) -> None:
    rows = _foreign(tmp_path, {}, name="a.json", node="one") + _foreign(tmp_path, {}, name="b.json", node="two")
    assert _rules(rows) == {"pooled"}


def test_the_same_times_twice_on_one_machine_are_one_run(tmp_path: Path) -> None:
    rows = _foreign(tmp_path, {}, name="a.json") + _foreign(tmp_path, {}, name="b.json")
    assert _rules(rows) == set()


def test_an_own_benchmark_brings_its_record(tmp_path: Path) -> None:
    checks = (Check(name="device", status="passed", evidence="all on cpu"),)
    (row,) = _own(tmp_path, build.record(checks=checks))
    assert (row.model, row.mode, row.precision, row.batch) == ("resnet50", "train", "fp32", exact(32.0))
    assert (row.device, row.device_kind, row.device_proven) == ("AMD EPYC 7B13, epyc-2cpu", "cpu", True)
    assert (row.steps, row.launch_s) == (exact(100.0), exact(2e-6))
    assert row.total_s is not None
    assert row.total_s.value == pytest.approx(10.0)
    assert row.roof is not None
    assert (row.roof.flop_per_s.value, row.roof.source) == (pytest.approx(1e13), "the measured roof")
    assert row.speed_of_light_s is not None


@pytest.mark.parametrize(
    ("record", "rule"),
    [
        (build.record(timing=build.timing(0.1, rounds=build.Rounds(steps=5, wall_s=(1.0,)))), "rate_times_time"),
        (build.record(timing=build.timing(0.1, step_time_sd_s=0.0)), "zero_spread"),
        (build.record(work=build.work(flop=8.178e9 * 64)), "mixed_conventions"),
    ],
)
def test_a_record_that_contradicts_itself(tmp_path: Path, record: Any, rule: str) -> None:
    assert _rules(_own(tmp_path, record)) == {rule}


def test_a_record_above_its_roof(tmp_path: Path) -> None:
    """1e11 FLOP in 1 ms against 1e13 FLOP/s, and faster than its speed of light."""
    assert _rules(_own(tmp_path, build.record(timing=build.timing(1e-3)))) == {"above_roof", "faster_than_light"}


@pytest.mark.parametrize(
    ("shape", "size", "length"),
    [
        ([3, 299, 299], 299.0, None),
        ([3, 128, 512], 256.0, None),  # as many pixels as 256 x 256
        ([384], None, 384.0),
        ([3, 0, 224], None, None),
        (["a"], None, None),
        ([], None, None),
        (None, None, None),
    ],
)
def test_the_size_of_a_sample_is_the_case_s(tmp_path: Path, shape: object, size: float | None, length: float) -> None:
    (row,) = _own(tmp_path, build.record(case=build.case(config={"input_shape": shape})))
    assert row.size_pixel == (None if size is None else exact(size))
    assert row.length_token == (None if length is None else exact(length))


def test_a_record_of_images_of_another_size_is_not_held_against_the_usual_one(tmp_path: Path) -> None:
    """64 x 4.089 GFLOP would be half of the work at 224 x 224; at 160 it is about right."""
    work = build.work(flop=12.15e9 * 32)
    for side, rules in ((224, {"mixed_conventions"}), (160, set())):
        record = build.record(case=build.case(config={"input_shape": [3, side, side]}), work=work)
        assert _rules(_own(tmp_path, record)) == rules


def test_full_memory_explains_a_cliff(tmp_path: Path) -> None:
    records = [
        build.record(
            case=build.case(batch=batch, model="own"),
            device=build.CUDA,
            timing=build.timing(batch / rate),
            memory=Memory(peak_reserved_byte=reserved, device_total_byte=16 * 10**9),
        )
        for batch, rate, reserved in ((32, 900, 5 * 10**9), (64, 1000, 9 * 10**9), (128, 85, 19 * 10**9))
    ]
    found = audit(_own(tmp_path, *records), KNOWN.devices)
    (one,) = [c for result in found.results for c in result.contradictions]
    assert one.row.number == 3
    assert "Cause: memory spilled to the host (19.000 GB reserved of 16.000 GB, 119 %)" in one.arithmetic


def test_roofs_are_no_cases(tmp_path: Path) -> None:
    roof = build.record(case=build.case(mode="roof", model="roof"), timing=build.timing(1e-9))
    assert _own(tmp_path, build.record(), roof)[0].number == 1
    assert len(_own(tmp_path, build.record(), roof)) == 1


def test_two_whole_machines_contradict_nothing(tmp_path: Path) -> None:
    """A CPU's and a GPU's file with the cases of each: what is consistent stays silent."""
    rows = [row for path in build.two_machines(tmp_path) for row in rows_of(path, KNOWN.devices)]
    assert len(rows) == 84
    found = audit(rows, KNOWN.devices)
    assert found.examined > 300
    assert not found.contradicted


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """As editors and PowerShell write them, of a table, too."""
    path = tmp_path / "a.json"
    content = {"benchmarks": [{"name": "a", "stats": STATS}]}
    path.write_text(json.dumps(content), encoding=encoding)
    assert rows_of(path, KNOWN.devices)[0].mean_s == exact(2e-3)
    path.write_text("model,step_time_s\na,2\n", encoding=encoding)
    assert rows_of(path, KNOWN.devices)[0].model == "a"


@pytest.mark.parametrize(
    ("info", "found"),
    [
        ({"device_time_ms": -0.002, "wall_time_ms": 4.0}, True),
        ({"device_time_ms": 9.0, "wall_time_ms": 4.0}, True),
        ({"busy_share": 1.2}, True),
        ({"busy_share": -0.1}, True),
        ({"device_time_ms": 3.9, "wall_time_ms": 4.0, "busy_share": 0.97, "delta": -1.0}, False),
    ],
)
def test_a_time_or_share_that_cannot_be(tmp_path: Path, info: dict[str, float], found: bool) -> None:
    """In what a test of another project noted."""
    assert _rules(_foreign(tmp_path, {"extra_info": info})) == ({"impossible_time"} if found else set())


@pytest.mark.parametrize("device_s", [(-0.1,) * 20, (1.0,) * 20], ids=["below 0", "above the wall's"])
def test_a_record_s_device_time_that_cannot_be(tmp_path: Path, device_s: tuple[float, ...]) -> None:
    rounds = build.Rounds(steps=5, wall_s=(0.5,) * 20, device_s=device_s)
    assert "impossible_time" in _rules(_own(tmp_path, build.record(timing=build.timing(0.1, rounds=rounds))))


@pytest.mark.parametrize(("wait_s", "found"), [(-0.1, True), (1.0, True), (0.4, False)])
def test_a_record_s_wait_for_input_that_cannot_be(tmp_path: Path, wait_s: float, found: bool) -> None:
    rounds = build.Rounds(steps=5, wall_s=(0.5,) * 20, input_wait_s=(wait_s,) * 20)
    rules = _rules(_own(tmp_path, build.record(timing=build.timing(0.1, rounds=rounds))))
    assert ("impossible_time" in rules) is found


@pytest.mark.parametrize(("busy_s", "found"), [(-0.1, True), (0.2, True), (0.1, False)])
def test_a_device_that_was_busy_for_longer_than_the_step(tmp_path: Path, busy_s: float, found: bool) -> None:
    profile = Profile(source="kernels", steps=10, step_s=0.1, operations_s=0.1, device_busy_s=busy_s)
    rules = _rules(_own(tmp_path, build.record(profile=profile)))
    assert ("impossible_time" in rules) is found


@pytest.mark.parametrize(("batch", "found"), [(8, True), (32, False)])
def test_flop_of_another_batch(tmp_path: Path, batch: int, found: bool) -> None:
    """Of a known model of this size: the batch stands in the shapes of its input."""
    case = build.case(mode="infer", config={"input_shapes": [[32, 3, 224, 224]]})
    record = build.record(case=case, work=build.work(flop=8.178e9 * batch, parameter_count=25_557_032))
    assert ("mixed_conventions" in _rules(_own(tmp_path, record))) is found


def test_what_no_rule_knows_is_named(tmp_path: Path) -> None:
    """Figures of another project's test."""
    content = build.document([None, build.record()])
    content["benchmarks"][0]["extra_info"] = {"accuracy": 0.7, "batch": 8}
    path = build.write(tmp_path / "a.json", content)
    assert read_one(path, KNOWN.devices).unknown == ("accuracy",)


def test_what_is_not_finite_is_named(tmp_path: Path) -> None:
    """No rule can look at it."""
    (row,) = _foreign(tmp_path, {"stats": {**STATS, "stddev": float("nan")}})
    assert row.nonfinite == ("stats.stddev",)
