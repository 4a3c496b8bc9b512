"""Traces of torch.profiler in Kineto's layout."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.files.text import ReadError
from roofline.profilers.kineto import chrome_trace
from roofline.profilers.kineto import stream as trace_stream
from roofline.profilers.kineto.chrome_trace import read_trace
from roofline.profilers.timeline import OK, CopyRow, KernelRow, OperatorRow, Section, Steps, Timeline
from roofline.profilers.timeline_tables import records

GEMM = "ampere_sgemm_128x64_tn"


def event(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 4242, "tid": 4242, "ts": ts, "dur": dur, **more}


def on_gpu(
    category: str, name: str, ts: float, dur: float, *, device: int = 0, stream: int = 7, **arguments: Any
) -> dict[str, Any]:
    """As Kineto writes it: the process is the device, the thread the stream."""
    more = {"device": device, "context": 1, "stream": stream, "correlation": 17, **arguments}
    return {**event(category, name, ts, dur), "pid": device, "tid": stream, "args": more}


def events() -> list[dict[str, Any]]:
    """A step: an operator that calls another, two kernels that overlap on two streams, a copy and a fill."""
    return [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0.0, "args": {"name": "python"}},
        event("user_annotation", "ProfilerStep#2", 100.0, 60.0),
        event("cpu_op", "aten::linear", 100.0, 20.0, args={"External id": 1, "Sequence number": 3}),
        event("cpu_op", "aten::addmm", 105.0, 10.0),
        event("cuda_runtime", "cudaLaunchKernel", 106.0, 5.0, args={"correlation": 17}),
        on_gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 110.0, 10.0, bytes=4096),
        on_gpu("kernel", GEMM, 120.0, 30.0, grid=[1, 1, 1]),
        on_gpu("kernel", GEMM, 140.0, 20.5, stream=8),
        on_gpu("kernel", "vectorized_elementwise_kernel", 180.0, 10.0),
        on_gpu("gpu_memset", "Memset (Device)", 195.0, 5.0, bytes=64),
        on_gpu("gpu_user_annotation", "ProfilerStep#2", 110.0, 90.0),
        {"ph": "s", "id": 17, "pid": 4242, "tid": 4242, "ts": 106, "cat": "ac2g", "name": "ac2g"},
        event("overhead", "Activity Buffer Request", 100.0, 900.0),
        {"ph": "i", "s": "t", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "x", "ts": 100.0},
    ]


def document(traced: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "numSms": 108}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events() if traced is None else traced,
        "traceName": "trace.json",
        **more,
    }


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


@pytest.fixture
def whole(tmp_path: Path) -> Timeline:
    return read_trace(write(tmp_path / "a.json", document()))


def test_kernels(whole: Timeline) -> None:
    """Summed by name, in seconds: what runs on the host isn't counted again."""
    assert whole.kernels == (
        KernelRow(
            name=GEMM,
            instances=2,
            total_s=pytest.approx(50.5e-6),
            avg_s=pytest.approx(25.25e-6),
            med_s=pytest.approx(25.25e-6),
            min_s=pytest.approx(20.5e-6),
            max_s=pytest.approx(30e-6),
        ),
        KernelRow(
            name="vectorized_elementwise_kernel",
            instances=1,
            total_s=pytest.approx(10e-6),
            avg_s=pytest.approx(10e-6),
            med_s=pytest.approx(10e-6),
            min_s=pytest.approx(10e-6),
            max_s=pytest.approx(10e-6),
        ),
    )
    assert [row.kind for row in whole.by_kind()] == ["gemm", "elementwise"]
    assert whole.gpu_time_s == pytest.approx(60.5e-6)


def test_copies(whole: Timeline) -> None:
    """By direction and by where the memory was, with bytes; fills beside them."""
    assert whole.copies == (
        CopyRow(
            kind="Host-to-Device (Pageable -> Device)", count=1, total_s=pytest.approx(10e-6), byte=pytest.approx(4096)
        ),
        CopyRow(kind="memset", count=1, total_s=pytest.approx(5e-6), byte=pytest.approx(64)),
    )


def test_devices(whole: Timeline) -> None:
    """Busy from 110 to 160.5, 180 to 190 and 195 to 200 of 110 to 200 microseconds: streams together. Kernels alone ran
    from 120 to 160.5 and from 180 to 190.
    """
    (row,) = whole.devices
    assert (row.device, row.streams, row.events) == ("0 NVIDIA A100-SXM4-40GB", 2, 5)
    assert row.busy.span_s == pytest.approx(90e-6)
    assert row.busy.busy_s == pytest.approx(65.5e-6)
    assert row.kernel_busy_s == pytest.approx(50.5e-6)
    assert (row.busy.gaps, row.busy.longest_gap_s) == (2, pytest.approx(19.5e-6))


