"""nsys's SQLite export: kernels, copies, busy time of each GPU, DRAM traffic."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.files.text import ReadError
from roofline.profilers.nsys.export_timeline import read_export
from roofline.profilers.timeline import MOST_BYTE, OK, KernelRow, Section
from roofline.profilers.timeline_tables import records
from tests.roofline.profilers import nsys_build as build
from tests.roofline.profilers.strange_cells import loose, spoiled

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

GEMM = "ampere_sgemm_128x64_tn"


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


def test_kernels(tmp_path: Path) -> None:
    """Summed by name, in seconds, with what each is; the version of the schema and of nsys are told."""
    content = read_export(build.write(tmp_path / "a.sqlite", usual()))
    assert content.kernels == (
        KernelRow(name=GEMM, instances=2, total_s=6e-6, avg_s=3e-6, med_s=3e-6, min_s=2e-6, max_s=4e-6),
        KernelRow(
            name="vectorized_elementwise_kernel",
            instances=1,
            total_s=1e-6,
            avg_s=1e-6,
            med_s=1e-6,
            min_s=1e-6,
            max_s=1e-6,
        ),
    )
    assert [row.kind for row in content.kernels] == ["gemm", "elementwise"]
    assert content.gpu_time_s == pytest.approx(7e-6)
    assert (content.schema, content.tool) == ("3.24.14", "Nsight Systems 2026.1.1.204")
    assert content.sections["kernels"] == OK
    assert (content.state, content.error, content.notes) == ("ok", None, ())


def test_copies(tmp_path: Path) -> None:
    """By direction, with the rate of all bytes over all time; fills beside them."""
    content = read_export(build.write(tmp_path / "a.sqlite", usual()))
    assert {(row.kind, row.count, row.byte) for row in content.copies} == {
        ("Host-to-Device", 1, 4_194_304.0),
        ("Device-to-Host", 1, 1000.0),
        ("memset", 1, 64.0),
    }
    assert [row.total_s for row in content.copies] == [pytest.approx(5e-7)] * 3
    assert content.copies[0].byte_per_s == pytest.approx(4_194_304 / 5e-7)


def test_directions_have_the_names_of_the_export(tmp_path: Path) -> None:
    """Where it has their table; a number that nobody knows is shown as it is."""
    rows = {
        **usual(),
        COPIES: [build.copy(0, 1, 8, kind=11), build.copy(0, 1, 8, kind=77)],
        "ENUM_CUDA_MEMCPY_OPER": [{"id": 11, "name": "CUDA_MEMCPY_KIND_UVM_HTOD", "label": "Unified Host-to-Device"}],
        FILLS: [],
    }
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert {row.kind for row in content.copies} == {"Unified Host-to-Device", "kind 77"}


def test_bytes_that_a_row_lacks_leave_no_sum(tmp_path: Path) -> None:
    """A sum over some of the copies would look like that of all."""
    rows = {**usual(), COPIES: [build.copy(0, 1, 8), {**build.copy(1, 2, 8), "bytes": "many"}]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert [(row.kind, row.count, row.byte) for row in content.copies if row.kind != "memset"] == [
        ("Host-to-Device", 2, None)
    ]
    section = content.sections["memcpy"]
    assert section.state == "partial"
    assert f"1 of 2 rows of {COPIES}" in str(section.reason)


def test_no_column_of_bytes_is_told(tmp_path: Path) -> None:
    """A null has its reason."""
    tables = {COPIES: build.COPY.replace("bytes", "size")}
    row = {("size" if name == "bytes" else name): value for name, value in build.copy(0, 1, 8).items()}
    content = read_export(build.write(tmp_path / "a.sqlite", {COPIES: [row]}, tables=tables))
    assert content.copies[0].byte is None
    assert content.sections["memcpy"] == Section(state="partial", reason=f"no bytes, for {COPIES} has no column bytes")


@pytest.mark.parametrize("cut", [1, 8, 4095, 4096, 20_000])
def test_a_cut_off_export_is_refused(tmp_path: Path, cut: int) -> None:
    """Also within its last page, of which SQLite reads zeros without a word."""
    path = build.write(tmp_path / "a.sqlite", usual())
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ReadError, match=rf"cut off: {whole - cut} of its {whole} bytes"):
        read_export(path)


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


def test_a_gpu_is_busy_while_anything_runs_on_it(tmp_path: Path) -> None:
    """Kernels, copies and fills of all streams together: 0 to 6000, 8000 to 9000 and 9500 to 10000 of 10000 ns."""
    (row,) = read_export(build.write(tmp_path / "a.sqlite", usual())).devices
    assert (row.device, row.streams, row.events) == ("0", 3, 6)
    assert row.busy.span_s == pytest.approx(10e-6)
    assert row.busy.busy_s == pytest.approx(7.5e-6)
    assert row.kernel_busy_s == pytest.approx(6e-6)
    assert row.busy.share == pytest.approx(0.75)
    assert (row.busy.gaps, row.busy.longest_gap_s) == (2, pytest.approx(2e-6))


def test_each_gpu_has_its_own_time(tmp_path: Path) -> None:
    """Two that take turns are each busy for their own half."""
    rows = {
        KERNELS: [build.kernel(0, 10), build.kernel(10, 20, device=1), build.kernel(20, 30)],
        "TARGET_INFO_GPU": [build.A100, {**build.A100, "id": 1, "name": "Tesla T4"}],
        "TARGET_INFO_CUDA_DEVICE": [
            {"gpuId": 0, "cudaId": 0, "pid": build.PID},
            {"gpuId": 1, "cudaId": 1, "pid": build.PID},
        ],
    }
    first, second = read_export(build.write(tmp_path / "a.sqlite", rows)).devices
    assert (first.device, first.busy.share) == ("0 NVIDIA A100-SXM4-40GB", pytest.approx(2 / 3))
    assert (second.device, second.busy.share) == ("1 Tesla T4", 1.0)


def test_each_process_may_call_its_own_gpu_0(tmp_path: Path) -> None:
    """With CUDA_VISIBLE_DEVICES they do: the export says which GPU that is, and they aren't taken for one."""
    rows = {
        KERNELS: [build.kernel(0, 10, pid=1), build.kernel(90, 100, pid=2)],
        "TARGET_INFO_GPU": [build.A100, {**build.A100, "id": 1}],
        "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": 1}, {"gpuId": 1, "cudaId": 0, "pid": 2}],
    }
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert [(row.device, row.busy.share) for row in content.devices] == [
        ("0 NVIDIA A100-SXM4-40GB", 1.0),
        ("1 NVIDIA A100-SXM4-40GB", 1.0),
    ]
    assert content.notes == ()


