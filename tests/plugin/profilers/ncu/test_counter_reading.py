"""From ncu's files to the counters of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.profilers.ncu.counter_reading import of_flops, of_step
from pytest_roofline.profilers.ncu.ncu_run import NotCounted
from roofline.counters.counted_kernels import counted_kernels
from roofline.counters.quantities import TIME, byte_metrics, flop_metrics
from roofline.machine.roof_choice import Roofs
from roofline.schema.record import Counters, KernelCounters
from tests.roofline import build
from tests.roofline.profilers.ncu_made import details, raw

BYTES = dict.fromkeys(byte_metrics("8.0"), "byte") | {TIME: "ns"}
ALL = dict.fromkeys(flop_metrics("8.0", tensor=True), "")
ONES = dict.fromkeys(ALL, "1")
BF16 = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
PIPES = {
    "fp32": 4.0,
    "fp64": 4.0,
    "fp16": 8.0,
    "tensor_fp64": 1.0,
    "tensor_tf32": 1.0,
    "tensor_bf16": 1.0,
    "tensor_fp16": 2.0,
}
"""FLOP of a launch in which every counter is 1."""


def bytes_file(folder: Path, passes: int | None = 1, **instead: str) -> Path:
    """By launch 10 ns and 1, 2, 4 and 8 bytes read, written, of L2 and of L1; ``instead`` of values by a part of their
    metric's name.
    """
    values = dict(zip(BYTES, ("10", "1", "2", "4", "8"), strict=True))
    values = {name: next((new for part, new in instead.items() if part in name), old) for name, old in values.items()}
    return written(folder / "bytes.csv", BYTES, "aab", values, passes)


def flops_file(folder: Path) -> Path:
    return written(folder / "flop.csv", ALL, "aab", ONES, 5)


def written(path: Path, units: dict[str, str], kernels: str, values: dict[str, str], passes: int | None) -> Path:
    said = "" if passes is None else f'==PROF== Profiling "a" - 0: 0%....50%....100% - {passes} passes\n'
    path.write_text(said + raw(units, [(name, tuple(values.values())) for name in kernels]))
    return path


def test_sums_and_metrics_are_taken_over(tmp_path: Path) -> None:
    """Kernel by kernel, the longest first, with the program that counted and the passes of both runs."""
    found = of_step([bytes_file(tmp_path), flops_file(tmp_path)], "ncu 2025.3")
    metrics = found.metrics
    assert metrics["l2_byte"] == "lts__t_bytes.sum"
    assert metrics["flop_by_pipe.tensor_bf16"] == BF16
    assert found == Counters(
        status="ok",
        source="ncu 2025.3",
        flop=63.0,
        dram_byte=9.0,
        dram_read_byte=3.0,
        dram_write_byte=6.0,
        l2_byte=12.0,
        l1_byte=24.0,
        time_s=pytest.approx(3e-8),
        flop_by_pipe={pipe: 3 * flop for pipe, flop in PIPES.items()},
        kernels=(
            KernelCounters(
                name="a",
                launches=2,
                time_s=pytest.approx(2e-8),
                flop_by_pipe={pipe: 2 * flop for pipe, flop in PIPES.items()},
                dram_byte=6.0,
                l2_byte=8.0,
                l1_byte=16.0,
            ),
            KernelCounters(
                name="b",
                launches=1,
                time_s=pytest.approx(1e-8),
                flop_by_pipe=PIPES,
                dram_byte=3.0,
                l2_byte=4.0,
                l1_byte=8.0,
            ),
        ),
        metrics=metrics,
        passes=1,
        flop_passes=5,
    )


def test_a_sum_that_lacks_a_part_is_none(tmp_path: Path) -> None:
    """Of a kernel as of the step; a reason stands once, with all that it explains."""
    found = of_step([bytes_file(tmp_path, t_bytes="n/a", read="n/a"), flops_file(tmp_path)], "ncu")
    (kernel, _) = found.kernels
    assert (kernel.dram_byte, kernel.l2_byte, kernel.time_s) == (None, None, pytest.approx(2e-8))
    assert (kernel.flop_by_pipe, kernel.flop_lacks) == ({pipe: 2 * flop for pipe, flop in PIPES.items()}, None)
    assert (found.status, found.dram_byte, found.dram_write_byte, found.flop) == ("missing_metric", None, 6.0, 63.0)
    assert found.reason == (
        "dram_byte: dram__bytes_read.sum: ncu printed 'n/a'; l2_byte: lts__t_bytes.sum: ncu printed 'n/a';"
        " l1_byte: l1tex__t_bytes.sum: ncu printed 'n/a'"
    )
    no_flop = of_step([bytes_file(tmp_path, t_bytes="n/a")], "ncu", no_flop="lts__t_bytes.sum: ncu printed 'n/a'")
    assert no_flop.reason is not None
    assert no_flop.reason.startswith("flop, l2_byte: lts__t_bytes.sum")


def test_no_flops_were_collected(tmp_path: Path) -> None:
    """Then no kernel lacks a part of some."""
    found = of_step([bytes_file(tmp_path)], "ncu")
    assert (found.status, found.flop, found.flop_by_pipe, found.dram_byte) == ("missing_metric", None, None, 9.0)
    assert [(one.flop_by_pipe, one.flop_lacks) for one in found.kernels] == [(None, None)] * 2


def test_what_can_not_be_read_is_reported(tmp_path: Path) -> None:
    """Of the bytes there is nothing to take; without the FLOPs the bytes stay."""
    bad = tmp_path / "bad.csv"
    bad.write_text("no table")
    with pytest.raises(NotCounted, match=r"what ncu wrote can't be read: .*bad\.csv") as refusal:
        of_step([bad, flops_file(tmp_path)], "ncu")
    assert refusal.value.status == "failed"
    found = of_step([bytes_file(tmp_path), bad], "ncu")
    assert (found.status, found.flop, found.dram_byte) == ("missing_metric", None, 9.0)
    assert (found.passes, found.flop_passes) == (1, None)
    assert found.reason is not None
    assert found.reason.startswith("flop: what ncu wrote can't be read: ")


@pytest.mark.parametrize(("passes", "said"), [(None, False), (1, False), (2, True)])
def test_bytes_of_several_passes(tmp_path: Path, passes: int | None, said: bool) -> None:
    """They are there, and not those of a step in which each kernel ran once."""
    found = of_step([bytes_file(tmp_path, passes=passes), flops_file(tmp_path)], "ncu")
    assert (found.status, found.passes, found.flop_passes, found.dram_byte) == ("ok", passes, 5, 9.0)
    reason = "the bytes were counted in 2 passes and not in one: replay changes what the caches hold"
    assert found.reason == (reason if said else None)


def test_flops_that_lack_a_part_are_none(tmp_path: Path) -> None:
    """The sum of what was asked for in the end is not that of all pipes; each pipe that answered is."""
    found = of_step([bytes_file(tmp_path), flops_file(tmp_path)], "ncu", no_flop="this ncu lacks x")
    assert (found.status, found.flop, found.reason) == ("missing_metric", None, "flop: this ncu lacks x")
    assert found.flop_by_pipe == {pipe: 3 * flop for pipe, flop in PIPES.items()}
    assert [kernel.flop_lacks for kernel in found.kernels] == ["this ncu lacks x"] * 2


def test_a_pipe_that_some_launches_lack(tmp_path: Path) -> None:
    """Is in no sum, and the kernel's FLOPs by pipe are not all of its FLOPs."""
    fp32, fp16 = ([(name, "", "1") for name in list(ALL)[first : first + 3]] for first in (0, 6))
    path = tmp_path / "flop.csv"
    path.write_text(details([("a", [*fp32, *fp16]), ("a", fp32)]))
    (kernel,) = of_step([path], "ncu").kernels
    assert (kernel.flop_by_pipe, kernel.flop_lacks) == ({"fp32": 8.0}, "fp16: 1 of 2 kernels have none")