def test_operators(whole: Timeline) -> None:
    """Self times of the host's operators."""
    assert whole.operators == (
        OperatorRow(name="aten::addmm", calls=1, self_s=pytest.approx(10e-6), total_s=pytest.approx(10e-6)),
        OperatorRow(name="aten::linear", calls=1, self_s=pytest.approx(10e-6), total_s=pytest.approx(20e-6)),
    )


def test_the_rest(whole: Timeline) -> None:
    """Steps, rank, layout, and that all of it was read."""
    assert whole.steps == Steps(count=1, median_s=pytest.approx(60e-6))
    assert (whole.rank, whole.schema, whole.tool, whole.layout) == (3, "1", "torch.profiler", "chrome_trace")
    assert set(whole.sections.values()) == {OK}
    assert (whole.state, whole.error, whole.notes) == ("ok", None, ())


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_utf_16_is_read(tmp_path: Path, whole: Timeline, pack: Callable[[bytes], bytes]) -> None:
    """As PowerShell's ``>`` writes; what ends in the middle of a character is refused."""
    path = tmp_path / "a.json"
    text = path.read_text(encoding="utf-8").encode("utf-16")
    path.write_bytes(pack(text))
    assert read_trace(path) == whole
    path.write_bytes(pack(text[:-401]))
    assert "truncated, the JSON ends in the middle" in refusal(path)
    path.write_bytes(pack(text[:400] + b"\xdc\xdc" + text[402:]))
    assert "not UTF-16 text" in refusal(path)


def test_gzip_is_told_by_the_content(tmp_path: Path, whole: Timeline) -> None:
    """``tensorboard_trace_handler(use_gzip=True)`` names it .gz; a copy may be called anything."""
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(path.read_bytes()))
    packed = read_trace(path)
    assert (packed.kernels, packed.devices, packed.operators) == (whole.kernels, whole.devices, whole.operators)


def test_several_gpus(tmp_path: Path) -> None:
    """Each with its own busy time."""
    traced = [on_gpu("kernel", "k", 0, 10), on_gpu("kernel", "k", 90, 10), on_gpu("kernel", "k", 0, 50, device=1)]
    rows = read_trace(write(tmp_path / "a.json", document(traced))).devices
    assert [(row.device, row.busy.share) for row in rows] == [
        ("0 NVIDIA A100-SXM4-40GB", pytest.approx(0.2)),
        ("1", 1.0),
    ]


def test_several_ranks_in_one_file(tmp_path: Path) -> None:
    """Merged traces give each rank's GPU a process of its own, and each calls it device 0."""
    traced = [
        {**on_gpu("kernel", "k", 0, 10), "pid": "[rank0] GPU 0"},
        {**on_gpu("kernel", "k", 90, 10), "pid": "[rank1] GPU 0"},
    ]
    rows = read_trace(write(tmp_path / "a.json", document(traced, deviceProperties=[]))).devices
    assert [(row.device, row.busy.share) for row in rows] == [("0 ([rank0] GPU 0)", 1.0), ("0 ([rank1] GPU 0)", 1.0)]


def test_a_trace_of_a_cpu(tmp_path: Path) -> None:
    """Its operators are all there is to read: whole, with a note that no GPU was seen."""
    traced = [event("cpu_op", "aten::mm", 0.0, 10.0)]
    content = read_trace(write(tmp_path / "a.json", document(traced, deviceProperties=[], distributedInfo=None)))
    assert (content.state, content.gpu_time_s, content.devices, content.rank) == ("ok", None, (), None)
    assert content.sections["kernels"] == Section(state="skipped", reason="no event of kernel was recorded")
    assert content.notes == (
        "nothing on a GPU was recorded: the program ran without one, or activities lacks ProfilerActivity.CUDA",
    )


def test_copies_without_a_kernel_are_partial(tmp_path: Path) -> None:
    """Kernels that are missing are no 0 s of kernels."""
    traced = [event("cpu_op", "aten::mm", 0.0, 10.0), on_gpu("gpu_memcpy", "Memcpy DtoH", 0, 1)]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert (content.state, content.gpu_time_s) == ("partial", None)
    assert content.copies == (CopyRow(kind="Device-to-Host", count=1, total_s=pytest.approx(1e-6), byte=None),)
    assert content.notes[0].startswith("copies but no kernel on a GPU were recorded")


