"""nsys's SQLite export: kernels, copies, busy time of each GPU, DRAM traffic."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from roofline.files.decoding import ReadError
from roofline.profilers.nsys.export_timeline import read_export
from roofline.profilers.timeline import OK, KernelRow, Section, State, Timeline
from tests.roofline.profilers import nsys_build as build

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

GEMM, OTHER = "ampere_sgemm_128x64_tn", "vectorized_elementwise_kernel"
A100 = "NVIDIA A100-SXM4-40GB"

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def usual() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Three launches of two kernels on two streams that overlap, a copy each way and a fill."""
    return {
        KERNELS: [
            build.kernel(1000, 3000),
            build.kernel(2000, 6000, stream=8),
            build.kernel(8000, 9000, name=2),
        ],
        COPIES: [build.copy(0, 500, 4_194_304), build.copy(9500, 10_000, 1000, kind=2)],
        FILLS: [build.fill(500, 1000, 64)],
    }


def read(tmp_path: Path, rows: Rows, **more: Any) -> Timeline:
    return read_export(build.write(tmp_path / "a.sqlite", rows, **more))


def test_kernels_copies_and_busy_time(tmp_path: Path) -> None:
    """Kernels by name, copies by direction, and a GPU that is busy while anything runs on it: 0 to 6000, 8000 to 9000
    and 9500 to 10000 of 10000 ns.
    """
    content = read(tmp_path, usual())
    one = dict.fromkeys(("total_s", "avg_s", "med_s", "min_s", "max_s"), 1e-06)
    assert content.kernels == (
        KernelRow(name=GEMM, instances=2, total_s=6e-6, avg_s=3e-6, med_s=3e-6, min_s=2e-6, max_s=4e-6),
        KernelRow(name=OTHER, instances=1, **one),
    )
    assert [row.kind for row in content.kernels] == ["gemm", "elementwise"]
    assert content.gpu_time_s == pytest.approx(7e-6)
    assert {(row.kind, row.count, row.byte) for row in content.copies} == {
        ("Host-to-Device", 1, 4_194_304.0),
        ("Device-to-Host", 1, 1000.0),
        ("memset", 1, 64.0),
    }
    assert [row.total_s for row in content.copies] == [pytest.approx(5e-7)] * 3
    assert content.copies[0].byte_per_s == pytest.approx(4_194_304 / 5e-7)
    (row,) = content.devices
    assert (row.device, row.streams, row.events) == ("0", 3, 6)
    assert (row.busy.span_s, row.busy.busy_s) == (pytest.approx(10e-6), pytest.approx(7.5e-6))
    assert (row.kernel_busy_s, row.busy.share) == (pytest.approx(6e-6), pytest.approx(0.75))
    assert (row.busy.gaps, row.busy.longest_gap_s) == (2, pytest.approx(2e-6))
    assert (content.schema, content.tool) == ("3.24.14", "Nsight Systems 2026.1.1.204")
    assert content.sections["kernels"] == OK
    assert (content.state, content.error, content.notes) == ("ok", None, ())


def test_directions_have_the_names_of_the_export(tmp_path: Path) -> None:
    """Where it has their table; a number that nobody knows is shown as it is."""
    rows = {
        COPIES: [build.copy(0, 1, 8, kind=11), build.copy(0, 1, 8, kind=77)],
        "ENUM_CUDA_MEMCPY_OPER": [{"id": 11, "name": "CUDA_MEMCPY_KIND_UVM_HTOD", "label": "Unified Host-to-Device"}],
    }
    assert {row.kind for row in read(tmp_path, rows).copies} == {"Unified Host-to-Device", "kind 77"}


_TWO = [build.A100, {**build.A100, "id": 1, "name": "Tesla T4"}]
_UNSURE = (
    "2 processes called a GPU 0, and the export doesn't tell whether it was the same one: they are taken together",
)


