"""pytest-benchmark's files as rows: this suite's with their record, others' with what they state."""

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.audits import audit, read_one
from roofline.audits.row import StatedRow, exact
from roofline.schema.record import Check, Memory
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
    return read_one(path, KNOWN.devices).rows


def _own(folder: Path, *records: Any) -> tuple[StatedRow, ...]:
    ceilings = (*build.roofs(), build.roof("latency", "launch", 2e-6))
    path = build.write(folder / "own.json", build.document(records, of=build.session(ceilings), on=build.machine()))
    return read_one(path, KNOWN.devices).rows


def _rules(rows: tuple[StatedRow, ...]) -> set[str]:
    found = audit(rows, KNOWN.devices)
    return {result.rule.name for result in found.results if result.contradictions}


def test_a_foreign_benchmark_brings_its_statistics(tmp_path: Path) -> None:
    (row,) = _foreign(tmp_path, {})
    assert (row.place, row.name, row.model) == ("benchmark 1", "test_one", None)
    assert (row.mean_s, row.steps_per_s, row.steps, row.total_s) == tuple(map(exact, (2e-3, 500.0, 10.0, 2e-2)))
    assert [share for share, _ in row.percentiles] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert _rules((row,)) == set()


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
    rows = [row for path in build.two_machines(tmp_path) for row in read_one(path, KNOWN.devices).rows]
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
    assert read_one(path, KNOWN.devices).rows[0].mean_s == exact(2e-3)
    path.write_text("model,step_time_s\na,2\n", encoding=encoding)
    assert read_one(path, KNOWN.devices).rows[0].model == "a"


def test_what_no_rule_knows_is_named(tmp_path: Path) -> None:
    """Figures of another project's test."""
    content = build.document([None, build.record()])
    content["benchmarks"][0]["extra_info"] = {"accuracy": 0.7, "batch": 8}
    path = build.write(tmp_path / "a.json", content)
    assert read_one(path, KNOWN.devices).unknown == ("accuracy",)


@pytest.mark.parametrize(
    ("stats", "info", "rules"),
    [
        ({"ops": 250.0}, {}, {"rate_times_time"}),
        ({"total": 2e-1}, {}, {"rate_times_time"}),
        ({"mean": 5e-3, "ops": 200.0, "total": 5e-2}, {}, {"mean_above_percentile"}),
        ({"q1": 2e-3, "median": 1.9e-3}, {}, {"out_of_order"}),
        ({"stddev": 0.0}, {}, {"zero_spread"}),
        # One round has no spread: pytest-benchmark writes 0 for it.
        ({"rounds": 1, "total": 2e-3, "stddev": 0.0}, {}, set()),
        # In what a test of another project noted.
        ({}, {"device_time_ms": 9.0, "wall_time_ms": 4.0}, {"impossible_time"}),
        ({}, {"device_time_ms": 3.9, "wall_time_ms": 4.0, "delta": -1.0}, set()),
    ],
)
def test_a_foreign_benchmark_that_contradicts_itself(
    tmp_path: Path, stats: dict[str, float], info: dict[str, float], rules: set[str]
) -> None:
    """By its statistics or by its extra_info."""
    assert _rules(_foreign(tmp_path, {"stats": {**STATS, **stats}, "extra_info": info})) == rules


def test_statistics_that_are_not_there(tmp_path: Path) -> None:
    """Old files lack some; one that is not finite is named, for no rule can look at it."""
    (row,) = _foreign(tmp_path, {"stats": {"mean": 1.0, "min": 0.5, "max": float("nan")}})
    assert (row.steps_per_s, row.total_s, row.steps, row.nonfinite) == (None, None, None, ("stats.max",))


@pytest.mark.parametrize(("other", "rules"), [("two", {"pooled"}), ("one", set())])
def test_the_same_times_on_two_machines_are_copied(tmp_path: Path, other: str, rules: set[str]) -> None:
    """On one machine it is one run twice."""
    rows = _foreign(tmp_path, {}, name="a.json", node="one") + _foreign(tmp_path, {}, name="b.json", node=other)
    assert _rules(rows) == rules


def _rounds(**times: tuple[float, ...]) -> Any:
    return build.record(timing=build.timing(0.1, rounds=build.Rounds(steps=5, wall_s=(0.5,) * 20, **times)))


def _of_images(side: int) -> Any:
    """Of about the work of a training step on images of 160 pixels, which is half of that on 224."""
    config = {"input_shape": [3, side, side]}
    return build.record(case=build.case(config=config), work=build.work(flop=12.15e9 * 32))


@pytest.mark.parametrize(
    ("record", "rules"),
    [
        (build.record(timing=build.timing(0.1, rounds=build.Rounds(steps=5, wall_s=(1.0,)))), {"rate_times_time"}),
        (build.record(timing=build.timing(0.1, step_time_sd_s=0.0)), {"zero_spread"}),
        (build.record(work=build.work(flop=8.178e9 * 64)), {"mixed_conventions"}),
        # 1e11 FLOP in 1 ms against 1e13 FLOP/s.
        (build.record(timing=build.timing(1e-3)), {"above_roof", "faster_than_light"}),
        (_of_images(224), {"mixed_conventions"}),
        (_of_images(160), set()),
        (_rounds(device_s=(1.0,) * 20), {"impossible_time"}),
    ],
)
def test_a_record_that_contradicts_itself(tmp_path: Path, record: Any, rules: set[str]) -> None:
    """What is consistent stays silent."""
    assert _rules(_own(tmp_path, record)) == rules
