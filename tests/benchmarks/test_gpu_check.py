"""The check of everything that needs a GPU, without one: its command lines, its time limit and what it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import gpu_check
from benchmarks.gpu_check import Part, Ran, check, parts
from benchmarks.gpu_figures import PASSES, agreement, case, in_words
from pytest_roofline.profilers.check import Check
from pytest_roofline.profilers.ncu import counting_pass as ncu_pass
from pytest_roofline.profilers.ncu import unit_check as ncu_check
from roofline.schema.record import Counters, KernelCounters
from tests.plugin.profilers.stubs import NcuBehaviour, Stubs
from tests.roofline import build
from tests.roofline.kernels import CONVOLUTION, counted, counters, kernel

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("part", parts("cuda", quick=False), ids=lambda part: part.name)
def test_every_part_has_cases(part: Part) -> None:
    """As far as collecting them, which takes no GPU."""
    ran = subprocess.run(
        [*gpu_check._pytest(), *part.arguments, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    collected = [line for line in ran.stdout.splitlines() if "::test_train[" in line or "::test_infer[" in line]
    assert len(collected) == {"speed": 8, "counters": 13}[part.name]
    # Launch latency and bandwidth are measured with the throughput, which comes first.
    assert ("::test_roof[roof-launch]" in ran.stdout) == (part.name == "speed")
    # In this order they run, so that what there is no time for is the last of them.
    assert not part.cases or tuple(line.partition("[")[2].removesuffix("]") for line in collected) == part.cases


def test_each_model_has_a_precision_before_any_has_a_second() -> None:
    """Behind training, which has no other case."""
    training, *inference = gpu_check.counted_cases()
    assert training == "resnet50-train-b32-amp_bf16"
    models = [case.partition("-")[0] for case in inference]
    rounds = [models[begin : begin + 3] for begin in range(0, len(models), 3)]
    assert rounds == [["resnet50", "bert_base", "mobilenet_v2"]] * 4


@pytest.mark.parametrize("ends_by_itself", [True, False])
def test_a_part_is_interrupted_in_time_to_write(
    ends_by_itself: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So long before its limit that it has ended, and what it wrote stands beside the log, by then."""
    writes = """
        import pathlib, signal, sys, time
        def write(*_):
            folder = pathlib.Path(sys.argv[-1]); folder.mkdir(); (folder / "a.json").write_text("[]"); sys.exit(2)
        signal.signal(signal.SIGINT, write)
        print("begun", flush=True)
        time.sleep(60) if sys.argv[1] == "hang" else write()
    """
    monkeypatch.setattr(gpu_check, "_pytest", lambda: [sys.executable, "-c", textwrap.dedent(writes)])
    part = Part(name="speed", arguments=("end" if ends_by_itself else "hang",), most_s=60.0)
    ran = gpu_check.run(part, tmp_path, gpu_check.GRACE_S + (60.0 if ends_by_itself else 1.0))
    assert ran.code == (2 if ends_by_itself else None)
    assert ran.seconds < gpu_check.GRACE_S
    assert (tmp_path / "speed.json").read_text() == "[]"
    assert (tmp_path / "log.txt").read_text() == "== speed\nbegun\n"


