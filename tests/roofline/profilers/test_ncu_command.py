"""``roofline ncu``: what is shown, in which form, and what ends with exit code 3."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from roofline.counters.quantities import NAMES, byte_metrics, flop_metrics
from roofline.profilers.ncu.kernel_sums import count, read_all
from roofline.show.tables import FORMATS
from tests.roofline.conftest import Run
from tests.roofline.profilers.ncu_made import (
    DETAILS,
    READ,
    TIME,
    WRITE,
    Metric,
    details,
    identity,
    line,
    raw,
    sections,
    written,
)

GEMM = "ampere_sgemm_128x64_nn"
RELU = "void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar, std::array<char*, 2ul>>(int)"
FLOP: list[Metric] = [
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst", "0"),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst", "0"),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "10,000,000"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two launches of a matrix product, and one of ReLU between them."""
    gemm, relu = [TIME, READ, WRITE, *FLOP], [TIME, READ, WRITE, *FLOP[:2], (FLOP[2][0], "inst", "0")]
    return written(tmp_path / "f.csv", details([(GEMM, gemm), (RELU, relu), (GEMM, gemm)]))


def test_json(run: Run, path: Path) -> None:
    """A record a launch, in order; null with a reason; which metric answered is said beside it."""
    code, out, err = run("ncu", path, "--format", "json")
    assert code == 0
    assert f"dram_read_byte: {READ[0]}" in err
    first, second, third = json.loads(out)
    assert first == third
    missing = first.pop("missing")
    assert first == {
        "kernel": GEMM,
        "kind": "gemm",
        "launches": 1,
        "time_s": 4896e-9,
        "share_of_time": pytest.approx(1 / 3),
        "flop": 2e7,
        "flop_by_pipe": {"fp32": 2e7},
        "dram_byte": 2.5e6,
        "dram_read_byte": 2e6,
        "dram_write_byte": 5e5,
        "l2_byte": None,
        "l1_byte": None,
        "intensity_flop_per_byte": 8.0,
        "tensor_cores": None,
    }
    assert missing == {
        "l2_byte": "lts__t_bytes.sum was not collected",
        "l1_byte": "l1tex__t_bytes.sum was not collected",
        "tensor_cores": "nothing that was collected tells whether they did anything",
    }
    assert (second["kind"], second["flop"], second["intensity_flop_per_byte"]) == ("elementwise", 0.0, 0.0)


_TOTALS = {
    "details": (4, 3.1312e-05, 781034000.0, 33110000.0, 21100000.0, 12010000.0, 74600000.0, 142500000.0, 23.5890667472),
    "raw": (2, 1.46e-05, None, 15840000.0, 11200000.0, 4640000.0, None, None, None),
    "summary": (23, 5.67e-05, None, None, 166000000.0, None, None, None, None),
    "cycles": (2, 1.2e-05, None, 14500000.0, 10000000.0, 4500000.0, None, None, None),
}
_PIPES = {"details": {"fp32": 781034000.0}, "raw": {"tensor_bf16": 268435456.0}}


@pytest.mark.parametrize("name", _TOTALS)
def test_total(name: str) -> None:
    """Launches, time, FLOP, bytes and intensity of all kernels; none of what a kernel lacks."""
    total = count(read_all([Path(__file__).parents[2] / "golden" / "inputs" / "ncu" / f"{name}.csv"])).total
    figures = (total.launches, *(total.amounts[quantity] for quantity in NAMES), total.intensity)
    assert [None if one is None else float(f"{one:.12g}") for one in figures] == list(_TOTALS[name])
    assert total.flop_by_pipe == _PIPES.get(name)
    assert total.tensor_cores is (True if name == "raw" else None)


