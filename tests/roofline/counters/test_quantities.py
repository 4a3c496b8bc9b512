"""The metrics that are asked for on each chip."""

from __future__ import annotations

from dataclasses import fields

import pytest

from roofline.counters.quantities import (
    BY_NAME,
    DRAM_RATE,
    OF_KERNEL,
    SM_CLOCKS,
    TIME,
    byte_metrics,
    dimension,
    flop_metrics,
)
from roofline.schema.record import Counters, KernelCounters

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
TENSOR = "sm__ops_path_tensor_src_{}.sum"
CUDA = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")
AMPERE = ("bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp64", "tf32_dst_fp32")


@pytest.mark.parametrize(
    ("capability", "dram"),
    [
        ("7.5", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        ("8.0", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        ("9.0", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        ("10.3", ("dram__bytes_read.sum", "dram__bytes_write.sum")),
        (
            "12.0",
            ("dram__bytes_op_read.sum", "dram__bytes_read.sum", "dram__bytes_op_write.sum", "dram__bytes_write.sum"),
        ),
        ("12.1", ()),
    ],
)
def test_bytes_and_time_are_one_request(capability: str, dram: tuple[str, ...]) -> None:
    """With the DRAM counters that the chip may answer to: 12.0 has two names, 12.1 none."""
    assert byte_metrics(capability) == ("gpu__time_duration.sum", *dram, "lts__t_bytes.sum", "l1tex__t_bytes.sum")


def test_of_an_unknown_chip_both_names_are_asked_for() -> None:
    """So that one of them answers."""
    for capability in (None, "", "5.2", "99.0", "eight"):
        assert set(byte_metrics(capability)) >= set(byte_metrics("12.0"))


@pytest.mark.parametrize(
    ("capability", "tensor", "packed"),
    [
        ("7.5", ("fp16_bf16_tf32_dst_fp32", "fp16_dst_fp16"), False),
        ("8.0", AMPERE, False),
        ("8.7", AMPERE, False),
        ("8.9", (*AMPERE, "fp8"), False),
        ("9.0", ("bf16_dst_fp32", "fp16", "fp64", "fp8", "tf32_dst_fp32"), False),
        ("10.0", (*AMPERE, "fp4_dst_fp32", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"), True),
    ],
)
def test_flop_metrics(capability: str, tensor: tuple[str, ...], packed: bool) -> None:
    """Nine kinds of instructions, three more where they come packed, and the chip's own tensor counters."""
    cuda = [SASS.format(name) for name in (*CUDA, *(("fadd2", "fmul2", "ffma2") if packed else ()))]
    assert list(flop_metrics(capability, tensor=False)) == cuda
    assert list(flop_metrics(capability, tensor=True)) == [*cuda, *(TENSOR.format(name) for name in tensor)]


def test_a_chip_between_listed_ones_is_the_older() -> None:
    """And never one of another generation."""
    assert flop_metrics("12.7", tensor=True) == flop_metrics("12.1", tensor=True)
    assert flop_metrics("7.0", tensor=True) == flop_metrics(None, tensor=True)


def test_every_metric_asked_for_is_understood() -> None:
    """One table says what to ask for and what a name means."""
    for capability in (None, "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"):
        names = (*byte_metrics(capability), *flop_metrics(capability, tensor=True))
        assert len(names) == len(set(names))
        assert {dimension(name) for name in names} == {"byte", "time", "count"}


def test_dimensions() -> None:
    """Of the metrics that quantities are made of, and of those that tell of tensor cores; of no other."""
    assert [dimension(name) for name in (TIME, DRAM_RATE, *SM_CLOCKS)] == ["time", "byte_per_s", *["frequency"] * 2]
    assert dimension("dram__sectors_read.sum") == "count"
    assert dimension("sm__inst_executed_pipe_tensor.sum") == "count"
    assert dimension("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active") == "share"
    assert dimension("sm__inst_executed_pipe_tensor.avg") is None
    assert dimension("flop_count_sp") is None
    assert dimension("sm__throughput.avg.pct_of_peak_sustained_elapsed") is None


def test_every_quantity_is_a_field_of_the_record() -> None:
    """Under its own name: of the step, and of each kernel unless it is a part of another one."""
    assert {one.name for one in fields(Counters)} >= BY_NAME.keys()
    assert {one.name for one in fields(KernelCounters)} >= set(OF_KERNEL)
    assert set(OF_KERNEL) == {"time_s", "dram_byte", "l2_byte", "l1_byte"}