def test_a_run_for_flops_alone_is_read_by_itself(tmp_path: Path) -> None:
    """As that of a matrix product. That it lacks bytes is no matter; that it lacks FLOPs is an error."""
    assert of_flops(flops_file(tmp_path)) == 63.0
    with pytest.raises(NotCounted, match="the CUDA cores are not counted") as refusal:
        of_flops(bytes_file(tmp_path))
    assert refusal.value.status == "missing_metric"


FLOPS = ("5", *["0"] * (len(flop_metrics("8.0", tensor=True)) - 1))


def test_a_pipe_that_one_launch_lacks_is_told_all_the_way_to_the_table(tmp_path: Path) -> None:
    """ncu's own files, through the record: the kernel has no FLOPs and says which launch lacks what.
    The other kernel keeps its own.
    """
    names = flop_metrics("8.0", tensor=True)
    without = tuple("n/a" if name == BF16 else value for name, value in zip(names, FLOPS, strict=True))
    passes = '==PROF== Profiling "a" - 0: 0%....50%....100% - {} passes\n'
    first, second = tmp_path / "bytes.csv", tmp_path / "flop.csv"
    bytes_ = raw(BYTES, [(name, ("64",) * 5) for name in "aab"])
    first.write_text(passes.format(1) + bytes_)
    flops = raw(ALL, [("a", FLOPS), ("a", without), ("b", FLOPS)])
    second.write_text(passes.format(5) + flops)
    found = of_step([first, second], "ncu")
    lacks = f"1 of 2 launches have none, first 'a': tensor_bf16 is not counted: {BF16}: ncu printed 'n/a'"
    assert (found.status, found.flop, found.dram_byte) == ("missing_metric", None, 3 * 2 * 64.0)
    assert found.reason == f"flop: {lacks.replace('of 2', 'of 3')}"
    assert (found.passes, found.flop_passes) == (1, 5)
    shown = {one.name: one for one in counted_kernels(build.record(counters=found), Roofs(roofs=build.roofs()))}
    assert (shown["a"].launches, shown["a"].flop, shown["a"].no_flop) == (2, None, lacks)
    assert (shown["b"].launches, shown["b"].flop, shown["b"].no_flop) == (1, 5.0, None)