def test_a_warning_of_a_gpu_fails_nothing(tmp_path: Path) -> None:
    """This project's own configuration makes an error of each."""
    test = tmp_path / "test_it.py"
    test.write_text("import warnings\n\n\ndef test_it():\n    warnings.warn('of a GPU')\n")
    command = [*gpu_check._pytest(), f"--config-file={ROOT / 'pyproject.toml'}", f"--rootdir={tmp_path}", str(test)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "UserWarning: of a GPU" in ran.stdout


class Clock:
    """Each part takes the seconds it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.unit_s = 20.0
        self.speed_s = 200.0
        self.counters_s = 240.0
        self.counted = gpu_check.counted_cases()
        self.has_counters = True
        self.told: dict[str, Any] = {"status": "ok", "reason": None}

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A machine on which nothing is run: only time passes."""
    clock = Clock()

    def unit(_device: str, _out: Path, limit_s: float) -> dict[str, Any]:
        clock.now += min(clock.unit_s, limit_s)
        return clock.told

    def run(part: Part, out: Path, limit_s: float) -> Ran:
        taken = {"speed": clock.speed_s, "counters": clock.counters_s}[part.name]
        clock.now += min(taken, limit_s)
        names = clock.counted if part.name == "counters" else ()
        cases = [{"id": name, "has_counters": clock.has_counters, "counters": {}, "reconciled": []} for name in names]
        (out / f"{part.name}.json").write_text(json.dumps({"cases": cases}))
        return Ran(seconds=min(taken, limit_s), code=0 if taken <= limit_s else None)

    monkeypatch.setattr(gpu_check, "run", run)
    monkeypatch.setattr(gpu_check, "machine", dict)
    monkeypatch.setattr(gpu_check, "preflight", list)
    monkeypatch.setattr(gpu_check, "unit", unit)
    monkeypatch.setattr(gpu_check, "read_file", lambda path: json.loads(path.read_text()))
    monkeypatch.setattr(gpu_check, "figures_of", lambda document: document)
    return clock


def _found(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "gpu_check.json").read_text())
    return found


def test_no_part_takes_more_than_its_share(clock: Clock, tmp_path: Path) -> None:
    """However long all would take, the whole ends at its limit; the cases not reached have their reason."""
    clock.unit_s, clock.counters_s, clock.counted = 1000.0, 1000.0, clock.counted[:11]
    assert check(tmp_path, "cuda", 450.0, quick=False, clock=clock) == 1
    assert clock.now == 450.0
    assert _found(tmp_path)["parts"] == {
        "speed": {"seconds": 120.0, "code": None},
        "counters": {
            "seconds": 290.0,
            "code": None,
            "left_out": dict.fromkeys(
                ["bert_base-infer-b8-amp_fp16", "mobilenet_v2-infer-b8-amp_fp16"], "interrupted after 290 s"
            ),
        },
    }


def test_what_there_is_no_time_for_is_left_out_and_told(clock: Clock, tmp_path: Path) -> None:
    """A part with too little time left isn't begun."""
    assert check(tmp_path, "cuda", 190.0, quick=False, clock=clock) == 1
    found = _found(tmp_path)
    assert found["parts"]["counters"] == {"left_out": "50 s were left, and it takes 60 s at least"}
    assert found["counters"] is None


def test_when_every_part_ended_well_so_does_the_check(clock: Clock, tmp_path: Path) -> None:
    """Exit status 0, and no folder and nothing of a run before is left behind."""
    clock.speed_s = 100.0
    (tmp_path / "results").mkdir()
    (tmp_path / "log.txt").write_text("of a run before")
    assert check(tmp_path, "cuda", 450.0, quick=False, clock=clock) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counters.json", "gpu_check.json", "speed.json"]


def test_counters_that_were_denied_are_a_problem_on_a_gpu(clock: Clock, tmp_path: Path) -> None:
    """Exit status 1 with the reason, however well the rest went: a check without counters has checked little."""
    clock.speed_s = 100.0
    clock.told = {"status": "permission_denied", "reason": "ERR_NVGPUCTRPERM"}
    why = "unit: the product of known size was not counted: permission_denied: ERR_NVGPUCTRPERM"
    assert check(tmp_path, "cuda:0", 450.0, quick=False, clock=clock) == 1
    assert _found(tmp_path)["problems"] == [why]
    clock.has_counters = False
    clock.now = 0.0
    assert check(tmp_path, "cuda", 450.0, quick=False, clock=clock) == 1
    assert _found(tmp_path)["problems"] == [why, "counters: no case has any"]
    clock.now = 0.0
    assert check(tmp_path, "cpu", 450.0, quick=False, clock=clock) == 0
    assert _found(tmp_path)["problems"] == []


