"""``roofline trace``: what it shows of which files, alone and several together, and with which exit code."""

from __future__ import annotations

import csv
import errno
import gzip
import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from roofline.profilers.kineto import chrome_trace
from roofline.profilers.timeline import Timeline
from tests.by_table import by_file
from tests.roofline.conftest import Run
from tests.roofline.profilers import nsys_build as build
from tests.roofline.profilers import traces
from tests.roofline.profilers.traces import GEMM, event, on_gpu

MM = event("cpu_op", "aten::mm", 0, 40)


def write(path: Path, *events: dict[str, Any], rank: int | None = None) -> Path:
    return traces.write(path, traces.document([*events], deviceProperties=[], distributedInfo={"rank": rank}))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two steps, an operator, kernels of two kinds."""
    return write(
        tmp_path / "a.json",
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("user_annotation", "ProfilerStep#2", 100, 200),
        MM,
        on_gpu("kernel", GEMM, 50, 30),
        on_gpu("kernel", "vectorized_elementwise_kernel", 130, 20),
    )


@pytest.fixture
def ranks(tmp_path: Path) -> list[Path]:
    """Of two ranks, as tensorboard_trace_handler names them; the second one's kernel takes twice as long."""
    return [
        write(
            tmp_path / "traces" / f"host_{4711 + rank}.1700.pt.trace.json.gz",
            event("user_annotation", "ProfilerStep#1", 0, 100),
            MM,
            on_gpu("kernel", GEMM, 50, 30 * (1 + rank)),
            rank=rank,
        )
        for rank in range(2)
    ]


def test_json_has_everything(run: Run, trace: Path) -> None:
    """In SI units, and of each section its state."""
    code, out, err = run("trace", trace, "--format", "json")
    (content,) = by_file(out)
    assert code == 0
    assert content["layout"] == "chrome_trace"
    assert content["gpu_time_s"] == pytest.approx(50e-6)
    assert [(row["name"], row["kind"], row["instances"]) for row in content["kernels"]] == [
        (GEMM, "gemm", 1),
        ("vectorized_elementwise_kernel", "elementwise", 1),
    ]
    (device,) = content["devices"]
    assert device == {
        **{name: pytest.approx(0.5) for name in ("busy_share", "kernel_share")},
        **{name: pytest.approx(50e-6) for name in ("busy_s", "kernel_busy_s", "longest_gap_s", "median_gap_s")},
        "span_s": pytest.approx(100e-6),
        "device": "0",
        "gaps": 1,
        "streams": 1,
        "events": 2,
    }
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
    reason = "no event of gpu_memcpy or gpu_memset was recorded"
    assert content["sections"]["memcpy"] == {"state": "skipped", "reason": reason}
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
        (
            '{"traceEvents": [{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 1, "dur": 72}]}',
            "of torch.profiler, but nothing was recorded in it. A cycle of its schedule ends",
        ),
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
    assert [run("trace", *words)[0] for words in ([], ["none.json"], ["--help"])] == [2, 3, 0]


def test_others_have_no_sum_with_callees(run: Run, tmp_path: Path) -> None:
    """Operators that call each other: their sum would count one time several times."""
    nested = [event("cpu_op", name, place, 100 - 2 * place) for place, name in enumerate("abcd")]
    out = run("trace", write(tmp_path / "a.json", *nested), "--top", 1)[1]
    assert next(line for line in out.splitlines() if "3 others" in line).split()[3] == "-"


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_control_characters_stay_out_of_the_terminal(run: Run, tmp_path: Path, form: str) -> None:
    """Whoever names a kernel doesn't clear the screen (ESC, CSI) of who reads of it. JSON's escapes keep the name."""
    name = "k\x1b[2J\x9b31m\x07\x7f"
    places = (("kernel", name, 0), ("gpu_memcpy", f"Memcpy {name}", 9), ("cpu_op", name, 0))
    path = write(tmp_path / "a.json", *(event(category, text, ts, 5) for category, text, ts in places))
    code, out, err = run("trace", path, "--format", form)
    assert code == 0
    assert not set(out + err) & {chr(code) for code in (*range(10), *range(11, 32), *range(0x7F, 0xA0))}
    if form == "json":
        assert by_file(out)[0]["kernels"][0]["name"] == name
    else:
        assert (r"\\x1b\[2J" if form == "markdown" else r"\x1b[2J") in out


def test_json_has_the_records_of_each_file(run: Run, ranks: list[Path]) -> None:
    """In the order given, each as it is of a file alone; on stderr notes name their file."""
    code, out, err = run("trace", *ranks, "--format", "json")
    assert code == 0
    assert [(one["file"], one["rank"], one["gpu_time_s"]) for one in by_file(out)] == [
        (str(ranks[0]), 0, pytest.approx(30e-6)),
        (str(ranks[1]), 1, pytest.approx(60e-6)),
    ]
    assert json.loads(out) == [
        record for one in ranks for record in json.loads(run("trace", one, "--format", "json")[1])
    ]
    assert all(f"{path}: memcpy: skipped: " in err for path in ranks)