def test_table(run: Run, path: Path) -> None:
    """A row a kernel, the one with the most time first, and the sums; what they rest on stands below."""
    code, out, err = run("ncu", path)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("3 launches under ncu: 14.7 µs, 40.0 MFLOP, 7.50 MB of DRAM traffic\n")
    assert [GEMM, "gemm", "2", "9.79", "µs", "67", "40.0", "M", "5.00", "M", "8.00", "-"] in lines
    assert any(line[:1] == ["total"] and line[-3:] == ["M", "5.33", "-"] for line in lines)
    assert "Times are under the profiler" in out
    assert "tensor_bf16" in out
    assert "L2" not in out


@pytest.mark.parametrize(("width", "narrow"), [(80, True), (140, False)])
def test_it_keeps_to_the_width(run: Run, tmp_path: Path, width: int, narrow: bool) -> None:
    """Whole columns give way, and are named; time, FLOP, bytes and intensity never do."""
    name = "_5x_cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1_and_more"
    path = written(
        tmp_path / "f.csv", details([(name, [("gpu__time_duration.sum", "us", "999.00"), READ, WRITE, *FLOP])])
    )
    _, out, _ = run("ncu", path, "--width", width)
    table = out.partition("  Times are")[0]
    assert max(map(len, out.splitlines())) <= width
    assert ("Columns not shown at this width: tensor cores, launches" in out) is narrow
    assert ("conv. forward" if narrow else "convolution forward") in table
    for text in ("kind", "999 µs", "20.0 M", "2.50 M", "8.00", "FLOP/", "DRAM"):
        assert text in table
    assert ("tensor" in table) is not narrow


@pytest.mark.parametrize(("by", "names"), [("kind", ["gemm", "elementwise"]), ("kernel", [GEMM, RELU])])
def test_by(run: Run, path: Path, by: str, names: list[str]) -> None:
    """Several launches in a row, in JSON as well."""
    rows = json.loads(run("ncu", path, "--by", by, "--format", "json")[1])
    assert [one[by] for one in rows] == names
    assert [one["launches"] for one in rows] == [2, 1]


def test_csv(run: Run, path: Path) -> None:
    """A row a launch with plain numbers, and no sum among them; what they rest on is told beside it."""
    code, out, err = run("ncu", path, "--format", "csv")
    assert code == 0
    assert "Times are under the profiler" in err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["kernel"] for row in rows] == [GEMM, RELU, GEMM]
    assert (rows[0]["flop"], rows[0]["dram_byte"], rows[0]["l2_byte"]) == ("20000000.0", "2500000.0", "")
    assert rows[0]["flop_by_pipe"] == '{"fp32": 20000000.0}'
    assert '"l2_byte": "lts__t_bytes.sum was not collected"' in rows[0]["missing"]


def test_it_does_not_write_onto_what_it_reads(run: Run, path: Path) -> None:
    """However the file is named: ncu's own print can't be had again for nothing."""
    before = path.read_bytes()
    link = path.with_name("link.csv")
    link.symlink_to(path)
    for output in (path, path.parent / "." / path.name, link):
        code, out, err = run("ncu", path, "-o", output)
        assert (code, out) == (2, "")
        assert f"-o {output} is one of the files to read" in err
        assert path.read_bytes() == before


def test_holes_stay_holes(run: Run, tmp_path: Path) -> None:
    """n/a, nan, nothing, and a column that isn't there: bytes and intensity are null and the time is not."""
    units = {READ[0]: "byte", TIME[0]: "ns"}
    rows = [("a", ("n/a", "4896")), ("b", ("nan", "4896")), ("c", ("", "4896"))]
    path = written(tmp_path / "f.csv", raw(units, rows))
    launches = json.loads(run("ncu", path, "--format", "json")[1])
    for one in launches:
        assert (one["dram_byte"], one["intensity_flop_per_byte"], one["flop"]) == (None, None, None)
        assert READ[0] in one["missing"]["dram_byte"]
        assert one["time_s"] > 0
    assert launches[0]["missing"]["dram_write_byte"] == f"{WRITE[0]} was not collected"
    for form in FORMATS:
        code, out, _ = run("ncu", path, "--format", form)
        assert code == 0
        assert "NaN" not in out