def test_categories_had_other_names(tmp_path: Path) -> None:
    """Until torch 1.12."""
    traced = [
        event("Operator", "aten::mm", 0, 10),
        on_gpu("Kernel", "k", 0, 10),
        on_gpu("Memcpy", "Memcpy HtoD (Host -> Device)", 10, 5, bytes=8),
        on_gpu("Memset", "Memset (Device)", 15, 5),
    ]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert [row.name for row in content.kernels] == ["k"]
    assert [row.kind for row in content.copies] == ["Host-to-Device (Host -> Device)", "memset"]
    assert [row.name for row in content.operators] == ["aten::mm"]


def test_microseconds_since_1970_keep_their_nanoseconds_apart(tmp_path: Path) -> None:
    """Starts are taken from the first event on: kernels back to back leave no gap that isn't there."""
    base = 1_700_000_000_000_000
    traced = [on_gpu("kernel", "k", base + 10 * step, 10) for step in range(100)]
    (row,) = read_trace(write(tmp_path / "a.json", document(traced))).devices
    assert (row.busy.share, row.busy.gaps) == (1.0, 0)


def test_one_event_at_0_is_no_start(tmp_path: Path) -> None:
    """A single event without a clock, among others in microseconds since 1970, is left out and counted."""
    base = 1_700_000_000_000_000
    traced = [on_gpu("kernel", "k", ts, 10) for ts in (0, base, base + 10)]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert content.devices[0].busy.span_s == pytest.approx(20e-6)
    assert content.sections["kernels"] == Section(
        state="partial", reason="1 of 3 events left out: their start or duration is missing or impossible"
    )


@pytest.mark.parametrize(
    "broken", [{"dur": None}, {"dur": -1}, {"ts": "soon"}, {"ts": None}, {"dur": 1e300}, {"dur": "nan"}, {"ts": 1e300}]
)
def test_events_without_usable_times_are_left_out_and_counted(tmp_path: Path, broken: dict[str, Any]) -> None:
    """The others stand; the section says how many are missing."""
    traced = [*events(), {**on_gpu("kernel", GEMM, 120.0, 30.0), **broken}]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert content.gpu_time_s == pytest.approx(60.5e-6)
    assert content.sections["kernels"].state == "partial"
    assert content.sections["operators"] == OK
    assert content.state == "partial"


def test_numbers_as_text_are_read(tmp_path: Path) -> None:
    """Some programs that rewrite a trace put them into quotes; the unit is that of numbers."""
    text = {"device": "0", "stream": "7", "correlation": "17", "bytes": "64"}
    traced = [
        {**on_gpu("kernel", "k", 0, 0), "ts": "1700000000001000.000", "dur": "100.000", "args": text},
        {**on_gpu("gpu_memcpy", "Memcpy HtoD", 0, 0), "ts": "1700000000001110.000", "dur": "50", "args": text},
    ]
    content = read_trace(write(tmp_path / "a.json", document(traced, displayTimeUnit="ns")))
    assert content.gpu_time_s == pytest.approx(100e-6)
    assert content.copies == (CopyRow(kind="Host-to-Device", count=1, total_s=pytest.approx(50e-6), byte=64),)
    assert content.devices[0].busy.share == pytest.approx(150 / 160)


def test_kernels_without_usable_times_were_recorded(tmp_path: Path) -> None:
    """That they can't be summed up is no word about the profiler."""
    traced = [{**on_gpu("kernel", "k", 0, 10), "ts": "soon"}, on_gpu("gpu_memset", "Memset (Device)", 0, 1, bytes=8)]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert content.sections["kernels"].state == "failed"
    assert content.notes == ()


