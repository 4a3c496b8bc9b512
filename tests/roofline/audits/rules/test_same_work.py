"""Rows of one work on several devices."""

from dataclasses import replace
from pathlib import Path

from roofline.audits.rules.same_work import pooled, same_as_cpu
from tests.roofline.audits.make import POOLED, found, row, table


def test_pooled_rows_name_each_other(tmp_path: Path) -> None:
    cloud, laptop = found(pooled, table(tmp_path / "t.csv", POOLED))
    assert (cloud.row.number, laptop.row.number) == (2, 5)
    assert cloud.arithmetic == "attained 4.0890 TFLOP/s as in line 5 (laptop), on cloud here"


def test_equal_rows_of_one_device_are_not_pooled() -> None:
    assert found(pooled, [row(model="m", device="l4", samples_per_s=161.27)] * 2) == ()


def test_files_are_compared_with_each_other() -> None:
    rows = [row(file=name, model="m", device=name, step_time_s=0.012345678) for name in ("a", "b")]
    assert len(found(pooled, rows)) == 2


def test_a_device_that_was_proven_is_not_doubted() -> None:
    """Proven on both: the same time is then a finding about the work, not about the device."""
    cpu = row(model="m", device="cpu", device_kind="cpu", step_time_s=1.0)
    cuda = row(model="m", device="cuda", device_kind="accelerator", step_time_s=1.0)
    (one,) = found(same_as_cpu, [cpu, cuda])
    assert one.row is cuda
    assert one.arithmetic == "1.0000 s on cuda, 1.0000 s on cpu (line 2): +0.0 %"
    assert found(same_as_cpu, [replace(cpu, device_proven=True), replace(cuda, device_proven=True)]) == ()


def test_throughput_tells_as_well_as_time() -> None:
    cpu = row(model="m", device="cpu", device_kind="cpu", samples_per_s=100.0)
    cuda = row(model="m", device="cuda", device_kind="accelerator", samples_per_s=101.0)
    (one,) = found(same_as_cpu, [cpu, cuda])
    assert "101 samples/s on cuda, 100 samples/s on cpu" in one.arithmetic


def test_other_work_is_not_compared() -> None:
    cpu = row(model="m", device="cpu", device_kind="cpu", step_time_s=1.0)
    cuda = row(model="n", device="cuda", device_kind="accelerator", step_time_s=1.0)
    assert found(same_as_cpu, [cpu, cuda]) == ()
