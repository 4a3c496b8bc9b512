"""``roofline nsys``: what it shows of which file, and with which exit code."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.by_table import by_file
from tests.roofline.conftest import Run
from tests.roofline.profilers import nsys_build as build

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Three launches, two of them in a range and one of these from another thread, two copies, samples of DRAM."""
    rows = {
        KERNELS: [
            build.kernel(1000, 3000, call=1),
            build.kernel(2000, 6000, stream=8, call=2),
            build.kernel(8000, 9000, name=2, call=3),
        ],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [build.call(1, 600), build.call(2, 700, tid=2), build.call(3, 7000)],
        "NVTX_EVENTS": [build.marked(500, 1500, "step(32)"), build.marked(100, 400, "load", kind=60)],
        COPIES: [build.copy(0, 500, 4_194_304), build.copy(9500, 10_000, 1000, kind=2)],
        "TARGET_INFO_GPU": [build.A100],
        "TARGET_INFO_GPU_METRICS": build.metrics(
            ["DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]"]
        ),
        "GPU_METRICS": build.samples({5000: (40, 10)}),
    }
    return build.write(tmp_path / "a.sqlite", rows)


def parsed(text: str) -> dict[str, Any]:
    (content,) = by_file(text)
    return content


def test_json_has_everything(run: Run, export: Path) -> None:
    """In SI units, and of each section its state."""
    code, out, err = run("nsys", export, "--format", "json")
    content = parsed(out)
    assert code == 0
    assert err.startswith(f"{export}: NVTX: kernels that other threads of the process launched")
    assert content["state"] == "ok"
    assert content["error"] is None
    assert (content["schema"], content["tool"]) == ("3.24.14", "Nsight Systems 2026.1.1.204")
    assert content["gpu_time_s"] == pytest.approx(7e-6)
    assert content["kernels"][0] == {
        "time_share": pytest.approx(6 / 7),
        "total_s": pytest.approx(6e-6),
        "instances": 2,
        "avg_s": pytest.approx(3e-6),
        "med_s": pytest.approx(3e-6),
        "min_s": pytest.approx(2e-6),
        "max_s": pytest.approx(4e-6),
        "kind": "gemm",
        "name": "ampere_sgemm_128x64_tn",
    }
    assert [row["kind"] for row in content["kinds"]] == ["gemm", "elementwise"]
    assert content["memcpy"][0]["kind"] == "Host-to-Device"
    assert content["memcpy"][0]["byte_per_s"] == pytest.approx(4_194_304 / 500e-9)
    assert content["devices"][0]["busy_share"] == pytest.approx(0.7)
    assert content["dram"][0]["read_byte_per_s"] == pytest.approx(0.4 * 1.5552e12)
    assert content["nvtx"][0] == {
        "time_share": pytest.approx(10 / 13),
        "total_s": pytest.approx(1e-6),
        "instances": 1,
        "avg_s": pytest.approx(1e-6),
        "med_s": pytest.approx(1e-6),
        "min_s": pytest.approx(1e-6),
        "max_s": pytest.approx(1e-6),
        "style": "PushPop",
        "kernels": 1,
        "kernel_s": pytest.approx(2e-6),
        "process_kernels": 2,
        "process_kernel_s": pytest.approx(6e-6),
        "domain": None,
        "name": "step(32)",
    }
    assert {section["state"] for section in content["sections"].values()} == {"ok"}


def test_tables(run: Run, export: Path) -> None:
    """As report 004 has them: share, total, instances, average, median, least, most, name; and the other sections."""
    code, out, err = run("nsys", export, "--width", 140)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Kernels: 7.00 µs in 3 launches"
    assert "instances" in lines[2]
    assert "ampere_sgemm_128x64_tn" in out
    for title in ("Kinds of kernels", "GPUs", "Copies and fills", "DRAM while there was work", "NVTX ranges"):
        assert f"\n{title}\n" in out
    assert "622 GB/s" in out


def test_top_leaves_the_sum_whole(run: Run, export: Path) -> None:
    """The others stand in one row; CSV has all."""
    out = run("nsys", export, "--top", 1)[1]
    assert "1 other\n" in out
    assert "vectorized_elementwise" not in out
    rows = list(csv.DictReader(run("nsys", export, "--top", 1, "--format", "csv")[1].splitlines()))
    assert [row["name"] for row in rows] == ["ampere_sgemm_128x64_tn", "vectorized_elementwise_kernel"]
    assert sum(float(row["time_share"]) for row in rows) == pytest.approx(1.0)


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_an_empty_capture(run: Run, tmp_path: Path, form: str) -> None:
    """NSYS-01: exit code 3 and the name of the error; in JSON the GPU's time is null, not 0."""
    path = build.write(tmp_path / "a.sqlite", {}, schema=None)
    code, out, err = run("nsys", path, "--format", form)
    assert code == 3
    assert err.startswith(f"Error: {path}: empty_capture: no kernel in it.\n")
    assert "--trace=cuda" in err
    if form == "json":
        content = parsed(out)
        assert (content["error"], content["gpu_time_s"], content["kernels"]) == ("empty_capture", None, [])
        assert content["sections"]["kernels"]["state"] == "skipped"
    else:
        assert out == ""