def launch(number: int, ts: float, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return event("cuda_runtime", name, ts, 4.0, args={"correlation": number})


def test_launches_without_a_kernel(tmp_path: Path) -> None:
    """The GPU's buffer was too small, or the profiler stopped first: the others' time isn't all of it."""
    calls = [launch(number, 10.0 * number) for number in range(1, 11)]
    kernels = [on_gpu("kernel", "k", 300 + 30 * number, 20, correlation=number) for number in range(4, 11)]
    content = read_trace(write(tmp_path / "a.json", document([*calls, *kernels])))
    assert content.sections["kernels"] == Section(state="partial", reason="3 of 10 launches have no kernel")
    assert (content.state, content.gpu_time_s) == ("partial", pytest.approx(140e-6))
    lost = read_trace(write(tmp_path / "b.json", document([event("cpu_op", "aten::mm", 0, 9), *calls])))
    assert lost.sections["kernels"].state == "failed"
    assert "10 of 10 launches have no kernel" in str(lost.sections["kernels"].reason)
    assert (lost.state, lost.notes) == ("partial", ())


def test_calls_that_launch_nothing_of_their_own(tmp_path: Path) -> None:
    """While a graph is captured, or for a copy; and all kernels of a graph have the number of its launch."""
    calls = [
        launch(1, 0, "cudaStreamBeginCapture"),
        launch(2, 10),
        launch(3, 20, "cudaStreamEndCapture"),
        launch(4, 30, "cudaGraphLaunch"),
        launch(5, 40, "cudaMemcpyAsync"),
        launch(6, 50),
    ]
    kernels = [on_gpu("kernel", "k", ts, 5, correlation=number) for ts, number in ((60, 4), (70, 4), (80, 6))]
    content = read_trace(write(tmp_path / "a.json", document([*calls, *kernels])))
    assert content.sections["kernels"] == OK
    assert content.notes == ()


def test_kernels_that_begin_before_their_launch(tmp_path: Path) -> None:
    """The clocks of host and GPU disagree. Where ranks use the same numbers, nothing is known of it."""
    calls = [launch(number, 10.0 * number) for number in range(1, 5)]
    kernels = [on_gpu("kernel", "k", 10.0 * number - 3, 8, correlation=number) for number in range(1, 5)]
    content = read_trace(write(tmp_path / "a.json", document([*calls, *kernels])))
    assert content.notes[0].startswith("4 of 4 kernels begin before their launch (clocks)")
    assert content.sections["kernels"] == OK
    ranks = [*calls, *(launch(number, 5) for number in range(1, 5)), *kernels]
    assert read_trace(write(tmp_path / "b.json", document(ranks))).notes == ()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            [event("mtia_runtime", "run", 10, 5), event("mtia_ccp_events", "fc", 20, 30)],
            ("events that are not read: mtia_ccp_events (1, 30 us)",),
        ),
        (
            [event("cuda_profiler_range", "k", 20, 1.5), event("cuda_profiler_range", "k", 30, 1)],
            ("events that are not read: cuda_profiler_range (2, 2.5 us)",),
        ),
        ([event("Blink", "b", 20, 30)], ("events that are not read: blink (1, 30 us)",)),
        ([event("cuda_runtime", "cudaFree", 0, 1)], ()),
    ],
)
def test_what_is_not_read_is_named(tmp_path: Path, more: list[dict[str, Any]], told: tuple[str, ...]) -> None:
    """Nothing says then that the program ran without a GPU."""
    path = write(tmp_path / "a.json", document([event("cpu_op", "aten::mm", 0, 10), *more]))
    assert read_trace(path).notes == told


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
    monkeypatch.setattr(chrome_trace, "_MOST_BYTE", 1000)
    assert "too long" in refusal(path)
    monkeypatch.setattr(trace_stream, "_PIECE_BYTE", 100)
    monkeypatch.setattr(trace_stream, "_LARGEST_BYTE", 1000)
    path.write_text('{"traceEvents": [\n{"ph": "X", "name": "' + "a" * 5000)
    assert f"{path}:2: what begins here doesn't end" in refusal(path)


@pytest.mark.parametrize("arguments", [{"device": "zero"}, {"stream": None}, [], "x", None, 5])
def test_strange_arguments_dont_lose_the_kernel(tmp_path: Path, arguments: Any) -> None:
    """Its time is known; its device then is the process that the event is in."""
    traced = [{**on_gpu("kernel", "k", 0, 10), "args": arguments}]
    content = read_trace(write(tmp_path / "a.json", document(traced)))
    assert content.gpu_time_s == pytest.approx(10e-6)
    assert content.devices[0].busy.share == 1.0


@pytest.mark.parametrize("number", ["nan", "NaN", "-nan", "inf", "-Infinity"])
def test_numbers_that_json_lacks_are_nothing(tmp_path: Path, number: str) -> None:
    """C++ prints them where an occupancy can't be had; the rest of the trace is sound."""
    path = write(tmp_path / "a.json", document([on_gpu("kernel", "k", 0, 10, occupancy=12345)]))
    path.write_text(path.read_text().replace("12345", number))
    assert read_trace(path).gpu_time_s == pytest.approx(10e-6)


