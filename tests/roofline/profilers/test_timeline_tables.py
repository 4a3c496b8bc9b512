"""Several files of a timeline profiler, shown together: `roofline trace` on what a job of several ranks leaves."""

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
from roofline.profilers.timeline import OK, Busy, CopyRow, DeviceRow, KernelRow, OperatorRow, Steps, Timeline
from roofline.profilers.timeline_tables import joined_rows, tables_of_files, unreadable
from tests.by_table import by_file
from tests.roofline.conftest import Run
from tests.roofline.profilers import nsys_build as build


def event(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, **more}


def write(path: Path, rank: int, *events: dict[str, Any]) -> Path:
    content = {"schemaVersion": 1, "distributedInfo": {"rank": rank}, "traceEvents": events}
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.fixture
def ranks(tmp_path: Path) -> list[Path]:
    """Of two ranks, as tensorboard_trace_handler names them; the second one's kernel takes twice as long."""
    arguments = {"device": 0, "stream": 7}
    return [
        write(
            tmp_path / "traces" / f"host_{4711 + rank}.1700.pt.trace.json.gz",
            rank,
            event("user_annotation", "ProfilerStep#1", 0, 100),
            event("cpu_op", "aten::mm", 0, 40),
            event("kernel", "ampere_sgemm_128x64_tn", 50, 30 * (1 + rank), args=arguments),
        )
        for rank in range(2)
    ]


def test_json_has_the_records_of_each(run: Run, ranks: list[Path]) -> None:
    """In the order given, each as it is of a file alone."""
    code, out, _ = run("trace", *ranks, "--format", "json")
    assert code == 0
    assert [(one["file"], one["rank"], one["gpu_time_s"]) for one in by_file(out)] == [
        (str(ranks[0]), 0, pytest.approx(30e-6)),
        (str(ranks[1]), 1, pytest.approx(60e-6)),
    ]
    assert json.loads(out) == [
        record for one in ranks for record in json.loads(run("trace", one, "--format", "json")[1])
    ]


def test_a_folder_is_all_of_its_traces(run: Run, ranks: list[Path]) -> None:
    """Plain or with gzip, in folders below it as well, each once; other files are passed over."""
    plain = write(ranks[0].parent / "below" / "c.json", 2, event("cpu_op", "aten::add", 0, 1))
    (ranks[0].parent / "notes.txt").write_text("no trace")
    code, out, _ = run("trace", ranks[0].parent, ranks[0], "--format", "json")
    assert code == 0
    assert [one["file"] for one in by_file(out)] == [str(plain), *map(str, ranks)]


