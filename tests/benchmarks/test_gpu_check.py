"""The check of everything that needs a GPU, without one: its command lines, its time limit and what it writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu_check import Part, Ran, case, check, parts
from pytest_roofline.profilers import ncu_check, ncu_pass
from pytest_roofline.profilers.preflight import Finding
from roofline.record import Counters, KernelCounters
from tests.plugin.profilers.stubs import NcuBehaviour, Stubs
from tests.roofline import build

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", parts("cuda", quick=False), ids=lambda part: part.name)
def test_every_part_has_cases(part: Part) -> None:
    """As far as collecting them, which takes no GPU."""
    ran = subprocess.run(
        [*gpu_check._pytest(), *part.arguments, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    cases = {"speed": 8, "counters": 12, "training": 1}[part.name]
    assert sum("::test_train[" in line or "::test_infer[" in line for line in ran.stdout.splitlines()) == cases


def test_all_parts_fit_under_eight_minutes() -> None:
    """The last may take what the others leave; an interrupted one gets time to write."""
    assert gpu_check.LIMIT_S + 2 * gpu_check.GRACE_S <= 480
    assert gpu_check.SPEED_S < gpu_check.LIMIT_S / 2


class Clock:
    """Each part takes the seconds it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.speed_s = 200.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A machine on which nothing is run: only time passes."""
    clock = Clock()

    def run(part: Part, out: Path, limit_s: float) -> Ran:
        taken = {"speed": clock.speed_s, "counters": 240.0}[part.name]
        clock.now += min(taken, limit_s)
        (out / f"{part.name}.json").write_text(json.dumps({"benchmarks": [{"name": part.name}]}))
        return Ran(seconds=min(taken, limit_s), code=0 if taken <= limit_s else None)

    monkeypatch.setattr(gpu_check, "run", run)
    monkeypatch.setattr(gpu_check, "machine", dict)
    monkeypatch.setattr(gpu_check, "preflight", list)
    monkeypatch.setattr(gpu_check, "unit", lambda *_: {})
    monkeypatch.setattr(gpu_check, "read_file", lambda path: json.loads(path.read_text()))
    monkeypatch.setattr(gpu_check, "figures_of", lambda document: document["benchmarks"])
    return clock


def test_what_there_is_no_time_for_is_left_out_and_told(clock: Clock, tmp_path: Path) -> None:
    """A part is interrupted at its share, the next gets what is left, and the last isn't begun."""
    assert check(tmp_path, "cuda", 450.0, quick=False, clock=clock) == 1
    found: dict[str, Any] = json.loads((tmp_path / "gpu_check.json").read_text())
    assert found["parts"] == {
        "speed": {"seconds": 170.0, "code": None},
        "counters": {"seconds": 240.0, "code": 0},
        "training": {"left_out": "40 s were left, and it takes 45 s at least"},
    }
    assert (found["speed"], found["training"]) == ([{"name": "speed"}], None)


def test_when_every_part_ended_well_so_does_the_check(clock: Clock, tmp_path: Path) -> None:
    """Exit status 0, and no folder is left behind."""
    clock.speed_s = 100.0
    (tmp_path / "results").mkdir()
    assert check(tmp_path, "cpu", 450.0, quick=True, clock=clock) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counters.json", "gpu_check.json", "speed.json"]


def test_a_row_holds_counted_and_counters_side_by_side() -> None:
    """With the range of bytes, and without the table of kernels, which stands in the result file."""
    counters = Counters(
        status="ok", flop=1.01e11, dram_byte=2e9, kernels=(KernelCounters(name="sgemm", launches=1, time_s=0.1),)
    )
    row = case(build.record(counters=counters), build.roofs())
    assert row["id"] == "resnet50-train-b32-fp32"
    assert (row["flop_per_step"], row["byte_range_per_step"], row["samples_per_s"]) == (1e11, [1e9, 4e9], 320.0)
    assert (row["counters"]["flop"], row["counters"]["dram_byte"]) == (1.01e11, 2e9)
    assert "kernels" not in row["counters"]
    assert {"name", "ratio", "standing"} <= row["reconciled"][0].keys()


@pytest.mark.parametrize(
    ("behaviour", "program", "found"),
    [
        ("ok", "this", {"status": "ok", "reason": None, "passes": 4}),
        ("permission", "this", {"status": "permission_denied"}),
        ("ok", "nowhere_to_be_found", {"status": "failed"}),
    ],
)
def test_the_unit_is_checked_and_what_ncu_wrote_is_kept(
    behaviour: NcuBehaviour, program: str, found: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product of known size, by a stand-in for ncu; ``program`` takes the place of what multiplies."""
    stubs = Stubs(tmp_path / "bin")
    usable = Finding(tool="ncu", status="ok", why="", path=stubs.ncu(behaviour, passes=4), version="2025.3")
    monkeypatch.setattr(ncu_pass, "check_ncu", lambda *_: usable)
    monkeypatch.setattr(ncu_check, "__name__", program)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (9, 0))
    told = gpu_check.unit("cuda:0", tmp_path, 60.0)
    assert told == {**told, **found}
    assert "==PROF==" in (tmp_path / "unit_bf16.csv").read_text()
    if told["status"] == "ok":
        # Two kernels of 1024 of each instruction (fp32, fp64, fp16), and five types of the tensor cores.
        assert told["ratio"] == 2 * 1024 * (4 + 4 + 8 + 5) / ncu_check.FLOP


def test_on_a_cpu_there_is_no_unit_to_check(tmp_path: Path) -> None:
    """It says so, as the pre-flight of a run does."""
    assert gpu_check.unit("cpu", tmp_path, 60.0) == {
        "status": "unsupported_platform",
        "reason": "ncu counts on NVIDIA GPUs; this run measures cpu",
    }