def test_names_that_are_no_utf_8_are_read(tmp_path: Path) -> None:
    """A kernel's name is no reason to lose its time."""
    path = write(tmp_path / "a.json", document([on_gpu("kernel", "naXXme", 0, 10)]))
    path.write_bytes(path.read_bytes().replace(b"XX", b"\xff"))
    assert read_trace(path).kernels[0].name == "na\ufffdme"


def refusal(path: Path) -> str:
    with pytest.raises(ReadError) as refused:
        read_trace(path)
    assert str(refused.value).startswith(str(path))
    return str(refused.value)


def test_a_truncated_trace_is_refused(tmp_path: Path) -> None:
    """With the line in which it ends: half of the kernels would be half of the time."""
    path = write(tmp_path / "a.json", document())
    text = path.read_text()
    half = text[: len(text) // 2]
    path.write_text(half)
    told = refusal(path)
    assert told.startswith(f"{path}:{half.count(chr(10)) + 1}: truncated, the JSON ends in the middle.")
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
        ('{"traceEvents": []} x', ":1: not JSON (JSON is malformed: "),
        ('{"traceEvents": [{"ph": "M"},]}', ":1: not JSON (JSON is malformed: "),
        ('{"traceEvents": []]', ":1: not JSON (JSON is malformed: "),
        ('{"traceEvents":\n [}]}', ":2: not JSON (JSON is malformed: "),
        ("{}", ": JSON, but no trace (no list 'traceEvents')."),
        ('{"benchmarks": []}', ": JSON, but no trace (no list 'traceEvents')."),
        ('{"traceEvents": 5}', ": JSON, but not of the form of a trace ("),
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
    """With the system's reason, for one that is closed is to be opened; and so is a pipe, which might never end."""
    assert f"{tmp_path}: can't be read (Is a directory)." in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refusal(tmp_path / "pipe")


@pytest.mark.parametrize("size", [1.7e308, 2**53 + 2, -1])
def test_bytes_that_cant_be_are_told(tmp_path: Path, size: float) -> None:
    """Two of the largest floats have no sum; nor is any number beyond 9 PB one of bytes that were copied."""
    traced = [on_gpu("gpu_memcpy", "Memcpy HtoD", place, 1.0, bytes=size) for place in (1.0, 2.0)]
    read = read_trace(write(tmp_path / "a.json", document(traced)))
    assert read.copies == (CopyRow(kind="Host-to-Device", count=2, total_s=2e-6, byte=None),)
    section = read.sections["memcpy"]
    assert section.state == "partial"
    assert f"2 of 2 events have no args.bytes from 0 to {2**53} (the first of them, at ts 1.0" in str(section.reason)


def outcome(path: Path) -> Timeline | str:
    """What was read, or why nothing was."""
    try:
        return read_trace(path)
    except ReadError as error:
        return str(error)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_give_no_traceback(tmp_path: Path, data: st.DataObject) -> None:
    """Anywhere, in plain and packed traces: numbers, or a message with the file."""
    content = bytearray(json.dumps(document()).encode())
    if data.draw(st.booleans()):
        content = bytearray(gzip.compress(bytes(content)))
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "a.json"
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, 3]))])
    read = outcome(path)
    assert isinstance(read, Timeline) or read.startswith(str(path))


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([1.7e308, -1.7e308, 5e-324, 2**53, 2**53 + 1, 2**63, 10**400]),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_values_give_no_traceback_and_no_silent_0(tmp_path: Path, data: st.DataObject) -> None:
    """In any field of any event, or of the file: it counts, or it is told that it doesn't."""
    traced = events()
    for _ in range(data.draw(st.integers(1, 4))):
        one = data.draw(st.sampled_from(traced))
        place = one["args"] if data.draw(st.booleans()) and isinstance(one.get("args"), dict) else one
        place[data.draw(st.sampled_from(["ph", "ts", "dur", "pid", "tid", "args", "device", "stream", "bytes"]))] = (
            data.draw(_VALUES)
        )
    more = {data.draw(st.sampled_from(["deviceProperties", "distributedInfo", "schemaVersion"])): data.draw(_VALUES)}
    read = outcome(write(tmp_path / "a.json", document(traced, **more)))
    if isinstance(read, str):
        return
    complete = sum(one.get("ph") == "X" and one.get("cat") == "kernel" for one in traced)
    counted = sum(row.instances for row in read.kernels)
    assert counted == complete or read.sections["kernels"].state in ("partial", "failed")
    assert (read.gpu_time_s is None) == (counted == 0)
    assert read.sections["memcpy"].state != "ok" or None not in {row.byte for row in read.copies}
    json.dumps(records(read), allow_nan=False)
