"""Traces of torch.profiler in Kineto's layout."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from roofline.files.decoding import ReadError
from roofline.profilers.kineto import chrome_trace
from roofline.profilers.kineto import stream as trace_stream
from roofline.profilers.kineto.chrome_trace import read_trace
from roofline.profilers.timeline import OK, CopyRow, KernelRow, OperatorRow, Section, State, Steps, Timeline
from tests.roofline.profilers.traces import GEMM, document, event, events, on_gpu, write


@pytest.fixture
def whole(tmp_path: Path) -> Timeline:
    return read_trace(write(tmp_path / "a.json", document()))


def read(tmp_path: Path, traced: list[dict[str, Any]], **more: Any) -> Timeline:
    return read_trace(write(tmp_path / "a.json", document(traced, **more)))


def test_a_trace(whole: Timeline) -> None:
    """Kernels by name, copies by direction and by where the memory was, self times of operators, steps. Streams
    together are busy from 110 to 160.5, 180 to 190 and 195 to 200 of 110 to 200 microseconds; kernels alone run from
    120 to 160.5 and from 180 to 190.
    """
    us = pytest.approx
    gemm, other = whole.kernels
    assert (gemm.name, gemm.instances, gemm.total_s, gemm.avg_s) == (GEMM, 2, us(50.5e-6), us(25.25e-6))
    assert (gemm.med_s, gemm.min_s, gemm.max_s) == (us(25.25e-6), us(20.5e-6), us(30e-6))
    one = {name: us(10e-6) for name in ("total_s", "avg_s", "med_s", "min_s", "max_s")}
    assert other == KernelRow(name="vectorized_elementwise_kernel", instances=1, **one)
    assert [row.kind for row in whole.by_kind()] == ["gemm", "elementwise"]
    assert whole.gpu_time_s == us(60.5e-6)
    assert whole.copies == (
        CopyRow(kind="Host-to-Device (Pageable -> Device)", count=1, total_s=us(10e-6), byte=us(4096)),
        CopyRow(kind="memset", count=1, total_s=us(5e-6), byte=us(64)),
    )
    (row,) = whole.devices
    assert (row.device, row.streams, row.events) == ("0 NVIDIA A100-SXM4-40GB", 2, 5)
    assert (row.busy.span_s, row.busy.busy_s, row.kernel_busy_s) == (us(90e-6), us(65.5e-6), us(50.5e-6))
    assert (row.busy.gaps, row.busy.longest_gap_s) == (2, us(19.5e-6))
    assert whole.operators == (
        OperatorRow(name="aten::addmm", calls=1, self_s=us(10e-6), total_s=us(10e-6)),
        OperatorRow(name="aten::linear", calls=1, self_s=us(10e-6), total_s=us(20e-6)),
    )
    assert whole.steps == Steps(count=1, median_s=us(60e-6))
    assert (whole.rank, whole.schema, whole.tool, whole.layout) == (3, "1", "torch.profiler", "chrome_trace")
    assert set(whole.sections.values()) == {OK}
    assert (whole.state, whole.error, whole.notes) == ("ok", None, ())


BASE = 1_700_000_000_000_000
"""Microseconds since 1970."""


@pytest.mark.parametrize(
    ("traced", "shares"),
    [
        (
            [on_gpu("kernel", "k", 0, 10), on_gpu("kernel", "k", 90, 10), on_gpu("kernel", "k", 0, 50, device=1)],
            {"0 NVIDIA A100-SXM4-40GB": 0.2, "1": 1.0},
        ),
        # Merged traces give each rank's GPU a process of its own, and each calls it device 0.
        (
            [{**on_gpu("kernel", "k", 90 * rank, 10), "pid": f"[rank{rank}]"} for rank in (0, 1)],
            {"0 NVIDIA A100-SXM4-40GB ([rank0])": 1.0, "0 NVIDIA A100-SXM4-40GB ([rank1])": 1.0},
        ),
        # Kernels back to back leave no gap that isn't there.
        (
            [on_gpu("kernel", "k", BASE + 10 * step, 10) for step in range(100)],
            {"0 NVIDIA A100-SXM4-40GB": 1.0},
        ),
        # Of arguments that are strange the time is known; the device then is the process that the event is in.
        *(
            ([{**on_gpu("kernel", "k", 0, 10), "args": arguments}], {"0": 1.0})
            for arguments in ({"device": "zero"}, [], "x", None, 5)
        ),
        (
            [{**on_gpu("kernel", "k", 0, 10), "args": {"device": 0, "stream": None}}],
            {"0 NVIDIA A100-SXM4-40GB": 1.0},
        ),
    ],
)
def test_each_gpu_has_its_own_busy_time(tmp_path: Path, traced: list[dict[str, Any]], shares: dict[str, float]) -> None:
    """By its name, as far as the file has it."""
    rows = read(tmp_path, traced).devices
    assert {row.device: row.busy.share for row in rows} == pytest.approx(shares)
    assert [row.busy.gaps for row in rows if row.busy.share == 1] == [0 for share in shares.values() if share == 1]


_LEFT_OUT = "events left out: their start or duration is missing or impossible"


def launch(number: int, ts: float, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return event("cuda_runtime", name, ts, 4.0, args={"correlation": number})


_LAUNCHES = [launch(number, 10.0 * number) for number in range(1, 11)]
_CAPTURED = [
    launch(1, 0, "cudaStreamBeginCapture"),
    launch(2, 10),
    launch(3, 20, "cudaStreamEndCapture"),
    launch(4, 30, "cudaGraphLaunch"),
    launch(5, 40, "cudaMemcpyAsync"),
    launch(6, 50),
]
_MM = event("cpu_op", "aten::mm", 0.0, 9.0)
_NO_GPU = "nothing on a GPU was recorded: the program ran without one, or activities lacks ProfilerActivity.CUDA"


def kernels(numbers: range, shift: float) -> list[dict[str, Any]]:
    return [on_gpu("kernel", "k", 10.0 * number + shift, 8, correlation=number) for number in numbers]


@pytest.mark.parametrize(
    ("traced", "gpu_us", "section", "whole", "notes"),
    [
        ([_MM], None, ("skipped", "no event of kernel was recorded"), "ok", [_NO_GPU]),
        (
            [_MM, on_gpu("gpu_memcpy", "Memcpy DtoH", 0, 1)],
            None,
            ("skipped", "no event of kernel was recorded"),
            "partial",
            ["copies but no kernel on a GPU were recorded: was the profiler stopped before the GPU was done?"],
        ),
        # That kernels can't be summed up is no word about the profiler.
        (
            [{**on_gpu("kernel", "k", 0, 10), "ts": "soon"}, on_gpu("gpu_memset", "Memset (Device)", 0, 1, bytes=8)],
            None,
            ("failed", f"1 of 1 {_LEFT_OUT}"),
            "partial",
            [],
        ),
        *(
            (
                [*events(), {**on_gpu("kernel", GEMM, 120.0, 30.0), **broken}],
                60.5,
                ("partial", f"1 of 4 {_LEFT_OUT}"),
                "partial",
                [],
            )
            for broken in (
                {"dur": None},
                {"dur": -1},
                {"dur": 1e300},
                {"dur": "nan"},
                {"ts": "soon"},
                {"ts": None},
                {"ts": 1e300},
            )
        ),
        # A single event without a clock, among others in microseconds since 1970, is no start of all.
        (
            [on_gpu("kernel", "k", ts, 10) for ts in (0, BASE, BASE + 10)],
            20,
            ("partial", f"1 of 3 {_LEFT_OUT}"),
            "partial",
            [],
        ),
        ([on_gpu("kernel", "k", 5, 0)], 0, ("ok", None), "ok", []),
        # The GPU's buffer was too small, or the profiler stopped first: the others' time isn't all of it.
        (
            [*_LAUNCHES, *kernels(range(4, 11), 300)],
            56,
            ("partial", "3 of 10 launches have no kernel"),
            "partial",
            [],
        ),
        ([_MM, *_LAUNCHES], None, ("failed", "10 of 10 launches have no kernel: none was recorded"), "partial", []),
        # Captures and copies launch no kernel, and all kernels of a graph have the number of its launch.
        (
            [
                *_CAPTURED,
                *(on_gpu("kernel", "k", ts, 5, correlation=number) for ts, number in ((60, 4), (70, 4), (80, 6))),
            ],
            15,
            ("ok", None),
            "ok",
            [],
        ),
        (
            [*_LAUNCHES[:4], *kernels(range(1, 5), -3)],
            32,
            ("ok", None),
            "ok",
            ["4 of 4 kernels begin before their launch (clocks): host and GPU don't compare"],
        ),
        ([*_LAUNCHES[:4], *kernels(range(1, 5), 0)], 32, ("ok", None), "ok", []),
        # Where ranks use the same numbers, nothing is known of it.
        (
            [*_LAUNCHES[:4], *(launch(number, 5) for number in range(1, 5)), *kernels(range(1, 5), -3)],
            32,
            ("ok", None),
            "ok",
            [],
        ),
    ],
)
def test_kernels_that_are_not_all_there(
    tmp_path: Path,
    traced: list[dict[str, Any]],
    gpu_us: float | None,
    section: tuple[State, str | None],
    whole: State,
    notes: list[str],
) -> None:
    """Those that can be had have their time, and the section says what is missing: never a 0."""
    content = read(tmp_path, traced, deviceProperties=[])
    assert content.gpu_time_s == (None if gpu_us is None else pytest.approx(gpu_us * 1e-6))
    assert content.sections["kernels"] == Section(state=section[0], reason=section[1])
    assert (content.state, list(content.notes)) == (whole, notes)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            [event("mtia_runtime", "run", 10, 5), event("mtia_ccp_events", "fc", 20, 30)],
            ["events that are not read: mtia_ccp_events (1, 30 us)"],
        ),
        (
            [event("blink", "k", 20, 1.5), event("blink", "k", 30, 1)],
            ["events that are not read: blink (2, 2.5 us)"],
        ),
        ([event("cuda_runtime", "cudaFree", 0, 1)], []),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, more: list[dict[str, Any]], told: list[str]) -> None:
    """Nothing says then that the program ran without a GPU."""
    assert list(read(tmp_path, [_MM, *more]).notes) == told


def test_numbers_in_quotes_are_read(tmp_path: Path) -> None:
    """As some programs that rewrite a trace put them; the unit is that of numbers."""
    text = {"device": "0", "stream": "7", "correlation": "17", "bytes": "64"}
    traced = [
        {**on_gpu("kernel", "k", 0, 0), "ts": "1700000000001000.000", "dur": "100.000", "args": text},
        {**on_gpu("gpu_memcpy", "Memcpy HtoD", 0, 0), "ts": f"{BASE + 1110}.0", "dur": "50", "args": text},
    ]
    content = read(tmp_path, traced, displayTimeUnit="ns", distributedInfo=None)
    assert [(row.name, row.total_s) for row in content.kernels] == [("k", pytest.approx(100e-6))]
    assert content.copies == (CopyRow(kind="Host-to-Device", count=1, total_s=pytest.approx(50e-6), byte=64.0),)
    assert content.devices[0].busy.share == pytest.approx(150 / 160)
    assert content.rank is None


def test_a_copy_without_bytes_leaves_no_sum(tmp_path: Path) -> None:
    """One over some of the copies would look like that of all."""
    traced = [on_gpu("gpu_memcpy", "Memcpy HtoD", 1.0, 1.0, bytes=size) for size in (8, None)]
    content = read(tmp_path, traced)
    assert content.copies == (CopyRow(kind="Host-to-Device", count=2, total_s=2e-6, byte=None),)
    section = content.sections["memcpy"]
    assert section.state == "partial"
    assert "no bytes, for 1 of 2 events have none" in str(section.reason)


@pytest.mark.parametrize("number", ["nan", "NaN", "-nan", "inf", "-Infinity"])
def test_numbers_that_json_lacks_are_nothing(tmp_path: Path, number: str) -> None:
    """C++ prints them where an occupancy can't be had; the rest of the trace is sound."""
    path = write(tmp_path / "a.json", document([on_gpu("kernel", "k", 0, 10, occupancy=12345)]))
    path.write_text(path.read_text().replace("12345", number))
    assert read_trace(path).gpu_time_s == pytest.approx(10e-6)


