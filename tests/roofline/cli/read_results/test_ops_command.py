"""``roofline ops``: which case, which tables, and columns that add up."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import Counters, Device, Flag, KernelTime, Operation, OutsideTime, Record
from roofline.show.step.step_notes import NEGATIVE_OUTSIDE, NO_SHARES
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.kernels import ADD, counted, kernel, profiled

_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)
_UNUSABLE = (KernelTime(name="a", launches=1.0, time_s=-1.0), KernelTime(name="b", launches=-1.0, time_s=1.0))
_CONVOLUTION = "2x3x8x8, 2x96x8x8, 96x1x3x3, stride 2, padding 1, groups 96, gradient of input and weight"


def _operation(time_s: float, **changes: Any) -> Operation:
    return build.operation(**{"flop": 1e10, "byte": 1e6, "working_set_byte": 1e9, "time_s": time_s, **changes})


def _timed(model: str = "resnet50", **changes: Any) -> Record:
    """A step of 100 ms: 20 by compute (10 due), 30 by memory (10 due), 40 far below (0.1 due), 10 outside."""
    operations = (
        _operation(0.02, shape="8x8"),
        _operation(0.03, flop=0, byte=1e8, name="aten::relu", kind="elementwise", shape="16"),
        _operation(0.04, flop=1e7, name="aten::convolution_backward", kind="convolution", shape=_CONVOLUTION, calls=3),
    )
    return build.timed(*operations, **{"device": _DEVICE, "case": build.case(model=model), **changes})


def _file(tmp_path: Path, *records: Record | None, name: str = "a", **session: Any) -> Path:
    session.setdefault("roofs", build.roofs(1e12, 1e10))
    content = build.document(records, of=build.session(**session), on=build.machine())
    return build.write(tmp_path / "results" / f"{name}.json", content)


def _row(out: str, first: str) -> str:
    """The cells of the row that begins so, one blank between them."""
    return next(" ".join(line.split()) for line in out.splitlines() if line.startswith(first))


def test_a_case_whose_record_can_not_be_read_is_not_said_to_be_missing(run: Run, tmp_path: Path) -> None:
    """It stands in the file: exit 3 and the fault, not a usage error."""
    path = _file(tmp_path, _timed(), _timed("vgg16"))
    document = json.loads(path.read_text(encoding="utf-8"))
    spoilt = document["benchmarks"][1]
    spoilt["extra_info"]["roofline"]["operations"][0]["calls"] = "many"
    path.write_text(json.dumps(document), encoding="utf-8")
    code, _, err = run("ops", path, spoilt["name"])
    assert code == 3
    assert "its record can't be read" in err
    assert "operations[0].calls" in err


def test_one_case_is_taken_apart(run: Run, tmp_path: Path) -> None:
    """By limit, then by operation, the most above its speed of light first; the sums stand below."""
    code, out, err = run("ops", _file(tmp_path, _timed()))
    assert (code, err) == (0, "")
    assert out.startswith("resnet50-train-b32-fp32: 100 ms a step, speed of light 20.1 ms (20 %)\n")
    assert _row(out, "compute ") == "compute 1 1 20.0 ms 20 10.0 ms 50 10.0 ms"
    assert _row(out, "memory ") == "memory 1 1 30.0 ms 30 10.0 ms 33 20.0 ms"
    assert _row(out, "undet").endswith("far below its roofs 1 3 40.0 ms 40 100 µs 0.25 39.9 ms")
    assert _row(out, "outside") == "outside of operations - - 10.0 ms 10 - - 10.0 ms"
    assert _row(out, "step ") == "step 3 5 100 ms 100 20.1 ms 20 79.9 ms"
    _, _, second = out.partition("What to fix first\n")
    names = [line.split()[0] for line in second.splitlines() if line and not line.startswith((" ", "─"))]
    assert names[1:] == ["convolution_backward", "relu", "mm", "outside", "step"]
    assert "\n  fp32 2x3x8x8 96x1x3x3 g96\n" in second


def test_the_rest_stands_in_one_row(run: Run, tmp_path: Path) -> None:
    """The columns add up whatever ``--top`` cuts off."""
    _, out, _ = run("ops", _file(tmp_path, _timed()), "--top", 1)
    second = out.partition("What to fix first\n")[2]
    assert _row(second, "2 other") == "2 other operations 2 50.0 ms 50 20.0 ms 40 30.0 ms memory 60 %"
    assert "\nrelu" not in second
    _, out, _ = run("ops", _file(tmp_path, _timed()), "--top", 2)
    assert "\n1 other operation " in out


def test_by_kind(run: Run, tmp_path: Path) -> None:
    """A row a kind, with what bounds most of its time."""
    _, out, _ = run("ops", _file(tmp_path, _timed()), "--by", "kind")
    second = out.partition("What to fix first, by kind\n")[2]
    assert _row(second, "convolution") == "convolution 3 40.0 ms 40 100 µs 0.25 39.9 ms undetermined 100 %"
    assert _row(second, "elementwise").endswith("memory 100 %")


def test_ids_stay_in_one_piece_where_the_width_allows(run: Run, tmp_path: Path) -> None:
    """At 80 columns the name of the worst operation gives way to them, and that is said."""
    _, out, _ = run("ops", _file(tmp_path, _timed(), _timed("mobilenet_v2")), "--width", 80)
    assert "\nmobilenet_v2-train-b32-fp32  100 ms " in out
    assert "Columns not shown at this width: most above SOL. Use --width 90 or --format csv" in " ".join(out.split())


def test_several_cases_are_a_line_each(run: Run, tmp_path: Path) -> None:
    """Shares of the step by limit, what is outside, and the worst operation; what has no times is named with why."""
    untimed = build.record(
        case=build.case(model="vgg16"), operations=(build.operation(),), missing={"profile": "no CUPTI"}
    )
    roof = build.record(case=build.case(id="roof", mode="roof"))
    code, out, err = run("ops", _file(tmp_path, _timed(), _timed("mobilenet_v2"), untimed, roof, None))
    assert (code, err) == (0, "")
    row = "resnet50-train-b32-fp32 100 ms 20 20 30 0 40 10 convolution_backward"
    assert _row(out, "resnet50") == row
    assert "Not taken apart, no CUPTI: vgg16-train-b32-fp32\n" in out
    assert not any(line.startswith("roof ") for line in out.splitlines())


def test_a_negative_share_outside_is_explained(run: Run, tmp_path: Path) -> None:
    """Operations that take a little longer under the profiler than the timed step: shown, not clipped."""
    path = _file(tmp_path, _timed("vgg16", operations=(_operation(0.105),)), _timed())
    _, out, _ = run("ops", path, "--width", 200)
    assert _row(out, "vgg16").startswith("vgg16-train-b32-fp32 100 ms 10 105 0 0 0 -5.0")
    assert f"{NEGATIVE_OUTSIDE}: vgg16-train-b32-fp32\n" in out


def test_times_of_another_pace_are_no_shares_of_the_step(run: Run, tmp_path: Path) -> None:
    """A disturbed pass of the profiler: times stand, no share does, and why is said; for programs it is null."""
    slow = build.profile(source="operators", operations_s=6.9, step_s=7.0)
    path = _file(tmp_path, _timed("vgg16", operations=(_operation(6.9),), profile=slow), _timed())
    _, out, _ = run("ops", path, "--width", 200)
    assert _row(out, "vgg16").startswith("vgg16-train-b32-fp32 100 ms 10 - - - - - mm")
    assert _row(out, "resnet50").startswith("resnet50-train-b32-fp32 100 ms 20 20 30 0 40 10")
    assert NO_SHARES in out
    assert out.endswith(": vgg16-train-b32-fp32\n")
    _, out, _ = run("ops", path, "vgg16", "--plot", "a.png")
    assert _row(out, "undet").endswith("far below its roofs 1 1 6.90 s - 10.0 ms 0.14 6.89 s")
    assert NO_SHARES in " ".join(out.split())
    assert json.loads(run("ops", path, "vgg16", "--format", "json")[1])[0]["share_of_step"] is None


def test_an_invalid_row_is_said_to_be_one(run: Run, tmp_path: Path) -> None:
    """It is shown all the same; in its own table with the evidence."""
    flags = (Flag(name="wrong_device", evidence="parameters on cpu", invalid=True),)
    path = _file(tmp_path, _timed(), *(_timed(name, flags=flags) for name in ("vgg16", "mlp")))
    assert "Invalid, their own tables say why: vgg16-train-b32-fp32 and 1 more\n" in run("ops", path)[1]
    for more in (("-v",), ("--format", "json"), ("--format", "csv")):
        out = "".join(run("ops", path, *more)[1:])
        assert "Invalid, their own tables say why: vgg16-train-b32-fp32, mlp-train-b32-fp32" in out
    assert "The row is invalid: wrong_device: parameters on cpu\n" in run("ops", path, "vgg16")[1]
    assert "nvalid" not in run("ops", path, "resnet50")[1]


def test_csv_and_json_have_every_operation(run: Run, tmp_path: Path) -> None:
    """Whatever ``--top``: plain numbers, the bytes as a range; JSON with the notes."""
    path = _file(tmp_path, _timed())
    code, out, _ = run("ops", path, "--format", "csv", "--top", 1)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["operation"] for row in rows] == ["aten::convolution_backward", "aten::relu", "aten::mm"]
    expected = {
        "machine": "epyc-2cpu",
        "case": "resnet50-train-b32-fp32",
        "kind": "elementwise",
        "shape": "16",
        "calls": "1",
        "flop": "0",
        "byte_low": "98000000.0",
        "byte_high": "100000000.0",
        "time_s": "0.03",
        "share_of_step": "0.3",
        "speed_of_light_s": "0.01",
        "bound": "memory",
        "bound_why": "traffic",
        "memory_level": "dram",
        "faster_than_speed_of_light": "false",
        "valid": "true",
        "file": "a.json",
    }
    assert {key: rows[1][key].removesuffix(".0") if key == "flop" else rows[1][key] for key in expected} == expected
    _, out, err = run("ops", path, "--format", "json")
    assert json.loads(out)[2]["attained_flop_per_s"] == pytest.approx(5e11)
    assert "Speed of light: 50 % of it for arithmetic, " in err


def test_csv_by_kind_and_of_several_cases(run: Run, tmp_path: Path) -> None:
    """Each table has its plain form."""
    path = _file(tmp_path, _timed(), _timed("mobilenet_v2"))
    rows = list(csv.DictReader(io.StringIO(run("ops", path, "resnet50", "--by", "kind", "--format", "csv")[1])))
    assert [(row["kind"], row["bound"], row["bound_share"]) for row in rows] == [
        ("convolution", "undetermined", "1.0"),
        ("elementwise", "memory", "1.0"),
        ("matmul", "compute", "1.0"),
    ]
    rows = list(csv.DictReader(io.StringIO(run("ops", path, "--format", "csv")[1])))
    assert [(row["case"], float(row["share_memory"])) for row in rows] == [
        ("resnet50-train-b32-fp32", pytest.approx(0.3)),
        ("mobilenet_v2-train-b32-fp32", pytest.approx(0.3)),
    ]
    assert float(rows[0]["compute_share_of_speed_of_light"]) == pytest.approx(0.01 / 0.0201)


def test_a_part_of_the_id_is_enough(run: Run, tmp_path: Path) -> None:
    """Where only one case has it; an exact id wins over longer ones that have it as a part."""
    longer = _timed(case=build.case(model="mobilenet_v2", id="mobilenet_v2-train-b32-fp32-sample"))
    path = _file(tmp_path, _timed(), _timed("mobilenet_v2"), longer)
    assert run("ops", path, "RESNET")[1].startswith("resnet50-train-b32-fp32: ")
    assert run("ops", path, "mobilenet_v2-train-b32-fp32")[1].startswith("mobilenet_v2-train-b32-fp32: ")
    code, out, err = run("ops", path, "mobilenet")
    assert (code, out) == (2, "")
    assert "is part of several cases" in err
    assert "mobilenet_v2-train-b32-fp32, mobilenet_v2-train-b32-fp32-sample. Give more of the id." in err


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("mobilnet_v2", "Near: mobilenet_v2-train-b32-fp32."),
        ("resnet50-tran-b32-fp32", "Near: resnet50-train-b32-fp32."),
        ("zzz", "There are resnet50-train-b32-fp32, mobilenet_v2-train-b32-fp32."),
    ],
)
def test_a_case_that_is_not_there(run: Run, tmp_path: Path, case: str, message: str) -> None:
    """A usage error that names what was meant, or all."""
    code, out, err = run("ops", _file(tmp_path, _timed(), _timed("mobilenet_v2")), case)
    assert (code, out) == (2, "")
    assert f"has '{case}'. {message}" in err


@pytest.mark.parametrize(
    "records",
    [(None,), (build.record(),), (build.record(), build.record(case=build.case(model="vgg16")))],
    ids=["another project's", "one", "several"],
)
def test_nothing_timed_is_exit_code_3(run: Run, tmp_path: Path, records: tuple[Record | None, ...]) -> None:
    """With how to get times."""
    code, out, err = run("ops", _file(tmp_path, *records))
    assert (code, out) == (3, "")
    assert "in a pass of its own after each case: measure again." in err


def test_a_compiled_step_shows_its_kernels(run: Run, tmp_path: Path) -> None:
    """Longest first as recorded, with the reason why none has a speed of light; drawn are their times."""
    why = "a compiled step runs fused kernels"
    kernels = (
        OutsideTime(name="triton_" + "x" * 90, calls=2.0, time_s=0.06),
        OutsideTime(name="gemm", calls=1.5, time_s=0.03),
    )
    record = build.record(
        case=build.case(config={"compile": True}),
        operations=(build.operation(),),
        profile=build.profile(source="kernels", operations_s=0.0, outside=kernels, device_busy_s=0.06),
        missing={"operations.time_s": why},
    )
    path = _file(tmp_path, record)
    code, out, _ = run("ops", path)
    assert code == 0
    assert "resnet50-train-b32-fp32 (compiled): 100 ms a step" in out
    assert _row(out, "gemm") == "gemm 1.5 30.0 ms 30"
    assert f"No speed of light for each of these: {why}." in out
    assert "The device was busy for 60 % of the step: 60.0 ms of kernels" in out
    assert _row(run("ops", path, "--top", 1)[1], "1 other kernel") == "1 other kernel 1.5 30.0 ms 30"
    assert max(map(len, out.splitlines())) <= 100
    rows = json.loads(run("ops", path, "--format", "json")[1])
    assert rows[0] == {"name": "triton_" + "x" * 90, "calls": 2.0, "time_s": 0.06, "share_of_step": pytest.approx(0.6)}
    assert run("ops", path, "--plot", "x.png")[::2] == (0, "wrote x.png\n")
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_gives_the_newest_run(run: Run, tmp_path: Path) -> None:
    """Runs of one machine are never pooled."""
    _file(tmp_path, _timed(), name="old", started_at="2026-01-01T00:00:00+00:00")
    _file(tmp_path, _timed(timing=build.timing(0.2)), name="new", started_at="2026-02-01T00:00:00+00:00")
    code, out, err = run("ops", tmp_path / "results")
    assert code == 0
    assert ": 200 ms a step" in out
    assert "1 older result of the same workload left out" in err


def test_it_draws(run: Run, tmp_path: Path) -> None:
    """The figure beside the tables; of one case only."""
    path = _file(tmp_path, _timed(), _timed("mobilenet_v2"))
    code, out, err = run("ops", path, "resnet", "--plot", "new/ops.png")
    assert (code, err) == (0, "wrote new/ops.png\n")
    assert "What to fix first" in out
    assert Path("new/ops.png").read_bytes().startswith(b"\x89PNG")
    code, _, err = run("ops", path, "--plot", "ops.png")
    assert code == 2
    assert "--plot is for one case: name a case. There are resnet50-train-b32-fp32, mobilenet_v2-train-b32-fp32." in err
    code, _, err = run("ops", path, "resnet", "--plot", f"{path}/ops.png")
    assert code == 2
    assert "can't be written" in err


def test_one_case_on_two_machines_is_two_tables_and_no_figure(run: Run, tmp_path: Path) -> None:
    """Rows of different machines are never pooled."""
    _file(tmp_path, _timed())
    other = build.document([_timed()], of=build.session(build.roofs()), on=build.machine("other"))
    build.write(tmp_path / "results" / "b.json", other)
    code, out, _ = run("ops", tmp_path / "results", "resnet")
    assert (code, out.count("100 ms a step")) == (0, 2)
    code, _, err = run("ops", tmp_path / "results", "resnet", "--plot", "x.png")
    assert code == 2
    assert "measured on several machines" in err


def test_how_far_the_timing_is_to_be_trusted_is_said(run: Run, tmp_path: Path) -> None:
    """In the case's own table with the evidence, in the list of cases by name."""
    flags = (Flag(name="disturbed", evidence="3 of 3 rounds, first by other programs"),)
    path = _file(tmp_path, _timed(flags=flags), _timed("vgg16"))
    assert "disturbed: 3 of 3 rounds, first by other programs" in run("ops", path, "resnet50")[1]
    assert "Timing less certain (disturbed): resnet50-train-b32-fp32" in run("ops", path)[1]
    assert "disturbed" not in run("ops", path, "vgg16")[1]