@pytest.mark.parametrize(
    ("kernels", "gpus", "devices", "shares", "notes"),
    [
        (
            [build.kernel(0, 10), build.kernel(10, 20, device=1), build.kernel(20, 30)],
            _TWO,
            [(0, 0, build.PID), (1, 1, build.PID)],
            {f"0 {A100}": 2 / 3, "1 Tesla T4": 1.0},
            (),
        ),
        # With CUDA_VISIBLE_DEVICES each process may call its own GPU 0: the export says which that is.
        (
            [build.kernel(0, 10, pid=1), build.kernel(90, 100, pid=2)],
            _TWO,
            [(0, 0, 1), (1, 0, 2)],
            {f"0 {A100}": 1.0, "1 Tesla T4": 1.0},
            (),
        ),
        ([build.kernel(0, 10, pid=1), build.kernel(90, 100, pid=2)], [], [], {"0": 0.2}, _UNSURE),
        # Without the table of processes a machine of one GPU leaves no doubt.
        ([build.kernel(0, 10)], _TWO[:1], [], {f"0 {A100}": 1.0}, ()),
    ],
)
def test_each_gpu_has_its_own_time(
    tmp_path: Path,
    kernels: list[dict[str, Any]],
    gpus: list[dict[str, Any]],
    devices: list[tuple[int, int, int]],
    shares: dict[str, float],
    notes: tuple[str, ...],
) -> None:
    """Those that can't be told apart are taken together, with a note."""
    known = [{"gpuId": gpu, "cudaId": own, "pid": pid} for gpu, own, pid in devices]
    content = read(tmp_path, {KERNELS: kernels, "TARGET_INFO_GPU": gpus, "TARGET_INFO_CUDA_DEVICE": known})
    assert {row.device: row.busy.share for row in content.devices} == pytest.approx(shares)
    assert content.notes == notes


def test_copies_keep_a_gpu_busy_without_kernels(tmp_path: Path) -> None:
    """Of each GPU the kernels have a share of their own beside that of all work."""
    rows = {
        KERNELS: [build.kernel(0, 23_000)],
        COPIES: [build.copy(23_000, 1_000_000, 25_000_000), build.copy(0, 500, 64, device=1)],
    }
    first, second = read(tmp_path, rows).devices
    assert (first.busy.share, first.kernel_share) == (1.0, pytest.approx(0.023))
    assert first.kernel_busy_s == pytest.approx(23e-6)
    assert (second.busy.share, second.kernel_share) == (1.0, 0.0)


def test_a_cut_off_export_is_refused(tmp_path: Path) -> None:
    """As a copy that was stopped."""
    path = build.write(tmp_path / "a.sqlite", usual())
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(ReadError, match=r"can't be read \(.*Is the copy complete"):
        read_export(path)


@pytest.mark.parametrize("broken", [{"start": "soon"}, {"end": None}, {"end": 999}])
def test_a_damaged_row_refuses_the_export(tmp_path: Path, broken: dict[str, Any]) -> None:
    """A sum without it would look like that of all."""
    loose = {KERNELS: build.KERNEL.replace(" NOT NULL", "").replace(" INTEGER", "")}
    with pytest.raises(ReadError, match=r"can't be read \(.*Export it again"):
        read(tmp_path, {KERNELS: [build.kernel(1000, 3000), {**build.kernel(1000, 3000), **broken}]}, tables=loose)