def test_a_name_that_is_no_utf_8_is_read(tmp_path: Path) -> None:
    """A kernel's name is no reason to lose its time."""
    path = write(tmp_path / "a.json", document([on_gpu("kernel", "naXXme", 0, 10)]))
    path.write_bytes(path.read_bytes().replace(b"XX", b"\xff"))
    assert read_trace(path).kernels[0].name == "na\ufffdme"


def test_gzip_is_told_by_the_content(tmp_path: Path, whole: Timeline) -> None:
    """``tensorboard_trace_handler(use_gzip=True)`` names it .gz; a copy may be called anything."""
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(path.read_bytes()))
    packed = read_trace(path)
    assert (packed.kernels, packed.devices, packed.operators) == (whole.kernels, whole.devices, whole.operators)


@pytest.mark.parametrize("name", ["torch\\cuda\\__init__.py(2): f", "C:\\users\\new\\run.py(2): f", "a\\\\b"])
def test_backslashes_that_nobody_escaped(tmp_path: Path, name: str) -> None:
    """torch.profiler on Windows writes the paths of Python's files so; sound ones need no repair."""
    traced = [*events(), event("python_function", "NAME", 0, 5)]
    path = write(tmp_path / "a.json", document(traced))
    path.write_text(path.read_text().replace("NAME", name))
    content = read_trace(path)
    assert content.gpu_time_s == pytest.approx(60.5e-6)
    repaired = any(note.startswith("backslashes that nobody had escaped were repaired") for note in content.notes)
    assert repaired == ("\\\\" not in name)