def test_processes_whose_gpus_cant_be_told_apart_are_named(tmp_path: Path) -> None:
    """Taken together, with a note: the share is right only if it was the same GPU."""
    rows = {KERNELS: [build.kernel(0, 10, pid=1), build.kernel(90, 100, pid=2)]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert [row.busy.share for row in content.devices] == [pytest.approx(0.2)]
    assert content.notes == (
        "2 processes called a GPU 0, and the export doesn't tell whether it was the same one: they are taken together",
    )


def test_the_only_gpu_has_its_name(tmp_path: Path) -> None:
    """Without the table of processes a machine of one GPU leaves no doubt."""
    rows = {KERNELS: [build.kernel(0, 10)], "TARGET_INFO_GPU": [build.A100]}
    assert read_export(build.write(tmp_path / "a.sqlite", rows)).devices[0].device == "0 NVIDIA A100-SXM4-40GB"


def test_more_columns_in_between_change_nothing(tmp_path: Path) -> None:
    """Columns are taken by name: an upgrade of nsys that adds some gives the same totals."""
    more = {
        KERNELS: "before TEXT, end INTEGER, x INTEGER, demangledName INTEGER, start INTEGER, y REAL, streamId INTEGER,"
        " globalPid INTEGER, deviceId INTEGER, contextId INTEGER, shortName INTEGER",
        COPIES: "copyKind INTEGER, x TEXT, bytes INTEGER, end INTEGER, start INTEGER, streamId INTEGER,"
        " deviceId INTEGER, contextId INTEGER, globalPid INTEGER",
    }
    plain = read_export(build.write(tmp_path / "a.sqlite", usual()))
    other = read_export(build.write(tmp_path / "b.sqlite", usual(), tables=more))
    assert (other.kernels, other.copies, other.devices) == (plain.kernels, plain.copies, plain.devices)


@pytest.mark.parametrize("schema", ["", "3", "three", "2.7.1", "3.x.1", "-3.1.0", "33333333333333333.0"])
def test_what_is_no_known_schema_is_refused(tmp_path: Path, schema: str) -> None:
    """Older majors and nonsense alike."""
    with pytest.raises(ReadError, match=f"unknown schema {schema}"):
        read_export(build.write(tmp_path / "a.sqlite", usual(), schema=schema))


def test_a_newer_minor_version_is_read_and_told(tmp_path: Path) -> None:
    """It may have renamed a column that nobody has looked at."""
    content = read_export(build.write(tmp_path / "a.sqlite", usual(), schema="3.31.0"))
    assert content.gpu_time_s == pytest.approx(7e-6)
    assert content.notes == (
        "schema 3.31.0 is newer than 3.28, the newest looked at: columns were taken by their names",
    )


def test_a_schema_in_pieces(tmp_path: Path) -> None:
    """Some exports have major, minor and micro version each for itself."""
    pieces = {
        "EXPORT_SCHEMA_VERSION_MAJOR": "3",
        "EXPORT_SCHEMA_VERSION_MINOR": "22",
        "EXPORT_SCHEMA_VERSION_MICRO": "1",
    }
    path = build.write(tmp_path / "a.sqlite", usual(), schema=None)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)")
        connection.executemany("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", pieces.items())
        connection.commit()
        assert (read_export(path).schema, read_export(path).notes) == ("3.22.1", ())
        connection.execute("UPDATE META_DATA_EXPORT SET value = '4' WHERE name = 'EXPORT_SCHEMA_VERSION_MAJOR'")
        connection.commit()
    with pytest.raises(ReadError, match=r"unknown schema 4\.22\.1"):
        read_export(path)