def test_a_folder_without_a_trace(run: Run, ranks: list[Path], tmp_path: Path) -> None:
    """Exit code 3, with what was looked for; beside others it is skipped."""
    (tmp_path / "none").mkdir()
    code, out, err = run("trace", tmp_path / "none")
    assert (code, out) == (3, "")
    assert err == f"Error: {tmp_path / 'none'}: no file there ends in .json or .json.gz.\n"
    code, _, err = run("trace", ranks[0].parent, tmp_path / "none")
    assert code == 0
    assert f"skipped {tmp_path / 'none'}: no file there ends in .json or .json.gz\n" in err


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_a_bad_file_doesnt_lose_the_others(run: Run, ranks: list[Path], form: str) -> None:
    """They are shown, the bad one is named with its reason, and the exit code tells."""
    content = gzip.decompress(ranks[0].read_bytes())
    cut = ranks[0].with_name("cut.json")
    cut.write_bytes(content[: len(content) // 2])
    code, out, err = run("trace", cut, *ranks, "--format", form)
    assert code == 3
    assert "Error: 1 of 3 files are of no use:\n" in err
    assert f"\n{cut}:1: truncated, the JSON ends in the middle." in err
    assert "Traceback" not in err
    assert out.count("ampere_sgemm_128x64_tn") == 2
    if form == "json":
        bad, *others = by_file(out)
        assert (bad["file"], bad["state"], bad["error"]) == (str(cut), "failed", "unreadable")
        assert "truncated" in bad["sections"]["file"]["reason"]
        assert (bad["gpu_time_s"], bad["kernels"]) == (None, [])
        assert bad.keys() == others[0].keys()


def test_all_of_them_bad(run: Run, tmp_path: Path) -> None:
    """Each with its own reason; CSV has nothing then."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    paths[0].write_text("")
    paths[1].write_text('{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "ts": 1, "dur": 2}]}')
    code, out, err = run("trace", *paths, "--format", "csv")
    assert (code, out) == (3, "")
    assert "2 of 2 files are of no use" in err
    assert f"{paths[0]}: empty." in err
    assert f"{paths[1]}: nothing to show." in err


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
    """In its place it is told why, as of one that can't be read."""
    other = tmp_path / "a.json"
    if command == "trace":
        write(other, 0, event("kernel", "k", 0, 30, args={"device": 0, "stream": 7}))
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

    monkeypatch.setattr(importlib.import_module("roofline.cli.trace"), "read_trace", read)
    code, out, err = run("trace", huge, *ranks)
    assert (code, out.count("ampere_sgemm_128x64_tn")) == (3, 2)
    assert f"\n{huge}: can't be read (too large for this machine's memory)." in err
    assert run("trace", huge)[:2] == (3, "")


def test_csv_names_the_file_of_each_row(run: Run, ranks: list[Path]) -> None:
    """One table; a share is that of its own file's time."""
    rows = list(csv.DictReader(run("trace", *ranks, "--format", "csv")[1].splitlines()))
    assert [(row["file"], float(row["total_s"]), float(row["time_share"])) for row in rows] == [
        (str(ranks[0]), pytest.approx(30e-6), 1.0),
        (str(ranks[1]), pytest.approx(60e-6), 1.0),
    ]


def test_operators_that_csv_has_no_place_for_are_told(run: Run, ranks: list[Path], tmp_path: Path) -> None:
    """Their file would be missing in silence. Where no file has a kernel, and in other forms, it isn't."""
    cpu = write(tmp_path / "cpu.json", 0, event("cpu_op", "aten::mm", 0, 40))
    code, out, err = run("trace", cpu, *ranks, "--format", "csv")
    assert code == 3
    assert [row["file"] for row in csv.DictReader(out.splitlines())] == [str(path) for path in ranks]
    assert f"Error: not in this CSV, which has the kernels of the others: operators of {cpu}." in err
    assert run("trace", cpu, *ranks, "--format", "json")[0] == 0
    assert run("trace", cpu, "--format", "csv")[0] == 0
    code, out, _ = run(
        "trace", cpu, write(tmp_path / "b.json", 1, event("cpu_op", "aten::mm", 0, 40)), "--format", "csv"
    )
    assert (code, out.count("aten::mm")) == (0, 2)


def test_tables_stand_under_the_names_of_their_files(run: Run, ranks: list[Path]) -> None:
    """First a row for each, then each alone."""
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


@pytest.mark.parametrize("form", ["json", "csv"])
def test_notes_name_their_file(run: Run, ranks: list[Path], form: str) -> None:
    """On stderr, where the output is for programs."""
    err = run("trace", *ranks, "--format", form)[2]
    for path in ranks:
        assert f"{path}: memcpy: skipped: " in err


def test_none_of_the_inputs_is_written_over(run: Run, ranks: list[Path]) -> None:
    """Nor one that was found in a folder."""
    before = ranks[1].read_bytes()
    for paths in (ranks, [ranks[0].parent]):
        code, _, err = run("trace", *paths, "-o", ranks[1], "--format", "csv")
        assert (code, ranks[1].read_bytes()) == (2, before)
        assert f"-o {ranks[1]} is one of the files to read" in err


def timeline(name: str, **more: Any) -> Timeline:
    return Timeline(path=Path(name), layout="chrome_trace", sections={"kernels": OK}, **more)


def kernels(total_s: float) -> tuple[KernelRow, ...]:
    return (KernelRow(name="k", instances=2, total_s=total_s, avg_s=total_s / 2),)


def operators() -> tuple[OperatorRow, ...]:
    return (OperatorRow(name="aten::mm", calls=1, self_s=1.0, total_s=1.0),)


def test_rows_of_kernels_and_operators_arent_mixed() -> None:
    """They have other columns: operators only where no file has a kernel."""
    on_gpu, on_cpu = timeline("a", kernels=kernels(1.0), operators=operators()), timeline("b", operators=operators())
    assert [row["file"] for row in joined_rows([on_gpu, on_cpu]).rows] == ["a"]
    assert [row["name"] for row in joined_rows([on_cpu, on_cpu]).rows] == ["aten::mm", "aten::mm"]
    copies = timeline("c", copies=(CopyRow(kind="memset", count=1),))
    assert [row["file"] for row in joined_rows([copies, on_cpu]).rows] == ["b"]
    assert joined_rows([copies, copies]).rows == []


def test_files_of_one_name_have_their_paths() -> None:
    """Else nobody could tell them apart."""
    first = tables_of_files([timeline("a/t.json"), timeline("b/t.json")], 5)[0]
    assert [first.columns[0].get(row) for row in first.rows] == ["a/t.json", "b/t.json"]
    first = tables_of_files([timeline("a/t.json"), timeline("b/u.json")], 5)[0]
    assert [first.columns[0].get(row) for row in first.rows] == ["t.json", "u.json"]


def test_what_a_file_lacks_is_null() -> None:
    """Of several GPUs each has its own busy time: there is none of the file, and that is said."""
    one = Busy(start_ns=0, end_ns=9, span_s=1.0, busy_s=0.5, gaps=0, longest_gap_s=None, median_gap_s=None)
    gpus = tuple(DeviceRow(device=str(number), streams=1, events=1, busy=one) for number in range(2))
    whole = timeline("a", kernels=kernels(1.0), devices=gpus[:1], rank=0, steps=Steps(count=3, median_s=2.0))
    several = timeline("b", kernels=kernels(1.0), devices=gpus)
    table = tables_of_files([whole, several, unreadable(Path("c"), "x")], 5)[0]
    assert [[column.get(row) for column in table.columns] for row in table.rows] == [
        ["a", 0, "ok", 1.0, 2, 0.5, 2.0],
        ["b", None, "ok", 1.0, 2, None, None],
        ["c", None, "failed", None, None, None, None],
    ]
    assert table.notes == ["No busy share of a file with several GPUs (1): each GPU has its own."]