def test_csv_names_the_file_of_each_row(run: Run, ranks: list[Path]) -> None:
    """One table; a share is that of its own file's time. On stderr notes name their file."""
    _, out, err = run("trace", *ranks, "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert [(row["file"], float(row["total_s"]), float(row["time_share"])) for row in rows] == [
        (str(ranks[0]), pytest.approx(30e-6), 1.0),
        (str(ranks[1]), pytest.approx(60e-6), 1.0),
    ]
    assert all(f"{path}: memcpy: skipped: " in err for path in ranks)


def test_tables_stand_under_the_names_of_their_files(run: Run, ranks: list[Path]) -> None:
    """First a row for each, then each alone. Files of one name have their paths."""
    code, out, err = run("trace", *ranks, "--width", 120)
    assert (code, err) == (0, "")
    assert out.startswith("2 files\n")
    assert [line.split() for line in out.splitlines() if line.startswith("host_")][:2] == [
        [ranks[0].name, "0", "ok", "30.0", "µs", "1", "100", "%", "100", "µs"],
        [ranks[1].name, "1", "ok", "60.0", "µs", "1", "100", "%", "100", "µs"],
    ]
    for path, total in zip(ranks, ("30.0", "60.0"), strict=True):
        assert f"\n{path.name}: Kernels: {total} µs in 1 launches\n" in out
        assert f"\n{path.name}: Operators on the host\n" in out
    alike = write(ranks[0].parent / "below" / ranks[0].name, on_gpu("kernel", "k", 0, 5))
    out = run("trace", ranks[0], alike, "--width", 300)[1]
    assert f"\n{alike}: Kernels: 5.00 µs in 1 launches\n" in out


def test_what_a_file_lacks_is_a_dash(run: Run, ranks: list[Path]) -> None:
    """Of several GPUs each has its own busy time: there is none of the file, and that is said."""
    several = write(ranks[0].with_name("b.json"), *(on_gpu("kernel", "k", 0, 5, device=number) for number in (0, 1)))
    bad = ranks[0].with_name("c.json")
    bad.write_text("")
    code, out, _ = run("trace", ranks[0], several, bad, "--width", 120)
    shown = {line.split()[0]: line.split()[1:] for line in reversed(out.splitlines()) if line.strip()}
    assert (code, shown["b.json"], shown["c.json"]) == (
        3,
        ["-", "ok", "10.0", "µs", "2", "-", "-"],
        ["-", "failed", "-", "-", "-", "-"],
    )
    assert "No busy share of a file with several GPUs (1): each GPU has its own." in " ".join(out.split())


def test_operators_that_csv_has_no_place_for_are_told(run: Run, ranks: list[Path], tmp_path: Path) -> None:
    """Their file would be missing in silence. Where no file has a kernel, and in other forms, it isn't."""
    cpu, other = (write(tmp_path / name, MM) for name in ("cpu.json", "b.json"))
    copies = write(tmp_path / "copies.json", on_gpu("gpu_memset", "Memset (Device)", 0, 5))
    code, out, err = run("trace", cpu, *ranks, "--format", "csv")
    assert code == 3
    assert [row["file"] for row in csv.DictReader(out.splitlines())] == [str(path) for path in ranks]
    assert f"Error: not in this CSV, which has kernels: operators of {cpu}." in err
    assert run("trace", cpu, *ranks, "--format", "json")[0] == 0
    for paths, count in (([cpu], 1), ([cpu, other], 2), ([copies, cpu], 1)):
        code, out, _ = run("trace", *paths, "--format", "csv")
        assert (code, out.count("aten::mm")) == (0, count)


def test_a_folder_is_all_of_its_traces(run: Run, ranks: list[Path], tmp_path: Path) -> None:
    """Plain or with gzip, in folders below it as well, each once; other files are passed over. Rank 10 comes after
    rank 2.
    """
    plain = write(ranks[0].parent / "below" / "c.json", MM)
    (ranks[0].parent / "notes.txt").write_text("no trace")
    code, out, _ = run("trace", ranks[0].parent, ranks[0], "--format", "json")
    assert (code, [one["file"] for one in by_file(out)]) == (0, [str(plain), *map(str, ranks)])
    for rank in (10, 2, 1):
        write(tmp_path / "more" / f"rank{rank}.json", MM)
    out = run("trace", tmp_path / "more")[1]
    titles = [line.partition(":")[0] for line in out.splitlines() if line.endswith(": Operators on the host")]
    assert titles == ["rank1.json", "rank2.json", "rank10.json"]
    assert [one for one in out.split() if one in titles] == titles