def test_an_export_that_another_program_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another export is no remedy: the program has to be done with it."""
    path = build.write(tmp_path / "a.sqlite", usual())
    connect = sqlite3.connect
    with closing(connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, timeout=0))
        with pytest.raises(ReadError, match="close the program that has it open") as refused:
            read_export(path)
    assert "export it again" not in str(refused.value).lower()


def test_more_columns_in_between_change_nothing(tmp_path: Path) -> None:
    """Columns are taken by name: an upgrade of nsys that adds some gives the same totals."""
    more = {
        KERNELS: "before TEXT, end INTEGER, x INTEGER, demangledName INTEGER, start INTEGER, y REAL, streamId INTEGER,"
        " globalPid INTEGER, deviceId INTEGER, contextId INTEGER, shortName INTEGER, correlationId INTEGER",
        COPIES: "copyKind INTEGER, x TEXT, bytes INTEGER, end INTEGER, start INTEGER, streamId INTEGER,"
        " deviceId INTEGER, contextId INTEGER, globalPid INTEGER, correlationId INTEGER",
    }
    plain = read(tmp_path, usual())
    other = read_export(build.write(tmp_path / "b.sqlite", usual(), tables=more))
    assert (other.kernels, other.copies, other.devices) == (plain.kernels, plain.copies, plain.devices)


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ("3.28.9", None),
        ("3.29", "schema 3.29 is newer than 3.28, the newest looked at: columns were taken by their names"),
        (None, "the export doesn't say which schema it has: columns were taken by their names"),
    ],
)
def test_a_schema_that_is_read(tmp_path: Path, schema: str | None, note: str | None) -> None:
    """One that nobody has looked at with a note."""
    content = read(tmp_path, usual(), schema=schema)
    assert (content.schema, content.notes) == (schema, () if note is None else (note,))
    assert content.gpu_time_s == pytest.approx(7e-6)


@pytest.mark.parametrize("schema", ["", "3", "three", "2.7.1", "4.0", "3.x.1", "-3.1.0", "33333333333333333.0"])
def test_what_is_no_known_schema_is_refused(tmp_path: Path, schema: str) -> None:
    """Other majors and nonsense alike."""
    with pytest.raises(ReadError, match=f"unknown schema {schema}"):
        read(tmp_path, usual(), schema=schema)


@pytest.mark.parametrize("schema", [build.SCHEMA, None])
@pytest.mark.parametrize(
    "rows",
    [{}, {KERNELS: []}, {KERNELS: [], GRAPHS: []}, {COPIES: [build.copy(0, 10, 8)]}],
    ids=["lazy", "empty", "all", "copies"],
)
def test_a_capture_without_a_kernel_is_an_error(tmp_path: Path, rows: Rows, schema: str | None) -> None:
    """nsys exits with 0 and writes a file: nothing in it says that the GPU did nothing, so its time is null, not 0.
    What was copied can be had.
    """
    content = read(tmp_path, rows, schema=schema)
    assert (content.error, content.gpu_time_s, content.kernels) == ("empty_capture", None, ())
    assert (content.state, [row.byte for row in content.copies]) == (
        ("partial", [8.0]) if COPIES in rows else ("skipped", [])
    )
    section = content.sections["kernels"]
    assert section.state == "skipped"
    assert "--trace=cuda" in str(section.reason)


@pytest.mark.parametrize(
    ("rows", "said", "passed_on"),
    [
        ({}, "Number of incomplete CUPTI events dropped: 12.", True),
        ({}, "Hardware tracing used\n for CUDA tracing", True),
        ({}, "Process 1", False),
        (usual(), "Not all NVTX events might have been collected.", True),
        (usual(), "CUDA device 0: Unified Memory trace is off", False),
    ],
)
def test_what_nsys_says_of_losses_is_passed_on(tmp_path: Path, rows: Rows, said: str, passed_on: bool) -> None:
    """Sums are too small then. Of an empty capture its messages about CUDA are the best hint at why."""
    messages = [{"timestamp": 0, "severity": 2, "text": said}]
    content = read(tmp_path, {**rows, "DIAGNOSTIC_EVENT": messages})
    assert content.notes == ((f"nsys said: {' '.join(said.split())}",) if passed_on else ())


_NODES = "Profile with --cuda-graph-trace=node to see the kernels in them."


@pytest.mark.parametrize(
    ("rows", "kernels", "section", "whole"),
    [
        # Each launch of a graph is one block: the GPU was busy, and which kernels ran can't be had.
        (
            {KERNELS: [], GRAPHS: [build.graph(start, start + 500) for start in range(0, 10_000, 1000)]},
            {},
            ("skipped", f"graph launches seen, no node detail (10 of them, 5.00 µs). {_NODES}"),
            "partial",
        ),
        (
            {KERNELS: [build.kernel(0, 2000)], GRAPHS: [build.graph(20_000, 30_000)]},
            {GEMM: 2e-6},
            (
                "partial",
                "shown are the kernels outside of graphs: graph launches seen, no node detail (1 of them, 10.0 µs)."
                f" {_NODES}",
            ),
            "partial",
        ),
        ({KERNELS: [build.kernel(20, 20)]}, {GEMM: 0.0}, ("ok", None), "ok"),
        ({KERNELS: [build.kernel(0, 2000, name=5)]}, {"(string 5)": 2e-6}, ("ok", None), "ok"),
    ],
)
def test_kernels_that_are_not_all_there(
    tmp_path: Path,
    rows: Rows,
    kernels: dict[str, float],
    section: tuple[State, str | None],
    whole: State,
) -> None:
    """Those that can be had have their time, and the section says what is missing: never a 0, never an empty capture.

    :param kernels: time by name.
    """
    content = read(tmp_path, rows)
    assert {row.name: row.total_s for row in content.kernels} == pytest.approx(kernels)
    state, reason = section
    assert content.sections["kernels"] == Section(state=state, reason=reason)
    assert (content.state, content.error, content.gpu_time_s is None) == (whole, None, not kernels)


def test_graphs_keep_a_gpu_busy(tmp_path: Path) -> None:
    """For how long kernels ran in them isn't known."""
    (row,) = read(tmp_path, {GRAPHS: [build.graph(0, 500), build.graph(1000, 1500)]}).devices
    assert (row.busy.busy_s, row.kernel_busy_s, row.kernel_share) == (pytest.approx(1e-6), None, None)


