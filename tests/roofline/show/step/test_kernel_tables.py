"""The tables of kernels: every column from where it is known, and rows that add up."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from roofline.model.points import Point
from roofline.schema.record import KernelTime, Record
from roofline.show.render import render
from roofline.show.step.kernel_tables import (
    KernelLine,
    Source,
    kernel_table,
    kernels_table,
    reconciliation_table,
)
from roofline.show.tables import Table
from tests.roofline import build
from tests.roofline.kernels import ADD, GEMM, TENSOR_GEMM, counted, kernel, profiled


def _point(tmp_path: Path, record: Record) -> Point:
    roofs = (*build.roofs(1e13, 1e12), build.roof("flop", "bf16", 1e14))
    (point,) = build.points(tmp_path / "a.json", [record], of=build.session(roofs))
    return point


def _table(tmp_path: Path, record: Record, source: Source, top: int = 15) -> Table[KernelLine]:
    table = kernel_table(_point(tmp_path, record), source, top)
    assert table is not None
    return table


def _kinds(tmp_path: Path, record: Record, source: Source) -> Table[KernelLine]:
    table = kernel_table(_point(tmp_path, record), source, 15, by_kind=True)
    assert table is not None
    return table


def _cells(text: str, first: str) -> str:
    return next(" ".join(line.split()) for line in text.splitlines() if line.startswith(first))


def test_by_the_profiler(tmp_path: Path) -> None:
    """Longest first, with kind, launches, time and share of the timed step."""
    table = _table(tmp_path, profiled(), "profiler")
    text = render(table, "table", 100)
    assert text.startswith("Kernels of resnet50-train-b32-fp32, by torch's profiler\n")
    assert _cells(text, "ampere_sgemm") == f"{GEMM} gemm 1 50.0 ms 50"
    assert _cells(text, "vectorized") == "vectorized_elementwise_kernel<4, CUDAFun…d<float>> elementwise 20 10.0 ms 10"
    assert _cells(text, "Memcpy") == "Memcpy HtoD (Pageable -> Device) copy 1 2.00 ms 2.0"
    (busy,) = table.notes
    assert busy.startswith("The device was busy for 62 % of the step: 62.0 ms of kernels")
    assert busy.endswith("longest gap between two, under the profiler, which widens them: 4.00 ms")


@pytest.mark.parametrize("changes", [{"time_s": -1.0}, {"launches": 1e308}])
def test_a_kernel_whose_numbers_are_unusable_is_left_out(tmp_path: Path, changes: dict[str, Any]) -> None:
    """The others stay."""
    kernels = (KernelTime(**{"name": "odd", "launches": 1.0, "time_s": 0.01, **changes}), *_kernels())
    record = profiled(profile=build.profile(source="kernels", operations_s=0.06, kernels=kernels))
    table = _table(tmp_path, record, "profiler")
    assert [line.name for line in table.rows] == [one.name for one in _kernels()]


def _kernels() -> tuple[KernelTime, ...]:
    profile = profiled().profile
    assert profile is not None
    return profile.kernels


def _two() -> Record:
    """100 GFLOP on CUDA cores in 10 ms, and 500 on tensor cores in 20, which move 10 GB of DRAM."""
    tensor = kernel(TENSOR_GEMM, flop_by_pipe={"tensor_bf16": 5e11}, time_s=0.02, dram_byte=1e10, launches=4)
    return counted(kernel(), tensor)


def test_by_counters(tmp_path: Path) -> None:
    """Shares are of the kernels' time under the counters; the bound is by the machine's roofs."""
    table = _table(tmp_path, _two(), "counters")
    text = render(table, "table", 160)
    assert _cells(text, "cutlass") == f"{_shown(text)} gemm 4 20.0 ms 67 500 G 100 10.0 G 50.0 memory"
    assert _cells(text, "ampere") == f"{GEMM} gemm 1 10.0 ms 33 100 G 0 1.00 G 100 compute"
    assert "Tensor cores: 83.3 % of the FLOPs" in text


def _shown(text: str) -> str:
    return next(word for line in text.splitlines() for word in line.split() if word.startswith("cutlass"))


def test_flops_that_are_only_a_part_are_not_shown(tmp_path: Path) -> None:
    """A kernel whose name tells of tensor cores that weren't counted: no FLOP and no share; what lacks is told."""
    table = _table(tmp_path, counted(kernel(TENSOR_GEMM, time_s=0.02), kernel()), "counters")
    text = render(table, "table", 160)
    assert _cells(text, "cutlass") == f"{_shown(text)} gemm 1 20.0 ms 67 - - 1.00 G - undetermined"
    assert "Tensor cores: not used by the kernels whose FLOPs were read" in text
    assert "The FLOPs of 1 of 2 kernels were not read (its name tells of tensor cores" in " ".join(text.split())


def test_counted_others_are_sums_without_a_bound(tmp_path: Path) -> None:
    """As far as all parts are known."""
    record = counted(kernel("a", time_s=0.1), kernel(ADD, l1_byte=None), kernel())
    table = _table(tmp_path, record, "counters", 1)
    (row,) = (row for row in table.rows if row.name == "2 other kernels")
    assert row.counted is not None
    assert (row.counted.flop, row.counted.byte["dram_byte"], row.counted.byte["l1_byte"]) == (2e11, 2e9, None)
    assert _cells(render(table, "table", 160), "2 other kernels").endswith("200 G 0 2.00 G 100 -")