def test_no_schema_is_read_and_told(tmp_path: Path) -> None:
    """Columns have their names all the same."""
    content = read_export(build.write(tmp_path / "a.sqlite", usual(), schema=None))
    assert content.gpu_time_s == pytest.approx(7e-6)
    assert content.notes == ("the export doesn't say which schema it has: columns were taken by their names",)


@pytest.mark.parametrize("schema", [build.SCHEMA, None])
@pytest.mark.parametrize("rows", [{}, {KERNELS: []}, {KERNELS: [], GRAPHS: []}], ids=["lazy", "empty", "all"])
def test_a_capture_without_a_kernel_is_an_error(
    tmp_path: Path, rows: dict[str, Sequence[Mapping[str, Any]]], schema: str | None
) -> None:
    """nsys exits with 0 and writes a file: nothing in it says that the GPU did nothing, so its time is null, not 0."""
    content = read_export(build.write(tmp_path / "a.sqlite", rows, schema=schema))
    assert content.error == "empty_capture"
    assert content.gpu_time_s is None
    assert (content.kernels, content.devices) == ((), ())
    assert content.state == "skipped"
    section = content.sections["kernels"]
    assert section.state == "skipped"
    assert section.reason is not None
    assert "--trace=cuda" in section.reason


def test_copies_alone_are_an_empty_capture_too(tmp_path: Path) -> None:
    """What was copied can be had; that no kernel ran can't be concluded."""
    content = read_export(build.write(tmp_path / "a.sqlite", {COPIES: [build.copy(0, 10, 8)]}))
    assert (content.error, content.gpu_time_s, content.state) == ("empty_capture", None, "partial")
    assert [row.byte for row in content.copies] == [8.0]