def test_a_file_without_any_quantity(run: Run, tmp_path: Path) -> None:
    """Only rates: kernels are listed, and the metrics to collect are named."""
    throughput = ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "15.56")
    code, out, _ = run("ncu", written(tmp_path / "f.csv", details([("a_gemm", [throughput])])))
    assert code == 0
    assert out.startswith("1 launch under ncu: no sums\n")
    assert "No time: gpu__time_duration.sum was not collected." in out
    assert "`roofline ncu --ask 8.0` lists the metrics to collect." in out


def test_a_page_of_labels(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--set full` prints it: FLOP of both precisions and DRAM bytes are rates times the duration, 20,000 cycles of
    10 FLOP; what the page doesn't print is null, with the command that does.
    """
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("ROOFLINE_NCU", str(program))
    light, chart = "GPU Speed Of Light Throughput", "GPU Speed Of Light Roofline Chart"
    achieved = {precision: f"{precision} Precision Achieved Value" for precision in ("Single", "Double")}
    per_cycle = "Predicated-On {} Thread Instructions Executed Per Cycle"
    page = sections(
        [
            (light, "", ("Duration", "us", "10.00")),
            (light, "", ("SM Frequency", "Ghz", "2.00")),
            (chart, "", (per_cycle.format("FFMA"), "inst/cycle", "3.50")),
            (chart, "", (per_cycle.format("DFMA"), "inst/cycle", "0")),
            *((chart, achieved["Single"], (per_cycle.format(one), "inst/cycle", "1.50")) for one in ("FADD", "FMUL")),
            *((chart, achieved["Double"], (per_cycle.format(one), "inst/cycle", "0")) for one in ("DADD", "DMUL")),
            (chart, achieved["Single"], ("DRAM Bandwidth", "Gbyte/s", "345.00")),
        ]
    )
    _, out, err = run("ncu", written(tmp_path / "f.csv", page), "--format", "json")
    (kernel,) = json.loads(out)
    assert kernel["flop_by_pipe"] == pytest.approx({"fp32": 2e5, "fp64": 0.0})
    assert (kernel["flop"], kernel["dram_byte"]) == (pytest.approx(2e5), pytest.approx(3.45e6))
    assert (kernel["l2_byte"], kernel["l1_byte"], kernel["dram_read_byte"]) == (None, None, None)
    for quantity in ("l2_byte", "l1_byte", "dram_read_byte"):
        why = kernel["missing"][quantity]
        command = f"LC_ALL=C {program} --import REPORT.ncu-rep --csv --page raw --print-units base > FILE.csv"
        assert f"not on this page; `{command}` prints it" in why
    assert "rates, which the CSV has to 0.01 a cycle" in err
    assert "Not collected, or not in full: fp16" in err


def test_what_to_ask_for(run: Run) -> None:
    """The lists of the chip, as ncu takes them, with and without tensor cores; anything else than a compute capability
    is a usage error.
    """
    code, out, _ = run("ncu", "--ask", "9.0")
    assert code == 0
    lines = out.splitlines()
    assert lines[1] == "--metrics " + ",".join(byte_metrics("9.0"))
    assert lines[3] == "--metrics " + ",".join(flop_metrics("9.0", tensor=False))
    assert lines[5] == "--metrics " + ",".join(flop_metrics("9.0", tensor=True))
    assert lines[::2] == [
        "bytes and time, in a run of their own (one pass):",
        "FLOP of CUDA cores alone (one pass):",
        "FLOP of CUDA cores and tensor cores (5 passes):",
    ]
    code, out, err = run("ncu", "--ask", "H100")
    assert (code, out) == (2, "")
    assert "'H100' is no compute capability, such as 9.0. `nvidia-smi --query-gpu=compute_cap" in " ".join(err.split())


def test_what_can_not_be_read_is_exit_code_3(run: Run, tmp_path: Path) -> None:
    """With the file, and no traceback; so is one that isn't there. To name none is a usage error."""
    path = written(tmp_path / "f.csv", "==ERROR== Profiling is not supported on this device.\n")
    code, out, err = run("ncu", path, "--format", "json")
    assert (code, out) == (3, "")
    assert err.startswith(f"Error: {path}: no kernels in it, for ncu failed: Profiling is not supported")
    assert run("ncu", tmp_path / "none.csv")[0] == 3
    assert run("ncu")[0] == 2


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("ERR_NVGPUCTRPERM - The user does not have permission", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("Failed to find metric regex:^flop_count_sp\\.(sum|avg)$", "`roofline ncu --ask CC`"),
    ],
)
def test_errors_of_ncu_with_their_remedy(run: Run, tmp_path: Path, said: str, remedy: str) -> None:
    """Those that stop a run before its first kernel."""
    text = f"==PROF== Connected to process 5\n==ERROR== {said}\n==WARNING== No kernels were profiled.\n"
    code, out, err = run("ncu", written(tmp_path / "f.csv", text))
    assert (code, out) == (3, "")
    assert said in err
    assert remedy in err


