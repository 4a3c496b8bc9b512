"""The check that CI makes of a run's results finds whatever is missing."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import Case, Check, Device, Operation, Process, Record, Rounds, Timing, Work
from roofline.schema.record_json import to_json
from roofline.schema.session import Machine, Roof, RoofKind, RoofSample, Session

SCRIPT = Path(__file__).parents[2] / ".ci" / "check_results.py"
CASE = "mlp-train-b2-fp32"
CPU = Device(kind="cpu", name="some CPU")

Content = dict[str, Any]
Change = Callable[[Content], None]


@pytest.fixture(scope="module")
def main() -> Callable[[list[str]], int]:
    function: Callable[[list[str]], int] = runpy.run_path(str(SCRIPT))["main"]
    return function


def roof(kind: RoofKind, name: str) -> Roof:
    sample = RoofSample(value=2.0, kernel="k", at="2026-01-01T00:00:00Z")
    return Roof(kind=kind, name=name, value=2.0, source="measured", detail="d", samples=(sample,))


def complete() -> Content:
    """A file with one complete case of two rounds of two steps."""
    record = Record(
        case=Case(id=CASE, workload_hash="h", model="mlp", mode="train", precision="fp32", batch=2, samples_per_step=2),
        device=CPU,
        checks=(Check(name="device", status="passed", evidence="cpu: 12 operations"),),
        timing=Timing(
            protocol="adaptive",
            step_time_s=0.75,
            step_time_sd_s=0.25,
            rounds=Rounds(steps=2, wall_s=(1.0, 2.0)),
            warmup_steps=3,
            warmup_s=2.0,
            warmup_settled=True,
            confidence=0.95,
            margin_target=0.01,
            margin=0.3,
            stop_reason="budget",
        ),
        work=Work(flop_per_step=10.0, flop_by_dtype={"fp32": 10.0}, byte_low_per_step=4.0, byte_high_per_step=8.0),
        operations=(
            Operation(
                name="mm", kind="matmul", dtype="fp32", shape="2x2", calls=1, flop=10.0, byte=8.0, working_set_byte=8.0
            ),
        ),
        process=Process(
            user_s=1.0, system_s=0.0, max_rss_byte=None, voluntary_switches=None, involuntary_switches=None
        ),
    )
    session = Session(
        started_at="2026-01-01T00:00:00Z",
        label="here",
        roofs=(roof("flop", "fp32"), roof("byte", "dram"), roof("byte", "llc"), roof("latency", "launch")),
        wall_s=10.0,
        measuring_s=8.0,
    )
    machine = Machine(fingerprint="f", label="here", device=CPU, cpu="some CPU", cpu_count=2, memory_byte=1, os="Linux")
    return {
        "machine_info": {"roofline": to_json(machine)},
        "commit_info": {},
        "benchmarks": [
            {"name": CASE, "stats": {"data": [0.5, 1.0], "mean": 0.75}, "extra_info": {"roofline": to_json(record)}}
        ],
        "datetime": "2026-01-01T00:00:00",
        "version": "5",
        "roofline": to_json(session),
    }


def record_of(content: Content) -> Content:
    part: Content = content["benchmarks"][0]["extra_info"]["roofline"]
    return part


def test_complete_results_pass(
    main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with everything in it is complete."""
    (tmp_path / "run.json").write_text(json.dumps(complete()))
    assert main([str(tmp_path), "--case", CASE]) == 0
    assert capsys.readouterr().out == "run.json: complete\n"


def test_what_the_device_can_not_do_is_no_fault(main: Callable[[list[str]], int], tmp_path: Path) -> None:
    """A skip has its reason in the file and leaves nothing out that was asked for by name."""
    content = complete()
    content["roofline"]["not_measured"].append({"id": "roof-tf32", "outcome": "skipped", "reason": "no TF32"})
    (tmp_path / "run.json").write_text(json.dumps(content))
    assert main([str(tmp_path), "--case", CASE]) == 0


FAULTS: dict[str, tuple[Change, str]] = {
    "no session": (lambda content: content.pop("roofline"), "no top-level key roofline"),
    "no machine": (lambda content: content["machine_info"].clear(), "machine_info: expected a JSON object"),
    "no record": (lambda content: content["benchmarks"][0]["extra_info"].clear(), f"{CASE}: expected a JSON object"),
    "newer schema": (lambda content: record_of(content).update(schema=99), f"{CASE}: schema is 99"),
    "no roof": (lambda content: content["roofline"]["roofs"].pop(1), "no byte roof dram was measured"),
    "roof of an earlier run": (
        lambda content: content["roofline"]["roofs"][0].update(from_file="old.json"),
        "no flop roof fp32 was measured",
    ),
    "roof without samples": (lambda content: content["roofline"]["roofs"][0]["samples"].clear(), "roof fp32"),
    "case that failed": (
        lambda content: content["roofline"]["not_measured"].append({"id": "x", "outcome": "failed", "reason": "why"}),
        "x: failed: why",
    ),
    "no measuring time": (lambda content: content["roofline"].update(measuring_s=None), "how long it took"),
    "no cases": (lambda content: content["benchmarks"].clear(), f"{CASE} is not in it"),
    "invalid record": (
        lambda content: record_of(content)["flags"].append({"name": "nan", "evidence": "seen", "invalid": True}),
        "invalid: nan: seen",
    ),
    "failed proof": (
        lambda content: record_of(content)["checks"].append({"name": "p", "status": "failed", "evidence": "seen"}),
        "p failed: seen",
    ),
    "no proof": (lambda content: record_of(content)["checks"].clear(), "nothing was proven"),
    "no timing": (lambda content: record_of(content).update(timing=None), "no timing"),
    "no time": (lambda content: record_of(content)["timing"].update(step_time_s=0.0), "step time is 0.0"),
    "other times": (lambda content: content["benchmarks"][0]["stats"].update(data=[0.5, 0.9]), "times are not those"),
    "fewer times": (lambda content: content["benchmarks"][0]["stats"].update(data=[0.5]), "times are not those"),
    "other mean": (lambda content: content["benchmarks"][0]["stats"].update(mean=0.7), "mean is 0.7"),
    "no work": (lambda content: record_of(content).update(work=None), "no work was counted"),
    "bytes reversed": (
        lambda content: record_of(content)["work"].update(byte_low_per_step=9.0),
        "byte range 9.0 to 8.0",
    ),
    "FLOPs lost": (lambda content: record_of(content)["work"].update(flop_by_dtype={"fp32": 9.0}), "don't add up"),
    "no formula": (
        lambda content: record_of(content)["work"]["uncovered"].append({"name": "aten.odd", "calls": 1}),
        "no formula for aten.odd",
    ),
    "no operations": (lambda content: record_of(content)["operations"].clear(), "no operations"),
    "no process times": (lambda content: record_of(content).update(process=None), "no process times"),
    "NaN": (lambda content: content.update(version=float("nan")), "not strict JSON: NaN is no JSON"),
}


@pytest.mark.parametrize(("change", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found(
    main: Callable[[list[str]], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Change,
    message: str,
) -> None:
    """Whatever one file lacks makes the check fail, and its message names it."""
    content = complete()
    change(content)
    (tmp_path / "run.json").write_text(json.dumps(content))
    assert main([str(tmp_path), "--case", CASE]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("count", [0, 2])
def test_one_run_is_expected(
    main: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    """No file means that nothing was written; two, that an old one would be taken for the new."""
    for number in range(count):
        (tmp_path / f"{number}.json").write_text(json.dumps(complete()))
    assert main([str(tmp_path), "--case", CASE]) == 1
    assert f"found {count} files" in capsys.readouterr().err