@pytest.mark.parametrize("piece", [1, 7, 300])
def test_it_doesnt_matter_where_a_piece_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, whole: Timeline
) -> None:
    """Nor what stands in names: quotes, brackets, commas and backslashes of C++, and members in any order."""
    strange = ['f<{lambda}, {"a"}>(int[], x)', "ends in \\", 'a \\" {"ph": "X"}, {"', "\u00b5"]
    traced = [*events(), *(event("cpu_op", name, 1000 + 10 * place, 5) for place, name in enumerate(strange))]
    members = [*document(traced).items()]
    path = write(tmp_path / "a.json", dict(members[::-1]))
    monkeypatch.setattr(trace_stream, "_PIECE_BYTE", piece)
    content = read_trace(path)
    assert (content.kernels, content.devices, content.copies) == (whole.kernels, whole.devices, whole.copies)
    assert {row.name for row in content.operators} == {*(row.name for row in whole.operators), *strange}
    assert (content.rank, content.schema, content.state) == (3, "1", "ok")


def test_memory_doesnt_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small packed file may unpack to any size."""
    monkeypatch.setattr(trace_stream, "_PIECE_BYTE", 2**14)
    many = b'{"ph": "M", "name": "thread_name"},\n' * 200_000
    path = tmp_path / "a.json.gz"
    kernel = json.dumps(on_gpu("kernel", "k", 0, 10)).encode()
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + many + kernel + b"]}", 1))
    tracemalloc.start()
    try:
        content = read_trace(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert content.gpu_time_s == pytest.approx(10e-6)
    assert peak < len(many) / 2


def test_more_than_can_be_kept_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than taking all memory; so is an event without an end."""
    path = write(tmp_path / "a.json", document())
    monkeypatch.setattr(chrome_trace, "MOST", 5)
    assert "too long" in refusal(path)
    monkeypatch.setattr(trace_stream, "_PIECE_BYTE", 100)
    monkeypatch.setattr(trace_stream, "_LARGEST_BYTE", 1000)
    path.write_text('{"traceEvents": [\n{"ph": "X", "name": "' + "a" * 5000)
    assert "something in it doesn't end" in refusal(path)