_GPU = profiled(counters=counted(kernel(), kernel(ADD)).counters)
_COMPILED = profiled(
    operations=(build.operation(),),
    profile=build.profile(
        source="kernels", operations_s=0.0, outside=(OutsideTime(name="triton_a", calls=1.0, time_s=0.06),)
    ),
    missing={"operations.time_s": "fused"},
    counters=counted(kernel()).counters,
)


@pytest.mark.parametrize(
    ("record", "by", "titles"),
    [
        (_timed(), "operation", ["What to fix first"]),
        (_GPU, "operation", ["What to fix first", "Kernels, profiler", "Kernels, counters", "Counted"]),
        (_GPU, "kind", ["What to fix first, by kind", "Kinds, profiler", "Kinds, counters", "Counted"]),
        (_GPU, "kernel", ["Kernels, profiler", "Kernels, counters"]),
        (_GPU, "kernel-kind", ["Kinds, profiler", "Kinds, counters"]),
        (_GPU, "counters", ["Counted", "Kernels, counters"]),
        # Its kernels have a table already, with their names from the profiler.
        (_COMPILED, "operation", ["Kernels, counters", "Counted"]),
        (_COMPILED, "kind", ["Kinds, counters", "Counted"]),
    ],
)
def test_what_a_step_is_taken_apart_by(run: Run, tmp_path: Path, record: Record, by: str, titles: list[str]) -> None:
    """A CPU's step has operations alone, a GPU's kernels and counters as well; each of them can be asked for."""
    of = "of resnet50-train-b32-fp32"
    shown = {
        "Kernels, profiler": f"Kernels {of}, by torch's profiler",
        "Kernels, counters": f"Kernels {of}, by hardware counters",
        "Kinds, profiler": f"Kinds of kernels {of}, by torch's profiler",
        "Kinds, counters": f"Kinds of kernels {of}, by hardware counters",
        "Counted": "Counted against counters, resnet50-train-b32-fp32",
    }
    code, out, err = run("ops", _file(tmp_path, record), "--by", by)
    assert (code, err) == (0, "")
    found = [line for line in out.splitlines() if line.startswith(("What to", "Kernels", "Kinds", "Counted"))]
    assert found == [shown.get(title, title) for title in titles]