def test_a_column_that_is_gone(tmp_path: Path) -> None:
    """nsys itself can still sum it up."""
    with pytest.raises(ReadError, match=r"unknown schema in which there is no such column: deviceId.*nsys stats"):
        read(tmp_path, {KERNELS: [{"start": 0, "end": 10}]}, tables={KERNELS: "start INTEGER, end INTEGER"})


def test_a_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are no reason to lose the numbers."""
    path = build.write(tmp_path / "a.sqlite", usual())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE StringIds SET value = CAST(x'6b65726eff' AS TEXT) WHERE id = 1")
        connection.commit()
    assert read_export(path).kernels[0].name == "kern\ufffd"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["CREATE TABLE runs (id INTEGER)"], "no export of nsys (its tables: runs)"),
        (["CREATE VIEW v AS SELECT 1"], "no export of nsys (its tables: none)"),
        (
            ["CREATE TABLE StringTable (x)", f"CREATE TABLE {KERNELS} (start, end, name)"],
            "no export of nsys (its tables: StringTable, ",
        ),
    ],
)
def test_other_databases_are_refused(tmp_path: Path, statements: list[str], told: str) -> None:
    """With their tables, and what to give."""
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    with pytest.raises(ReadError) as refused:
        read_export(path)
    assert told in str(refused.value)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    """Neither the file nor the folder, which may be read-only."""
    path = build.write(tmp_path / "a b#?%.sqlite", usual())
    before = path.read_bytes()
    read_export(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a b#?%.sqlite"]


NAMES = "TARGET_INFO_GPU_METRICS"
SAMPLES = "GPU_METRICS"
BOTH = ("DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]")
PEAK = 1_555_200_000_000


def with_samples(**more: Sequence[Mapping[str, Any]]) -> Rows:
    """A GPU that works from 1000 to 5000 ns, and reads at 40 % and writes at 10 % of its peak meanwhile."""
    at = {0: (0, 0), 1500: (30, 10), 2500: (50, 10), 6000: (0, 0)}
    return {
        KERNELS: [build.kernel(1000, 5000)],
        "TARGET_INFO_GPU": [build.A100],
        NAMES: build.metrics(BOTH),
        SAMPLES: build.samples(at),
        **more,
    }


@pytest.mark.parametrize(
    "names",
    [
        BOTH,
        ("DRAM Read Bandwidth", "DRAM Write Bandwidth"),
        ("DRAM Read Throughput [Throughput %]", "DRAM Write Throughput [Throughput %]"),
    ],
)
def test_dram_rates_are_those_while_there_was_work(tmp_path: Path, names: tuple[str, str]) -> None:
    """The mean of the samples in the span of its kernels, times the peak that the driver tells. Early versions named no
    unit, other chips say throughput.
    """
    content = read(tmp_path, with_samples(**{NAMES: build.metrics(names)}))
    (row,) = content.dram
    assert (row.device, row.samples, row.window_s) == (f"0 {A100}", 2, pytest.approx(4e-6))
    assert (row.read_share, row.write_share) == (pytest.approx(0.4), pytest.approx(0.1))
    assert (row.read_byte_per_s, row.write_byte_per_s) == (pytest.approx(0.4 * PEAK), pytest.approx(0.1 * PEAK))
    assert row.resolution_byte_per_s == pytest.approx(0.01 * PEAK)
    assert (content.sections["dram"], content.notes) == (OK, ())


def test_each_gpu_has_its_own_window_and_peak(tmp_path: Path) -> None:
    """Samples of the second GPU don't go into the first one's mean."""
    rows = with_samples(
        CUPTI_ACTIVITY_KIND_KERNEL=[build.kernel(1000, 5000), build.kernel(5500, 6500, device=1)],
        TARGET_INFO_GPU=[build.A100, {**build.A100, "id": 1, "name": "Tesla T4", "memoryBandwidth": 320_000_000_000}],
        TARGET_INFO_CUDA_DEVICE=[{"gpuId": gpu, "cudaId": gpu, "pid": build.PID} for gpu in (0, 1)],
        TARGET_INFO_GPU_METRICS=[*build.metrics(BOTH), *build.metrics(BOTH, gpu=1)],
        GPU_METRICS=[*build.samples({2000: (40, 10)}), *build.samples({2000: (99, 99), 6000: (80, 20)}, gpu=1)],
    )
    first, second = read(tmp_path, rows).dram
    assert (first.read_share, first.samples) == (pytest.approx(0.4), 1)
    assert (second.device, second.read_share, second.samples) == ("1 Tesla T4", pytest.approx(0.8), 1)
    assert second.read_byte_per_s == pytest.approx(0.8 * 320e9)


_ALL = {"read_share": 0.4, "write_share": 0.1, "window_s": 4e-6, "samples": 2}


@pytest.mark.parametrize(
    ("change", "row", "state", "reason"),
    [
        # A GPU whose work can't be told apart has that of all.
        ({"TARGET_INFO_GPU": [build.A100, {**build.A100, "id": 1}]}, _ALL, "ok", None),
        ({KERNELS: []}, {"samples": 4, "read_share": 0.2, "window_s": 6e-6}, "ok", None),
        (
            {NAMES: [], SAMPLES: []},
            None,
            "skipped",
            "the GPU metrics recorded have no DRAM rates: some chips have none",
        ),
        (
            {NAMES: build.metrics(["SMs Active [Throughput %]"])},
            None,
            "skipped",
            "the GPU metrics recorded have no DRAM rates: some chips have none",
        ),
        (
            {NAMES: build.metrics(["DRAM Read Bandwidth [GB/s]", BOTH[1]])},
            None,
            "failed",
            "DRAM Read Bandwidth [GB/s] isn't in percent of the peak, the one unit that this version reads",
        ),
        ({SAMPLES: build.samples({2000: (0, 100)})}, {"read_share": 0.0, "write_share": 1.0}, "ok", None),
        # A guessed peak would be another machine's.
        (
            {"TARGET_INFO_GPU": [{**build.A100, "memoryBandwidth": 0}]},
            {"read_share": 0.4, "read_byte_per_s": None, "write_byte_per_s": None, "resolution_byte_per_s": None},
            "partial",
            f"GPU 0 {A100}: the export says no peak of its DRAM (TARGET_INFO_GPU.memoryBandwidth):"
            " shares, but no byte/s",
        ),
        (
            {NAMES: build.metrics(BOTH[:1])},
            {"read_share": 0.4, "write_share": None, "write_byte_per_s": None},
            "partial",
            f"GPU 0 {A100}: no samples of its DRAM writes",
        ),
        (
            {SAMPLES: build.samples({0: (1, 1)})},
            None,
            "failed",
            f"GPU 0 {A100}: no sample of its DRAM while it had work",
        ),
    ],
)
def test_dram_samples_that_are_not_all_there(
    tmp_path: Path, change: Rows, row: dict[str, float | None] | None, state: State, reason: str | None
) -> None:
    """What can be had is shown, and the section says what is missing; no row stands for nothing.

    :param row: fields of the one that there is.
    """
    content = read(tmp_path, with_samples(**change))
    assert content.sections["dram"] == Section(state=state, reason=reason)
    found = [{name: getattr(one, name) for name in row or {}} for one in content.dram]
    assert found == ([] if row is None else [pytest.approx(row)])


def test_no_dram_samples_are_skipped(tmp_path: Path) -> None:
    """With the flag that records them."""
    content = read(tmp_path, usual())
    reason = "no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
    assert (content.dram, content.sections["dram"]) == ((), Section(state="skipped", reason=reason))


@pytest.mark.parametrize(("percent", "rough"), [(1, False), (0.998, True)])
def test_a_mean_below_half_a_percent_says_little(tmp_path: Path, percent: float, rough: bool) -> None:
    """It is made of the few samples that weren't rounded to 0."""
    rows = with_samples(GPU_METRICS=build.samples({2000: (percent, 0), 3000: (0, 0)}))
    content = read(tmp_path, rows)
    assert content.dram[0].read_share == pytest.approx(percent / 200)
    assert [note.partition(":")[0] for note in content.notes] == [f"DRAM of GPU 0 {A100}"] * rough