def test_the_end_says_how_far_count_and_counters_agree(
    clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the JSON, and in one line; below it what is wrong."""
    clock.counted = clock.counted[:2]
    assert check(tmp_path, "cuda", 450.0, quick=False, clock=clock) == 1
    found = _found(tmp_path)
    assert (found["agreement"]["cases"], found["agreement"]["flop"]["of"]) == (2, 2)
    assert found["problems"] == ["speed: interrupted after 120 s"]
    assert capsys.readouterr().out.splitlines()[-2:] == [in_words(found["agreement"]), *found["problems"]]


def test_a_row_holds_counted_and_counters_side_by_side() -> None:
    """With the range of bytes, and without the table of kernels, which stands in the result file."""
    read = Counters(
        status="ok", flop=1.01e11, dram_byte=2e9, kernels=(KernelCounters(name="sgemm", launches=1, time_s=0.1),)
    )
    row = case(build.record(counters=read), build.roofs())
    assert row["id"] == "resnet50-train-b32-fp32"
    assert (row["flop_per_step"], row["byte_range_per_step"], row["samples_per_s"]) == (1e11, [1e9, 4e9], 320.0)
    assert row["has_counters"]
    assert (row["counters"]["flop"], row["counters"]["dram_byte"]) == (1.01e11, 2e9)
    assert "kernels" not in row["counters"]
    assert {"name", "ratio", "standing"} <= row["reconciled"][0].keys()


def _case(name: str, *, passes: int = 1, flop_passes: int | None = 4, **of_kernel: Any) -> dict[str, Any]:
    """A product of 1e11 FLOP, of 1 to 4 GB."""
    record = counted(
        case=build.case(id=name),
        counters=counters(kernel(**of_kernel), passes=passes, flop_passes=flop_passes),
        operations=(build.operation(flop=1e11),),
        work=build.work(other_flop_per_step=0.0),
    )
    return case(record, build.roofs())


def test_how_far_count_and_counters_agree() -> None:
    """FLOPs within 2 %, bytes inside of the range: in how many of those with counters, and why not in the others."""
    found = agreement(
        [
            _case("agrees", flop_by_pipe={"fp32": 1.01e11}, dram_byte=4e9),
            _case("more", flop_by_pipe={"fp32": 1.5e11}, dram_byte=4.01e9),
            _case("unread", flop_by_pipe=None),
            case(build.record(case=build.case(id="without")), ()),
        ],
        {"status": "ok"},
    )
    assert (found["cases"], found["counted"]) == (4, 3)
    more, unread = found["flop"].pop("others")
    assert found["flop"] == {"within": 1, "of": 3}
    assert (more["id"], more["name"], more["standing"]) == ("more", "matrix products", "more")
    assert more["ratio"] == pytest.approx(1.5)
    assert (unread["id"], unread["standing"], unread["ratio"]) == ("unread", "unknown", None)
    assert unread["reasons"] == ("the FLOPs of 1 of 1 kernels were not read",)
    (outside,) = found["dram_byte"].pop("others")
    assert found["dram_byte"] == {"within": 2, "of": 3}
    assert (outside["id"], outside["standing"]) == ("more", "agrees")
    assert outside["ratio"] == pytest.approx(4.01 / 4)


def test_a_convolution_that_runs_as_a_product_agrees() -> None:
    """Only products and convolutions together are held against the counters."""
    record = counted(
        kernel(flop_by_pipe={"fp32": 1.8e11}),
        kernel(CONVOLUTION, flop_by_pipe={"fp32": 2e10}),
        operations=(
            build.operation(flop=1e11),
            build.operation(name="aten::convolution", kind="convolution", flop=1e11),
        ),
        work=build.work(2e11, other_flop_per_step=0.0),
    )
    assert agreement([case(record, build.roofs())], {})["flop"] == {"within": 1, "of": 1, "others": []}


def test_passes_are_held_against_their_figures() -> None:
    """The most of all cases; a number that isn't known keeps none."""
    passes = agreement(
        [_case("a", flop_passes=6), _case("b", passes=2, flop_passes=None)], {"passes": 5, "passes_without_tensor": 3}
    )["passes"]
    assert {what: (one["passes"], one["kept"]) for what, one in passes.items()} == {
        "with_tensor_cores": (5, True),
        "without_tensor_cores": (3, False),
        "cases_bytes": (2, False),
        "cases_flop": (6, False),
    }
    assert {what: one["at_most"] for what, one in passes.items()} == PASSES
    unknown = agreement([], {"status": "permission_denied"})["passes"]
    assert {(one["passes"], one["kept"]) for one in unknown.values()} == {(None, None)}


@pytest.mark.parametrize(
    ("behaviour", "program", "found"),
    [
        ("ok", "this", {"status": "ok", "reason": None, "passes": 4, "passes_without_tensor": 4}),
        ("permission", "this", {"status": "permission_denied"}),
        ("ok", "nowhere_to_be_found", {"status": "failed"}),
    ],
)
def test_the_unit_is_checked_and_what_ncu_wrote_is_kept(
    behaviour: NcuBehaviour, program: str, found: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product of known size, by a stand-in for ncu; ``program`` takes the place of what multiplies."""
    stubs = Stubs(tmp_path / "bin")
    usable = Check(name="ncu", status="ok", why="", path=stubs.ncu(behaviour, passes=4), version="2025.3")
    monkeypatch.setattr(ncu_pass, "check_ncu", lambda *_: usable)
    monkeypatch.setattr(ncu_check, "__name__", program)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (9, 0))
    told = gpu_check.unit("cuda:0", tmp_path, 60.0)
    assert told == {**told, **found}
    assert "==PROF==" in (tmp_path / "unit_bf16.csv").read_text()
    if told["status"] == "ok":
        # Two kernels of 1024 of each instruction (fp32, fp64, fp16), and five types of the tensor cores.
        assert told["ratio"] == 2 * 1024 * (4 + 4 + 8 + 5) / ncu_check.FLOP


_INTERPRETER = """
import json, os, sys

if sys.argv[1:3] != ["-m", "benchmarks.gpu_check"]:
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
path = os.environ["PYTHONPATH"].split(os.pathsep)
seen = {
    "path": path,
    "carried": [folder for folder in path if os.path.exists(os.path.join(folder, "carried.py"))],
    "arguments": sys.argv[3:],
    "folder": os.getcwd(),
}
with open(os.environ["SEEN"], "w") as file:
    json.dump(seen, file)
sys.exit(3)
"""
"""Stands in for Python: it does what it is asked to, but for the check itself, of which it writes down how it began."""


# Not by importlib.util.find_spec: asked for pip, setuptools gives distutils back to Python, in this process for good,
# and what compiles in a later test fails.
@pytest.mark.skipif(not [*metadata.distributions(name="pip")], reason="the wheels are unpacked by pip")
def test_the_script_takes_wheels_along(tmp_path: Path) -> None:
    """PYTHONPATH alone, absolute, with the wheels in a folder of their own, which is gone at the end; what it is called
    with, and the exit status, are passed on.
    """
    python, wheels, temporary = (tmp_path / name for name in ("python", "wheels", "temporary"))
    python.write_text(f"#!{sys.executable}\n{_INTERPRETER}")
    python.chmod(0o755)
    wheels.mkdir()
    temporary.mkdir()
    with zipfile.ZipFile(wheels / "carried-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("carried.py", "")
        wheel.writestr("carried-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carried\nVersion: 1.0\n")
        wheel.writestr("carried-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("carried-1.0.dist-info/RECORD", "carried.py,,\n")
    variables = {"PYTHON": python, "WHEELS": wheels, "OUT": tmp_path / "out", "SEEN": tmp_path / "seen.json"}
    ran = subprocess.run(
        ["bash", str(ROOT / "benchmarks" / "gpu_check.sh"), "--device", "cpu", "--quick"],
        cwd=tmp_path,
        env={
            **os.environ,
            **{name: str(path) for name, path in variables.items()},
            "TMPDIR": str(temporary),
            "PYTHONPATH": "more",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 3, ran.stdout + ran.stderr
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["arguments"] == ["--out", str(tmp_path / "out"), "--device", "cpu", "--quick"]
    assert seen["folder"] == str(ROOT)
    *own, site, more = seen["path"]
    assert own == [str(ROOT / "plugin"), str(ROOT / "roofline"), str(ROOT)]
    assert more == str(ROOT / "more")
    assert Path(site).parent == temporary
    assert seen["carried"] == [site]
    assert list(temporary.iterdir()) == []