@pytest.mark.parametrize(
    ("by", "column", "values"),
    [
        ("kernel", "source", ["profiler"] * 3 + ["counters"] * 2),
        ("kernel-kind", "kind", ["gemm", "elementwise", "copy", "gemm", "elementwise"]),
        ("counters", "quantity", ["matrix products", "other arithmetic", "DRAM bytes"]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_program_gets_one_table(run: Run, tmp_path: Path, by: str, column: str, values: list[str], form: str) -> None:
    """Of the kernels that were asked for by both sources, or of the counters."""
    out = run("ops", _file(tmp_path, _GPU), "--by", by, "--format", form)[1]
    rows = json.loads(out) if form == "json" else list(csv.DictReader(io.StringIO(out)))
    assert [row[column] for row in rows] == values


@pytest.mark.parametrize(
    ("record", "by", "told"),
    [
        (_timed(), "kernel", "a CPU has no kernels apart from its operations: --by operation has those."),
        (
            _timed(),
            "counters",
            "no hardware counters (none in the record). They are read where pytest is given --ncu, in a suite without"
            " that short spelling --roofline-ncu.",
        ),
        (
            build.record(device=build.CUDA, missing={"profile": "no CUPTI"}),
            "kernel",
            "no times of kernels (no CUPTI). Operations are timed",
        ),
        (
            build.record(device=build.CUDA, profile=build.profile(source="kernels", kernels=_UNUSABLE)),
            "kernel-kind",
            "no kernel in its record has a usable time and number of launches.",
        ),
        (
            build.record(counters=Counters(status="permission_denied", reason="ERR_NVGPUCTRPERM")),
            "counters",
            "no hardware counters (permission denied).",
        ),
    ],
    ids=["CPU", "not counted", "no profile", "unusable", "refused"],
)
def test_kernels_that_are_not_there(run: Run, tmp_path: Path, record: Record, by: str, told: str) -> None:
    """Exit code 3 with the reason."""
    code, out, err = run("ops", _file(tmp_path, record), "--by", by)
    assert (code, out) == (3, "")
    assert f"resnet50-train-b32-fp32: {told}" in err


def test_counters_that_were_refused_are_told_of(run: Run, tmp_path: Path) -> None:
    """Below the step, with status and reason; where only counters are asked for, too."""
    counters = Counters(status="permission_denied", reason="ERR_NVGPUCTRPERM")
    path = _file(tmp_path, _timed(counters=counters))
    assert "No counters (permission_denied): ERR_NVGPUCTRPERM" in run("ops", path)[1]
    assert "No counters (permission_denied): ERR_NVGPUCTRPERM" in run("ops", path, "--by", "counters")[2]


@pytest.mark.parametrize(
    "option", [("--by", "kernel-kind"), ("--by", "kernel"), ("--by", "counters"), ("--by", "kind"), ("--top", "1")]
)
def test_what_is_for_one_case_needs_its_name(run: Run, tmp_path: Path, option: tuple[str, str]) -> None:
    """It is refused rather than not heeded where there are several, in every form; with a case named it is heeded."""
    record = profiled(counters=counted(kernel()).counters)
    path = _file(tmp_path, record, profiled(case=build.case(model="mlp")))
    for form in ("table", "csv"):
        code, out, err = run("ops", path, *option, "--format", form)
        assert (code, out) == (2, "")
        assert (
            f"{option[0]} is for one case: name a case. There are resnet50-train-b32-fp32, mlp-train-b32-fp32." in err
        )
    assert run("ops", path, "resnet50", *option)[0] == 0