def test_prints_of_nsys_stats(run: Run, tmp_path: Path) -> None:
    """Copies with their numbers, no kernel time, and what is missing on stderr. Exit code 3: no kernel was recorded."""
    path = tmp_path / "a.txt"
    path.write_text(
        "Processing [x.sqlite] with [cuda_gpu_kern_sum.py]...\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n\n"
        "Processing [x.sqlite] with [cuda_gpu_mem_time_sum.py]...\n"
        "Time (%),Total Time (ns),Count,Avg (ns),Min (ns),Max (ns),Operation\n"
        "100.0,1500,3,500.0,400,600,[CUDA memcpy Host-to-Device]\n"
    )
    code, out, err = run("nsys", path, "--format", "json")
    content = parsed(out)
    assert (code, content["error"]) == (3, "empty_capture")
    assert (content["state"], content["gpu_time_s"], content["kernels"]) == ("partial", None, [])
    assert content["sections"]["kernels"]["state"] == "skipped"
    assert content["memcpy"][0]["count"] == 3
    said = "kernels: skipped: SKIPPED: x.sqlite does not contain CUDA kernel data."
    assert said in err
    code, out, err = run("nsys", path)
    shown = " ".join(f"{out} {err}".split())
    assert (code, shown.count("Host-to-Device"), shown.count(said)) == (3, 1, 1)


def test_windows_writes_utf_16(run: Run, tmp_path: Path) -> None:
    """PowerShell's ``nsys stats ... > a.txt``."""
    path = tmp_path / "a.txt"
    header = "Time (%),Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),Name"
    path.write_bytes(f"{header}\r\n100.0,1500,3,500.0,400,600,k\r\n".encode("utf-16"))
    assert parsed(run("nsys", path, "--format", "json")[1])["gpu_time_s"] == pytest.approx(1.5e-6)


def test_top_of_ranges(run: Run, tmp_path: Path) -> None:
    """The others stand in one row, whose kernels can't be added up: ranges lie inside of each other."""
    marks = [build.marked(0, 100 - place, f"range {place}") for place in range(5)]
    rows = {
        KERNELS: [build.kernel(1000, 3000, call=1)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [build.call(1, 10)],
        "NVTX_EVENTS": marks,
    }
    out = run("nsys", build.write(tmp_path / "a.sqlite", rows), "--top", 2, "--width", 160)[1]
    others = next(line for line in out.splitlines() if line.endswith("3 others"))
    assert others.split()[-6:] == ["-", "-", "-", "-", "3", "others"]
    assert "range 4" not in out
    assert len(parsed(run("nsys", tmp_path / "a.sqlite", "--format", "json")[1])["nvtx"]) == 5


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.sqlite", b"", "empty. Was nsys stats let to finish?"),
        ("a.sqlite", b'{"traceEvents": []}', "roofline trace reads traces of torch.profiler"),
        ("a.sqlite", b"\xff\x00\xfe\x80", "nothing that nsys stats prints"),
        ("a.sqlite", b"SQLite format 3\x00rubbish", "the database can't be read"),
        ("a.sqlite", b"SQLite format 3\x00", "the database can't be read"),
        # Only nsys reads its own reports: the command that exports them is given.
        *((f"a.{end}", b"\x00\x01", "nsys export --type sqlite --output") for end in ("nsys-rep", "qdrep", "qdstrm")),
    ],
)
def test_other_files(run: Run, tmp_path: Path, name: str, content: bytes, told: str) -> None:
    """Exit code 3, and what is wrong."""
    (tmp_path / name).write_bytes(content)
    code, out, err = run("nsys", tmp_path / name)
    assert (code, out) == (3, "")
    assert told in err
    assert "Traceback" not in err


def test_usage(run: Run, export: Path) -> None:
    """Exit code 2, as with every command; 3 where there is nothing to read. Its first bytes tell what a file is."""
    assert [run("nsys", *words)[0] for words in ([], ["none.sqlite"], ["--help"])] == [2, 3, 0]
    assert run("nsys", export.rename(export.with_suffix(".nsys-rep")))[0] == 0


def test_ranges_in_a_table(run: Run, export: Path, tmp_path: Path) -> None:
    """The name is whole, and domains are there where there are some. What must be known of them stands below."""
    table = run("nsys", export, "--width", 160)[1].split("\nNVTX ranges\n")[1]
    assert "domain" not in table
    step = next(line for line in table.splitlines() if line.endswith("step(32)"))
    assert step.split()[:2] == ["77", "1.00"]
    assert step.split("PushPop")[1].split() == ["1", "2.00", "µs", "6.00", "µs", "step(32)"]
    assert "NVTX: kernels that other threads" in table
    marks = [build.marked(0, None, "NCCL", kind=75, domain=1), build.marked(500, 1500, "AllReduce", domain=1)]
    marks.append(build.marked(100, 400, "AllReduce"))
    rows = {KERNELS: [build.kernel(1000, 3000)], "NVTX_EVENTS": marks}
    out = run("nsys", build.write(tmp_path / "b.sqlite", rows), "--width", 160)[1]
    shown = [line.split()[-2:] for line in out.splitlines() if line.endswith("AllReduce")]
    assert shown == [["NCCL", "AllReduce"], ["-", "AllReduce"]]