def test_what_nsys_says_of_an_empty_capture_is_passed_on(tmp_path: Path) -> None:
    """Its messages about CUDA are the best hint at why."""
    said = ["Number of incomplete CUPTI events dropped: 12.", "Hardware tracing used\n for CUDA tracing", "Process 1"]
    rows = {"DIAGNOSTIC_EVENT": [{"timestamp": 0, "severity": 2, "text": text} for text in said]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.notes == (
        "nsys said: Number of incomplete CUPTI events dropped: 12.",
        "nsys said: Hardware tracing used for CUDA tracing",
    )


def test_losses_that_nsys_tells_of_are_passed_on(tmp_path: Path) -> None:
    """Sums are too small then; what else it says is left out."""
    said = ["Not all NVTX events might have been collected.", "CUDA device 0: Unified Memory trace is off"]
    rows = {**usual(), "DIAGNOSTIC_EVENT": [{"timestamp": 0, "severity": 2, "text": text} for text in said]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.notes == ("nsys said: Not all NVTX events might have been collected.",)


def test_graphs_without_nodes_are_no_empty_capture(tmp_path: Path) -> None:
    """Each launch is one opaque block: the GPU was busy, and which kernels ran can't be had."""
    rows = {KERNELS: [], GRAPHS: [build.graph(start, start + 500) for start in range(0, 10_000, 1000)]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert (content.error, content.gpu_time_s, content.state) == (None, None, "partial")
    assert content.sections["kernels"] == Section(
        state="skipped",
        reason="graph launches seen, no node detail (10 of them, 5e-06 s). Profile with --cuda-graph-trace=node to see"
        " the kernels in them.",
    )
    assert content.devices[0].busy.busy_s == pytest.approx(5e-6)
    assert (content.devices[0].kernel_busy_s, content.devices[0].kernel_share) == (None, None)


def test_copies_keep_a_gpu_busy_without_kernels(tmp_path: Path) -> None:
    """Of each GPU the kernels have a share of their own beside that of all work."""
    rows = {
        KERNELS: [build.kernel(0, 23_000)],
        COPIES: [build.copy(23_000, 1_000_000, 25_000_000), build.copy(0, 500, 64, device=1)],
    }
    first, second = read_export(build.write(tmp_path / "a.sqlite", rows)).devices
    assert (first.busy.share, first.kernel_share) == (1.0, pytest.approx(0.023))
    assert first.kernel_busy_s == pytest.approx(23e-6)
    assert (second.busy.share, second.kernel_share) == (1.0, 0.0)


def test_graphs_beside_kernels_make_the_sums_partial(tmp_path: Path) -> None:
    """The kernels in the graphs are in no row."""
    content = read_export(build.write(tmp_path / "a.sqlite", {**usual(), GRAPHS: [build.graph(20_000, 30_000)]}))
    assert content.gpu_time_s == pytest.approx(7e-6)
    assert content.state == "partial"
    assert content.sections["kernels"] == Section(
        state="partial",
        reason="shown are the kernels outside of graphs: graph launches seen, no node detail (1 of them, 1e-05 s)."
        " Profile with --cuda-graph-trace=node to see the kernels in them.",
    )


def test_graphs_without_times_are_seen(tmp_path: Path) -> None:
    """An old or strange table of graphs has at least its rows."""
    rows = {GRAPHS: [{"graphId": 1}, {"graphId": 2}]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows, tables={GRAPHS: "graphId INTEGER"}))
    assert content.error is None
    assert content.sections["kernels"] == Section(
        state="skipped",
        reason="graph launches seen, no node detail (2 of them). Profile with --cuda-graph-trace=node to see the"
        " kernels in them.",
    )


@pytest.mark.parametrize(
    "broken",
    [
        {"start": None},
        {"end": None},
        {"end": 900},
        {"start": "soon"},
        {"end": 1.5},
        {"start": -(2**63)},
        {"end": 2**63 - 1},
    ],
)
def test_rows_without_usable_times_are_left_out_and_counted(tmp_path: Path, broken: dict[str, Any]) -> None:
    """A launch that never ended has no time; that of the others stands."""
    tables = {KERNELS: build.KERNEL.replace(" NOT NULL", "").replace(" INTEGER", "")}
    rows = {KERNELS: [build.kernel(1000, 3000), {**build.kernel(1000, 3000), **broken}]}
    content = read_export(build.write(tmp_path / "a.sqlite", rows, tables=tables))
    assert [(row.instances, row.total_s) for row in content.kernels] == [(1, pytest.approx(2e-6))]
    assert content.sections["kernels"] == Section(
        state="partial",
        reason="1 of 2 rows left out: without a start and an end after it, a kernel has no time",
    )


def test_only_unusable_rows_fail(tmp_path: Path) -> None:
    """There were kernels, so it is no empty capture; but no time of theirs can be had."""
    content = read_export(build.write(tmp_path / "a.sqlite", {KERNELS: [build.kernel(20, 10)]}))
    assert (content.gpu_time_s, content.state) == (None, "failed")
    assert content.sections["kernels"].state == "failed"


@pytest.mark.parametrize("missing", ["start", "end", "demangledName"])
def test_a_column_that_is_gone_is_named(tmp_path: Path, missing: str) -> None:
    """A schema that renamed it gives no sums, rather than those of another column."""
    there = ["start", "end", "demangledName", "deviceId"]
    there.remove(missing)
    row = {name: value for name, value in build.kernel(10, 20).items() if name in there}
    rows = {KERNELS: [row], COPIES: [build.copy(0, 10, 8)]}
    content = read_export(
        build.write(tmp_path / "a.sqlite", rows, tables={KERNELS: ", ".join(f"{name} INTEGER" for name in there)})
    )
    assert content.kernels == ()
    assert content.sections["kernels"] == Section(
        state="failed", reason=f"the export has no column {missing}, by which this version reads a kernel"
    )
    assert (content.state, content.error) == ("partial", None)


def test_few_columns_are_enough(tmp_path: Path) -> None:
    """Without device, stream and process there is one GPU, of which nothing is told."""
    rows = {KERNELS: [{"start": 0, "end": 10, "shortName": 1}]}
    content = read_export(
        build.write(tmp_path / "a.sqlite", rows, tables={KERNELS: "start INTEGER, end INTEGER, shortName INTEGER"})
    )
    assert [row.name for row in content.kernels] == [GEMM]
    assert [(row.device, row.busy.share) for row in content.devices] == [("not told", 1.0)]


def test_names_that_the_export_lacks_are_numbers(tmp_path: Path) -> None:
    """The times stand; the section says that names are missing."""
    content = read_export(build.write(tmp_path / "a.sqlite", usual(), strings={2: "vectorized_elementwise_kernel"}))
    assert [row.name for row in content.kernels] == ["(string 1)", "vectorized_elementwise_kernel"]
    assert content.sections["kernels"] == Section(state="partial", reason="kernels without a name in StringIds: 1")


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
        (["CREATE TABLE StringTable (x)", f"CREATE TABLE {KERNELS} (start, end, name)"], "but of nvprof"),
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
    assert str(refused.value).endswith("Give what nsys export --type sqlite wrote.")


def test_reading_changes_nothing(tmp_path: Path) -> None:
    """Neither the file nor the folder, which may be read-only."""
    path = build.write(tmp_path / "a b#?%.sqlite", usual())
    before = path.read_bytes()
    read_export(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a b#?%.sqlite"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_strange_cells_give_no_traceback_and_no_silent_0(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever stands in a row: it counts, or it is told that it doesn't."""
    path = tmp_path / "a.sqlite"
    path.unlink(missing_ok=True)
    timeline = read_export(build.write(path, spoiled(data, usual()), tables=loose(usual())))
    counted = sum(row.instances for row in timeline.kernels)
    assert counted == 3 or timeline.sections["kernels"].state in ("partial", "failed")
    assert (timeline.gpu_time_s is None) == (counted == 0)
    assert sum(row.count for row in timeline.copies) == 3 or timeline.sections["memcpy"].state in ("partial", "failed")
    assert timeline.sections["memcpy"].state != "ok" or None not in {row.byte for row in timeline.copies}
    json.dumps(records(timeline), allow_nan=False)
    assert all(row.byte is None or row.byte <= row.count * MOST_BYTE for row in timeline.copies)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_give_no_traceback(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes changed anywhere: numbers that sqlite vouches for, or a message."""
    path = tmp_path / "a.sqlite"
    path.unlink(missing_ok=True)
    content = bytearray(build.write(path, usual()).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    refusal = _refusal(path)
    assert refusal is None or refusal.startswith(f"{path}: ")


def _refusal(path: Path) -> str | None:
    try:
        read_export(path)
    except ReadError as error:
        return str(error)
    return None


# --- DRAM traffic, from the GPU metrics ---

NAMES = "TARGET_INFO_GPU_METRICS"
SAMPLES = "GPU_METRICS"

BOTH = ("DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]")


def with_samples(**more: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """A GPU that works from 1000 to 5000 ns, and reads at 40 % and writes at 10 % of its peak meanwhile."""
    at = {0: (0, 0), 1500: (30, 10), 2500: (50, 10), 6000: (0, 0)}
    return {
        KERNELS: [build.kernel(1000, 5000)],
        "TARGET_INFO_GPU": [build.A100],
        NAMES: build.metrics(BOTH),
        SAMPLES: build.samples(at),
        **more,
    }


def test_rates_are_those_while_there_was_work(tmp_path: Path) -> None:
    """The mean of the samples in the span of its kernels, times the peak that the driver tells."""
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples()))
    (row,) = content.dram
    assert row.device == "0 NVIDIA A100-SXM4-40GB"
    assert (row.samples, row.window_s) == (2, pytest.approx(4e-6))
    assert (row.read_share, row.write_share) == (pytest.approx(0.4), pytest.approx(0.1))
    assert row.read_byte_per_s == pytest.approx(0.4 * 1_555_200_000_000)
    assert row.write_byte_per_s == pytest.approx(0.1 * 1_555_200_000_000)
    assert row.resolution_byte_per_s == pytest.approx(15_552_000_000)
    assert content.sections["dram"] == OK
    assert content.notes == ()


@pytest.mark.parametrize(
    "names",
    [
        ("DRAM Read Bandwidth", "DRAM Write Bandwidth"),
        ("DRAM Read Throughput [Throughput %]", "DRAM Write Throughput [Throughput %]"),
    ],
)
def test_other_spellings_are_read(tmp_path: Path, names: tuple[str, str]) -> None:
    """Early versions named no unit, other chips say throughput."""
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples(**{NAMES: build.metrics(names)})))
    assert content.dram[0].read_share == pytest.approx(0.4)


def test_each_gpu_has_its_own_window_and_peak(tmp_path: Path) -> None:
    """Samples of the second GPU don't go into the first one's mean."""
    rows = with_samples(
        CUPTI_ACTIVITY_KIND_KERNEL=[build.kernel(1000, 5000), build.kernel(5500, 6500, device=1)],
        TARGET_INFO_GPU=[build.A100, {**build.A100, "id": 1, "name": "Tesla T4", "memoryBandwidth": 320_000_000_000}],
        TARGET_INFO_CUDA_DEVICE=[{"gpuId": gpu, "cudaId": gpu, "pid": build.PID} for gpu in (0, 1)],
        TARGET_INFO_GPU_METRICS=[*build.metrics(BOTH), *build.metrics(BOTH, gpu=1)],
        GPU_METRICS=[*build.samples({2000: (40, 10)}), *build.samples({2000: (99, 99), 6000: (80, 20)}, gpu=1)],
    )
    first, second = read_export(build.write(tmp_path / "a.sqlite", rows)).dram
    assert (first.read_share, first.samples) == (pytest.approx(0.4), 1)
    assert (second.device, second.read_share, second.samples) == ("1 Tesla T4", pytest.approx(0.8), 1)
    assert second.read_byte_per_s == pytest.approx(0.8 * 320e9)


def test_a_gpu_whose_work_cant_be_told_apart_has_that_of_all(tmp_path: Path) -> None:
    """Better than the mean over the whole capture, most of which is the program's start."""
    rows = with_samples(TARGET_INFO_GPU=[build.A100, {**build.A100, "id": 1}])
    (row,) = read_export(build.write(tmp_path / "a.sqlite", rows)).dram
    assert (row.read_share, row.window_s) == (pytest.approx(0.4), pytest.approx(4e-6))


def test_without_any_work_all_samples_count(tmp_path: Path) -> None:
    """An empty capture is an error; the samples are shown for what they are."""
    rows = with_samples(CUPTI_ACTIVITY_KIND_KERNEL=[])
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.error == "empty_capture"
    assert [(row.samples, row.read_share, row.window_s) for row in content.dram] == [
        (4, pytest.approx(0.2), pytest.approx(6e-6))
    ]


def test_a_mean_below_half_a_percent_is_told_to_say_little(tmp_path: Path) -> None:
    """Report 004's 0.09 GB/s of an A100 are 0.005 % of its peak: the few samples that weren't rounded to 0."""
    at = {1000 + step: (1 if step == 0 else 0, 0) for step in range(0, 4000, 10)}
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples(GPU_METRICS=build.samples(at))))
    assert content.dram[0].read_share == pytest.approx(0.01 / 400)
    assert [note.partition(":")[0] for note in content.notes] == ["DRAM of GPU 0 NVIDIA A100-SXM4-40GB"]
    assert "Count bytes with ncu" in content.notes[0]


def test_no_metrics_are_skipped_with_the_flag_that_records_them(tmp_path: Path) -> None:
    """No row, and no 0."""
    content = read_export(build.write(tmp_path / "a.sqlite", {KERNELS: [build.kernel(0, 1)]}))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="skipped", reason="no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
    )
    assert content.state == "ok"


def test_a_chip_without_dram_metrics(tmp_path: Path) -> None:
    """GB10 has clocks and warps, and no DRAM."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(["SMs Active [Throughput %]"]))
    section = read_export(build.write(tmp_path / "a.sqlite", rows)).sections["dram"]
    assert section == Section(
        state="skipped", reason="the GPU metrics recorded have no DRAM rates: some chips have none"
    )


def test_another_unit_is_refused(tmp_path: Path) -> None:
    """Taken for percent it would be a wrong rate."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(["DRAM Read Bandwidth [GB/s]", BOTH[1]]))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="failed",
        reason="DRAM Read Bandwidth [GB/s] isn't in percent of the peak, the one unit that this version reads",
    )