RANGES = (
    "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
    "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg",
)


def nvtx(*ranges: tuple[str, ...], raw_page: bool = False) -> str:
    """A page of a launch for each: its pushed ranges, outer ones first, and in the second column those started."""
    behind = ":none:none:none:none:none:none"
    metric = ("gpu__time_duration.sum", "ns") if raw_page else DETAILS[-4:]
    text = line(*DETAILS[:11], *RANGES, *(metric[:1] if raw_page else metric))
    text += line(*("",) * 13, "ns") if raw_page else ""
    for number, names in enumerate(ranges):
        pushed = " ".join(f'"<default domain>:{name}{behind}"' for name in names if not name.startswith("@"))
        started = " ".join(f'"7:<default domain>:{name[1:]}{behind}"' for name in names if name.startswith("@"))
        cells = ("1000",) if raw_page else ("Command line profiler metrics", "gpu__time_duration.sum", "ns", "1,000")
        text += line(*identity(number, f"k{number}"), f"4711  {pushed}" if pushed else "", started, *cells)
    return text


@pytest.mark.parametrize("raw_page", [False, True])
def test_launches_of_one_range(run: Run, tmp_path: Path, raw_page: bool) -> None:
    """Nested or started ones too, whatever their names have in them; without a choice the ranges are named."""
    text = nvtx(("step", "aten::mm"), ("step",), (), ("@step",), ("other",), raw_page=raw_page)
    path = written(tmp_path / "f.csv", text)

    def chosen(*more: str) -> tuple[list[str], str]:
        _, out, err = run("ncu", path, "--format", "json", *more)
        return [one["kernel"] for one in json.loads(out)], err

    assert chosen("--range", "step")[0] == ["k0", "k1", "k3"]
    assert chosen("--range", "aten::mm")[0] == ["k0"]
    names, notes = chosen()
    assert len(names) == 5
    assert "'step' (3 launches), 'aten::mm' (1 launch), 'other' (1 launch)" in notes


def test_a_range_that_is_not_there(run: Run, tmp_path: Path) -> None:
    """Exit code 3, with those that are, or how to have them."""
    code, out, err = run("ncu", written(tmp_path / "f.csv", nvtx(("step",))), "--range", "steps")
    assert (code, out) == (3, "")
    assert "'step' (1 launch)" in err
    code, _, err = run("ncu", written(tmp_path / "g.csv", details([("k", [TIME])])), "--range", "step")
    assert code == 3
    assert "Run ncu with --nvtx" in err


def test_the_user_may_tell_the_number_format(run: Run, tmp_path: Path) -> None:
    """Where the file does not."""
    path = written(tmp_path / "f.csv", details([("k", [(TIME[0], "us", "1.234")])]))
    assert run("ncu", path)[0] == 3
    times = {
        word: json.loads(run("ncu", path, "--decimal", word, "--format", "json")[1])[0]["time_s"]
        for word in ("point", "comma")
    }
    assert times == {"point": 1.234e-6, "comma": 1.234e-3}