def test_a_folder_without_a_trace(run: Run, ranks: list[Path], tmp_path: Path) -> None:
    """Exit code 3, with what was looked for; beside others it is skipped."""
    (tmp_path / "none").mkdir()
    told = f"{tmp_path / 'none'}: no file there ends in .json or .json.gz"
    assert run("trace", tmp_path / "none") == (3, "", f"Error: {told}.\n")
    code, _, err = run("trace", ranks[0].parent, tmp_path / "none")
    assert (code, f"skipped {told}\n" in err) == (0, True)


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_a_bad_file_doesnt_lose_the_others(run: Run, ranks: list[Path], form: str) -> None:
    """They are shown, the bad one is named with its reason, and the exit code tells."""
    content = gzip.decompress(ranks[0].read_bytes())
    cut = ranks[0].with_name("cut.json")
    cut.write_bytes(content[: len(content) // 2])
    code, out, err = run("trace", cut, *ranks, "--format", form)
    assert code == 3
    assert "Error: 1 of 3 files are of no use:\n" in err
    assert "truncated, the JSON ends in the middle." in err.partition(f"\n{cut}:")[2]
    assert out.count(GEMM) == 2
    if form == "json":
        bad, *others = by_file(out)
        assert (bad["file"], bad["state"], bad["error"]) == (str(cut), "failed", "unreadable")
        assert "truncated" in bad["sections"]["file"]["reason"]
        assert (bad["gpu_time_s"], bad["kernels"]) == (None, [])
        assert bad.keys() == others[0].keys()


def test_all_of_them_bad(run: Run, tmp_path: Path) -> None:
    """Each with its own reason; CSV has nothing then."""
    paths = [tmp_path / "a.json", write(tmp_path / "b.json", event("cuda_runtime", "x", 1, 2))]
    paths[0].write_text("")
    code, out, err = run("trace", *paths, "--format", "csv")
    assert (code, out) == (3, "")
    for told in ("2 of 2 files are of no use", f"{paths[0]}: empty.", f"{paths[1]}: nothing to show."):
        assert told in err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none.json", "No such file or directory"),
        ("a.json/b.json", "Not a directory"),
        (f"{'n' * 300}.json", "File name too long"),
    ],
)
@pytest.mark.parametrize("command", ["trace", "nsys"])
def test_one_that_isnt_there_doesnt_lose_the_others(
    run: Run, tmp_path: Path, command: str, name: str, told: str
) -> None:
    """In its place the reason stands, as of one that can't be read."""
    other = tmp_path / "a.json"
    if command == "trace":
        write(other, on_gpu("kernel", "k", 0, 30))
    else:
        build.write(other, {"CUPTI_ACTIVITY_KIND_KERNEL": [build.kernel(0, 30_000)]})
    absent = tmp_path / name
    code, out, err = run(command, absent, other, "--format", "json")
    bad, good = by_file(out)
    assert (code, bad["file"], bad["error"], good["gpu_time_s"]) == (3, str(absent), "unreadable", 30e-6)
    assert f"\n{absent}: can't be read ({told})." in err
    assert run(command, absent)[:2] == (3, "")


def test_a_closed_folder_is_told(run: Run, ranks: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason why it couldn't be looked into; what it has isn't missed in silence."""
    closed = ranks[0].parent / "closed"
    closed.mkdir()
    scandir, opened = os.scandir, Path.open

    def refuse(path: Path) -> None:
        if path == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(os, "scandir", lambda path: refuse(Path(path)) or scandir(path))
    monkeypatch.setattr(Path, "open", lambda path, *more, **named: refuse(path) or opened(path, *more, **named))
    for command in ("trace", "nsys"):
        assert f"{closed}: can't be read (Permission denied)." in run(command, closed.parent)[2]


def test_one_too_large_doesnt_lose_the_others(run: Run, ranks: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A small gzip may hold more than there is memory, which is no crash and no verdict."""
    huge = ranks[0].with_name("huge.json.gz")
    huge.write_bytes(gzip.compress(b" " * 1000))
    whole = chrome_trace.read_trace

    def read(path: Path) -> Timeline:
        if path == huge:
            raise MemoryError
        return whole(path)

    monkeypatch.setattr(importlib.import_module("roofline.cli.profiler_files"), "read_trace", read)
    code, out, err = run("trace", huge, *ranks)
    assert (code, out.count(GEMM)) == (3, 2)
    assert f"\n{huge}: can't be read (too large for this machine's memory)." in err
    assert run("trace", huge)[:2] == (3, "")


def test_none_of_the_inputs_is_written_over(run: Run, ranks: list[Path]) -> None:
    """Nor one that was found in a folder."""
    before = ranks[1].read_bytes()
    for paths in (ranks, [ranks[0].parent]):
        code, _, err = run("trace", *paths, "-o", ranks[1], "--format", "csv")
        assert (code, ranks[1].read_bytes()) == (2, before)
        assert f"-o {ranks[1]} is one of the files to read" in err