@pytest.mark.parametrize("value", [-1, 101, 2**40])
def test_samples_that_are_no_percents_are_refused(tmp_path: Path, value: int) -> None:
    """Averages of what isn't normalised come out as millions."""
    rows = with_samples(GPU_METRICS=build.samples({2000: (40, value)}))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"].state == "failed"
    assert content.sections["dram"].reason is not None
    assert "aren't all from 0 to 100" in content.sections["dram"].reason


@pytest.mark.parametrize("peak", [0, 2**63 - 1])
def test_without_a_peak_there_are_shares_only(tmp_path: Path, peak: int) -> None:
    """A rate needs the peak; a guessed one would be another machine's, and 9 EB/s is no GPU's."""
    rows = with_samples(TARGET_INFO_GPU=[{**build.A100, "memoryBandwidth": peak}])
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    (row,) = content.dram
    assert (row.read_share, row.read_byte_per_s) == (pytest.approx(0.4), None)
    assert content.sections["dram"].state == "partial"


def test_one_direction_alone_is_partial(tmp_path: Path) -> None:
    """The other is null, with the reason."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(BOTH[:1]))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert (content.dram[0].read_share, content.dram[0].write_share) == (pytest.approx(0.4), None)
    assert content.sections["dram"].reason == "GPU 0 NVIDIA A100-SXM4-40GB: no samples of its DRAM writes"


def test_no_sample_in_the_span_of_the_work(tmp_path: Path) -> None:
    """Metrics that stopped early: no row, and the reason."""
    rows = with_samples(GPU_METRICS=build.samples({0: (1, 1)}))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="failed", reason="GPU 0 NVIDIA A100-SXM4-40GB: no sample of its DRAM while it had work"
    )