def refusal(path: Path) -> str:
    with pytest.raises(ReadError) as refused:
        read_trace(path)
    assert str(refused.value).startswith(str(path))
    return str(refused.value)


def test_a_truncated_trace_is_refused(tmp_path: Path) -> None:
    """Half of the kernels would be half of the time."""
    path = write(tmp_path / "a.json", document())
    text = path.read_text()
    half = text[: len(text) // 2]
    path.write_text(half)
    told = refusal(path)
    assert told.startswith(f"{path}: truncated, the JSON ends in the middle.")
    assert told.endswith("export or copy it again.")


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    """Likewise."""
    path = tmp_path / "a.json.gz"
    packed = gzip.compress(json.dumps(document()).encode())
    for content in (packed[: len(packed) // 2], packed[:12], packed[:-8] + bytes(8), packed[:20] + bytes(40)):
        path.write_bytes(content)
        assert "its gzip ends in the middle or is damaged (" in refusal(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ": empty."),
        ("  \n", ": empty."),
        ("hello", ": no trace: it begins with 'hello', a trace with '{'"),
        ('{"traceEvents": []} x', ": not JSON (JSON is malformed: "),
        ('{"traceEvents": []]', ": not JSON (JSON is malformed: "),
        ('{"traceEvents":\n [}]}', ": not JSON (JSON is malformed: "),
        ("{}", ": JSON, but no trace (no list 'traceEvents')."),
        ('{"benchmarks": []}', ": JSON, but no trace (no list 'traceEvents')."),
        ('{"traceEvents": 5}', ": JSON, but no trace (no list 'traceEvents')."),
        ('{"traceEvents": [5]}', ": JSON, but not of the form of a trace ("),
        ("[]", ": a list of events, as other programs write it;"),
        ('[{"ph": "X", "cat": "kernel"}]', ": a list of events, as other programs write it;"),
        ('"text"', ": no trace: it begins with '\"text\"', a trace with '{'"),
        ('{"traceEvents": []}', ": a trace without an event that has a duration."),
        ('{"traceEvents": [{"ph": "M", "name": "x"}]}', ": a trace without an event that has a duration."),
        (
            '{"traceEvents": [{"ph": "X", "cat": "blink", "ts": 1, "dur": 2}]}',
            ": a Chrome trace, but not of torch.profiler",
        ),
        ('{"traceEvents": [{"ph": "X", "ts": 1, "dur": 2}]}', "Its categories: none."),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """With what is wrong, and what to give."""
    path = tmp_path / "a.json"
    path.write_text(text)
    assert told in refusal(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """With the system's reason, for one that is closed is to be opened."""
    assert f"{tmp_path}: can't be read (Is a directory)." in refusal(tmp_path)