def test_csv_has_every_kernel_of_both(tmp_path: Path) -> None:
    """With its source: plain numbers, the full name, every level, and the reason of the bound."""
    record = profiled(counters=_two().counters)
    rows = list(csv.DictReader(io.StringIO(render(kernels_table([_point(tmp_path, record)]), "csv", 80))))
    assert [row["source"] for row in rows] == ["profiler"] * 3 + ["counters"] * 2
    assert (
        " ".join(rows[3][name] for name in ("kernel", "kind", "launches", "time_s")) == f"{TENSOR_GEMM} gemm 4.0 0.02"
    )
    amounts = ("flop", "dram_byte", "l2_byte", "l1_byte", "intensity_flop_per_byte", "l2_intensity_flop_per_byte")
    assert [float(rows[3][name]) for name in amounts] == [5e11, 1e10, 4e9, 1e10, 50.0, 125.0]
    assert (rows[3]["flop_by_pipe"], rows[3]["tensor_share"]) == ("100 % tensor_bf16", "1.0")
    assert [rows[3][name] for name in ("bound", "bound_why", "valid", "file")] == ["memory", "DRAM", "true", "a.json"]
    assert rows[1]["kernel"] == ADD
    assert (rows[1]["flop"], rows[1]["bound"], float(rows[1]["share"])) == ("", "", pytest.approx(0.1))


def _of_two_kinds() -> Record:
    """Two products, one of them on tensor cores, and an addition whose FLOPs and L2 bytes were not read."""
    tensor = kernel(TENSOR_GEMM, flop_by_pipe={"tensor_bf16": 5e11}, time_s=0.02, dram_byte=1e10, launches=4)
    return counted(kernel(ADD, flop_by_pipe=None, time_s=0.01, dram_byte=2e9, l2_byte=None), kernel(), tensor)


def test_counters_by_kind(tmp_path: Path) -> None:
    """Sums, and what follows from them; a sum of which a part isn't known isn't known, and what lacks is told."""
    table = _kinds(tmp_path, _of_two_kinds(), "counters")
    text = render(table, "table", 160)
    assert text.startswith("Kinds of kernels of resnet50-train-b32-fp32, by hardware counters\n")
    assert _cells(text, "gemm") == "gemm 2 5 30.0 ms 75 600 G 83 11.0 G 8.00 G 20.0 G 54.5"
    assert _cells(text, "elementwise") == "elementwise 1 1 10.0 ms 25 - - 2.00 G - 10.0 G -"
    assert [row.name for row in table.rows] == ["gemm", "elementwise"]
    assert "Tensor cores: 83.3 % of the FLOPs" in text
    assert "The FLOPs of 1 of 3 kernels were not read" in text


def test_csv_and_json_have_every_kind_of_both(tmp_path: Path) -> None:
    """Plain numbers, every level; what isn't known is empty, or null."""
    table = kernels_table([_point(tmp_path, profiled(counters=_of_two_kinds().counters))], by_kind=True)
    rows = list(csv.DictReader(io.StringIO(render(table, "csv", 80))))
    assert [(row["source"], row["kind"]) for row in rows] == [
        *(("profiler", kind) for kind in ("gemm", "elementwise", "copy")),
        *(("counters", kind) for kind in ("gemm", "elementwise")),
    ]
    assert [rows[3][name] for name in ("case", "kernels", "launches")] == ["resnet50-train-b32-fp32", "2", "5.0"]
    assert rows[3]["flop_by_pipe"] == "83.3 % tensor_bf16, 16.7 % fp32"
    amounts = ("time_s", "flop", "dram_byte", "l2_byte", "l1_byte", "l2_intensity_flop_per_byte")
    assert [float(rows[3][name]) for name in amounts] == [0.03, 6e11, 1.1e10, 8e9, 2e10, 75.0]
    assert float(rows[3]["l1_intensity_flop_per_byte"]) == 30.0
    assert float(rows[3]["tensor_share"]) == pytest.approx(5 / 6)
    last = json.loads(render(table, "json", 80))[-1]
    unknown = ("flop", "flop_by_pipe", "tensor_share", "l2_byte", "intensity_flop_per_byte")
    assert [last[name] for name in unknown] == [None] * 5
    assert (last["time_s"], last["dram_byte"]) == (0.01, 2e9)


def test_counted_against_counters(tmp_path: Path) -> None:
    """Each quantity with both numbers, their ratio, and the reasons below."""
    record = counted(
        kernel(dram_byte=6e9), operations=(build.operation(flop=1e11),), work=build.work(other_flop_per_step=0.0)
    )
    table = reconciliation_table(_point(tmp_path, record))
    assert table is not None
    text = render(table, "table", 100)
    assert _cells(text, "matrix products") == "matrix products 100 GFLOP 100 G 1.00 agrees 1"
    assert _cells(text, "DRAM bytes") == "DRAM bytes 1.00 GB-4.00 GB 6.00 G 1.50 more 1"
    assert "\n  DRAM bytes: kernels' scratch memory" in text
    rows = json.loads(render(table, "json", 80))
    assert (rows[-1]["counted_low"], rows[-1]["counters"], rows[-1]["unit"]) == (1e9, 6e9, "B")
    assert len(rows[-1]["reasons"]) == 1
