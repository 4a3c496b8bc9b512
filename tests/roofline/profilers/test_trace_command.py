"""``roofline trace``: what it shows of which file, and with which exit code."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.by_table import by_file
from tests.roofline.conftest import Run


def event(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, **more}


def write(path: Path, *events: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two steps, an operator, kernels of two kinds."""
    arguments = {"device": 0, "stream": 7}
    return write(
        tmp_path / "a.json",
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("user_annotation", "ProfilerStep#2", 100, 200),
        event("cpu_op", "aten::mm", 0, 40),
        event("kernel", "ampere_sgemm_128x64_tn", 50, 30, args=arguments),
        event("kernel", "vectorized_elementwise_kernel", 130, 20, args=arguments),
    )


def test_json_has_everything(run: Run, trace: Path) -> None:
    """In SI units, and of each section its state."""
    code, out, err = run("trace", trace, "--format", "json")
    (content,) = by_file(out)
    assert code == 0
    assert content["layout"] == "chrome_trace"
    assert content["gpu_time_s"] == pytest.approx(50e-6)
    assert [(row["name"], row["kind"], row["instances"]) for row in content["kernels"]] == [
        ("ampere_sgemm_128x64_tn", "gemm", 1),
        ("vectorized_elementwise_kernel", "elementwise", 1),
    ]
    assert content["devices"] == [
        {
            "device": "0",
            "busy_share": pytest.approx(0.5),
            "kernel_share": pytest.approx(0.5),
            "busy_s": pytest.approx(50e-6),
            "kernel_busy_s": pytest.approx(50e-6),
            "span_s": pytest.approx(100e-6),
            "gaps": 1,
            "longest_gap_s": pytest.approx(50e-6),
            "median_gap_s": pytest.approx(50e-6),
            "streams": 1,
            "events": 2,
        }
    ]
    assert content["operators"] == [
        {
            "self_share": 1.0,
            "self_s": pytest.approx(40e-6),
            "total_s": pytest.approx(40e-6),
            "calls": 1,
            "name": "aten::mm",
        }
    ]
    assert content["steps"] == {"count": 2, "median_s": pytest.approx(150e-6)}
    assert content["sections"]["memcpy"] == {
        "state": "skipped",
        "reason": "no event of gpu_memcpy or gpu_memset was recorded",
    }
    assert "memcpy: skipped" in err


def test_tables(run: Run, trace: Path) -> None:
    """Kernels, kinds, GPUs and operators; steps and what is missing below."""
    code, out, err = run("trace", trace)
    assert (code, err) == (0, "")
    assert out.startswith("Kernels: 50.0 µs in 2 launches\n")
    for title in ("Kinds of kernels", "GPUs", "Operators on the host"):
        assert f"\n{title}\n" in out
    assert "2 steps marked, median 150 µs" in out
    assert "Copies and fills" not in out


def test_csv_of_a_cpu_has_its_operators(run: Run, tmp_path: Path) -> None:
    """There are no kernels to have."""
    path = write(tmp_path / "a.json", event("cpu_op", "aten::mm", 0, 30), event("cpu_op", "aten::add", 50, 10))
    code, out, err = run("trace", path, "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert [(row["name"], float(row["self_share"])) for row in rows] == [("aten::mm", 0.75), ("aten::add", 0.25)]
    assert "nothing on a GPU was recorded" in err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"traceEvents": [', "truncated, the JSON ends in the middle."),
        ('{"traceEvents": [{"ph": "X", "cat": "blink", "ts": 1, "dur": 2}]}', "not of torch.profiler"),
        ('{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "ts": 1, "dur": 2}]}', "nothing to show."),
        ("", "empty."),
    ],
)
def test_what_cant_be_summed_up(run: Run, tmp_path: Path, text: str, told: str) -> None:
    """Exit code 3, and why."""
    path = tmp_path / "a.json"
    path.write_text(text)
    code, out, err = run("trace", path)
    assert (code, out) == (3, "")
    assert told in err
    assert "Traceback" not in err


def test_usage(run: Run) -> None:
    """Exit code 2, as with every command; 3 where there is nothing to read."""
    assert run("trace")[0] == 2
    assert run("trace", "none.json")[0] == 3
    assert run("trace", "--help")[0] == 0


def test_others_have_no_sum_with_callees(run: Run, tmp_path: Path) -> None:
    """Operators that call each other: their sum would count one time several times."""
    nested = [event("cpu_op", name, place, 100 - 2 * place) for place, name in enumerate("abcd")]
    out = run("trace", write(tmp_path / "a.json", *nested), "--top", 1)[1]
    assert next(line for line in out.splitlines() if "3 others" in line).split()[3] == "-"


def test_a_cycle_without_a_step(run: Run, tmp_path: Path) -> None:
    """It is of torch.profiler, but its schedule was longer than the run."""
    path = write(tmp_path / "a.json", event("Trace", "PyTorch Profiler (0)", 1, 72))
    code, _, err = run("trace", path)
    assert code == 3
    assert "nothing was recorded in it" in err
    assert "schedule" in err
    assert "not of torch.profiler" not in err


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_control_characters_stay_out_of_the_terminal(run: Run, tmp_path: Path, form: str) -> None:
    """Whoever names a kernel doesn't clear the screen (ESC, CSI) of who reads of it. JSON's escapes keep the name."""
    name = "k\x1b[2J\x9b31m\x07\x7f"
    path = write(
        tmp_path / "a.json",
        event("kernel", name, 0, 5),
        event("gpu_memcpy", f"Memcpy {name}", 9, 5),
        event("cpu_op", name, 0, 5),
    )
    code, out, err = run("trace", path, "--format", form)
    assert code == 0
    assert not set(out + err) & {chr(code) for code in (*range(10), *range(11, 32), *range(0x7F, 0xA0))}
    if form == "json":
        assert by_file(out)[0]["kernels"][0]["name"] == name
    else:
        assert (r"\\x1b\[2J" if form == "markdown" else r"\x1b[2J") in out


def test_the_ranks_of_a_folder_stand_in_their_order(run: Run, tmp_path: Path) -> None:
    """Rank 10 after rank 2, in the table of all and in the sections below it."""
    for rank in (10, 2, 1):
        write(tmp_path / f"rank{rank}.json", event("kernel", "k", 0, 5))
    code, out, _ = run("trace", tmp_path)
    assert code == 0
    ranks = [
        word for line in out.splitlines() for word in line.split()[:1] if word.startswith("rank") and ":" not in word
    ]
    assert ranks == ["rank1.json", "rank2.json", "rank10.json"]
    files = by_file(run("trace", tmp_path, "--format", "json")[1])
    assert [Path(one["file"]).name for one in files] == ranks
