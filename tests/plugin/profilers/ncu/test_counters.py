"""From the answer of ``roofline ncu`` to the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.profilers.ncu import counters as ncu_counters
from pytest_roofline.profilers.ncu.counters import counters, of_flops, of_step
from pytest_roofline.profilers.ncu.run import NotCounted
from pytest_roofline.session.analysis import Answer
from roofline.counters.counted_kernels import counted_kernels
from roofline.counters.metrics import byte_metrics, flop_metrics
from roofline.counters.terms import TIME
from roofline.machine.roofs import Roofs
from roofline.schema.record import Counters, KernelCounters
from tests.roofline import build
from tests.roofline.profilers.ncu_made import raw


def row(name: str, **values: Any) -> dict[str, Any]:
    """All launches of one kernel, as `roofline ncu --by kernel` has them."""
    return {
        "name": name,
        "kind": "gemm",
        "launches": 1,
        "time_s": 2e-6,
        "flop": 30.0,
        "flop_by_pipe": {"fp32": 10.0, "tensor_bf16": 20.0},
        "dram_byte": 100.0,
        "l2_byte": 200.0,
        "l1_byte": 300.0,
        "intensity": 0.3,
        "missing": {},
        **values,
    }


def answer(*rows: dict[str, Any], **total: Any) -> dict[str, Any]:
    """Of these kernels; ``total`` names what is other than for two that are alike."""
    return {
        "kernels": list(rows),
        "total": {
            "kernels": len(rows),
            "time_s": 4e-6,
            "flop": 60.0,
            "flop_by_pipe": {"fp32": 20.0, "tensor_bf16": 40.0},
            "dram_byte": 200.0,
            "dram_read_byte": 150.0,
            "dram_write_byte": 50.0,
            "l2_byte": 400.0,
            "l1_byte": 600.0,
            "missing": {},
            **total,
        },
        "metrics": {"l2_byte": "lts__t_bytes.sum"},
        "passes": 4,
        "notes": [],
    }


def test_sums_and_metrics_are_taken_over() -> None:
    """As they stand, kernel by kernel and in their order, with the program that counted."""
    assert counters(answer(row("a", launches=2), row("b", time_s=None)), "ncu 2025.3") == Counters(
        status="ok",
        source="ncu 2025.3",
        flop=60.0,
        dram_byte=200.0,
        dram_read_byte=150.0,
        dram_write_byte=50.0,
        l2_byte=400.0,
        l1_byte=600.0,
        time_s=4e-6,
        flop_by_pipe={"fp32": 20.0, "tensor_bf16": 40.0},
        kernels=(
            KernelCounters(
                name="a",
                launches=2,
                time_s=2e-6,
                flop_by_pipe={"fp32": 10.0, "tensor_bf16": 20.0},
                dram_byte=100.0,
                l2_byte=200.0,
                l1_byte=300.0,
            ),
            KernelCounters(
                name="b",
                launches=1,
                flop_by_pipe={"fp32": 10.0, "tensor_bf16": 20.0},
                dram_byte=100.0,
                l2_byte=200.0,
                l1_byte=300.0,
            ),
        ),
        metrics={"l2_byte": "lts__t_bytes.sum"},
        passes=4,
    )


def test_a_sum_that_lacks_a_part_is_none() -> None:
    """Of a kernel as of the step, with the step's reason."""
    found = counters(
        answer(row("a", dram_byte=None), dram_byte=None, missing={"dram_byte": "dram__bytes_read.sum is n/a"}), "ncu"
    )
    (kernel,) = found.kernels
    assert (kernel.dram_byte, kernel.l2_byte, kernel.flop_lacks) == (None, 200.0, None)
    assert (found.status, found.dram_byte, found.l2_byte) == ("missing_metric", None, 400.0)
    assert found.reason == "dram_byte: dram__bytes_read.sum is n/a"


@pytest.mark.parametrize(
    ("values", "lacks"),
    [
        ({"flop": None, "missing": {"flop": "fp32 is not counted: x: n/a"}}, "fp32 is not counted: x: n/a"),
        ({"missing": {"flop_by_pipe.fp16": "1 of 2 kernels have none"}}, "fp16: 1 of 2 kernels have none"),
        ({"flop": None}, "not told"),
        ({"missing": {"l2_byte": "not collected"}}, None),
        ({"flop": None, "flop_by_pipe": None, "missing": {"flop": "not collected"}}, None),
    ],
)
def test_flops_of_a_kernel_that_are_a_part_of_them_say_so(values: dict[str, Any], lacks: str | None) -> None:
    """Where its FLOPs as a whole aren't known, or some launches lack a pipe; where there are none, nothing lacks."""
    (kernel,) = counters(answer(row("a", **values)), "ncu").kernels
    assert kernel.flop_lacks == lacks


def test_reasons_that_are_the_same_stand_once() -> None:
    """With all that they explain."""
    gone = {"l2_byte": "not collected", "l1_byte": "not collected"}
    found = counters(answer(row("a"), l2_byte=None, l1_byte=None, flop=None, missing=gone), "ncu")
    assert found.reason == "flop: not told; l2_byte, l1_byte: not collected"


def test_without_a_kernel_there_are_no_counters() -> None:
    """An empty table is no row of zeros."""
    with pytest.raises(NotCounted) as refusal:
        counters(answer(time_s=None), "ncu")
    assert refusal.value.status == "no_kernels"


def test_what_can_not_be_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words of the program that reads."""
    asked: list[tuple[str, ...]] = []

    def ask(*words: str) -> Answer:
        asked.append(words)
        return Answer(command="ncu", code=3, out="", err="Error: a.csv: line 1: no header")

    monkeypatch.setattr(ncu_counters.analysis, "ask", ask)
    with pytest.raises(NotCounted) as refusal:
        of_step([Path("a.csv"), Path("b.csv")], "ncu")
    assert (refusal.value.status, refusal.value.reason) == (
        "failed",
        "what ncu wrote can't be read: a.csv: line 1: no header",
    )
    assert asked == [("ncu", "a.csv", "--by", "kernel", "--format", "json")]


# --- files of several runs ---

FLOPLESS = {"flop": None, "flop_by_pipe": None, "missing": {"flop": "not collected"}}


class Files:
    """In place of ``roofline ncu``: by file the passes of its run; None for one that can't be read."""

    def __init__(self, **passes: int | None) -> None:
        self._passes = passes

    def __call__(self, _command: str, *words: str) -> Answer:
        passes = [self._passes[name] for name in words[:-4]]
        if None in passes:
            return Answer(command="ncu", code=3, out="", err="Error: b: cut off")
        found = answer(row("a"), **({} if "b" in words else FLOPLESS))
        told = {"passes": max(one for one in passes if one is not None), "passes_by_file": self._passes}
        return Answer(command="ncu", code=0, out=json.dumps({**found, **told}), err="")


def test_each_run_has_its_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the bytes, however many the FLOPs took."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=5))
    found = of_step([Path("a"), Path("b")], "ncu")
    assert (found.status, found.reason, found.flop, found.dram_byte) == ("ok", None, 60.0, 200.0)
    assert (found.passes, found.flop_passes) == (1, 5)


def test_bytes_of_several_passes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are there, and not those of a step in which each kernel ran once."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=2, b=5))
    found = of_step([Path("a"), Path("b")], "ncu")
    assert (found.status, found.passes, found.dram_byte) == ("ok", 2, 200.0)
    assert found.reason == "the bytes were counted in 2 passes and not in one: replay changes what the caches hold"
    found = of_step([Path("a")], "ncu")
    assert found.reason is not None
    assert found.reason.startswith("flop: not collected; the bytes were counted in 2 passes")


def test_flops_that_can_not_be_read_leave_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file is read by itself."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=None))
    found = of_step([Path("a"), Path("b")], "ncu")
    assert (found.status, found.flop, found.dram_byte) == ("missing_metric", None, 200.0)
    assert (found.passes, found.flop_passes) == (1, None)
    assert found.reason == "flop: what ncu wrote can't be read: b: cut off"


def test_flops_that_lack_a_part_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of what was asked for in the end is not that of all pipes; each pipe that answered is."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=5))
    found = of_step([Path("a"), Path("b")], "ncu", no_flop="this ncu lacks x")
    assert (found.status, found.flop, found.reason) == ("missing_metric", None, "flop: this ncu lacks x")
    assert found.flop_by_pipe == {"fp32": 20.0, "tensor_bf16": 40.0}
    assert [kernel.flop_lacks for kernel in found.kernels] == ["this ncu lacks x"]


def test_a_run_for_flops_alone_is_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a matrix product. That it lacks bytes is no matter; that it lacks FLOPs is told."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=5))
    assert of_flops(Path("b")) == 60.0
    with pytest.raises(NotCounted, match=r"^not collected$") as refusal:
        of_flops(Path("a"))
    assert refusal.value.status == "missing_metric"
    empty = Answer(command="ncu", code=0, out=json.dumps(answer()), err="")
    monkeypatch.setattr(ncu_counters.analysis, "ask", lambda *_: empty)
    with pytest.raises(NotCounted, match="ncu wrote down no kernel"):
        of_flops(Path("b"))


FLOPS = ("5", *["0"] * (len(flop_metrics("8.0", tensor=True)) - 1))
BF16 = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"


def test_a_pipe_that_one_launch_lacks_is_told_all_the_way_to_the_table(tmp_path: Path) -> None:
    """ncu's own files, through `roofline ncu` and the record: the kernel has no FLOPs and says which launch lacks what.
    The other kernel keeps its own.
    """
    names = flop_metrics("8.0", tensor=True)
    without = tuple("n/a" if name == BF16 else value for name, value in zip(names, FLOPS, strict=True))
    passes = '==PROF== Profiling "a" - 0: 0%....50%....100% - {} passes\n'
    first, second = tmp_path / "bytes.csv", tmp_path / "flop.csv"
    bytes_ = raw(dict.fromkeys(byte_metrics("8.0"), "byte") | {TIME: "ns"}, [(name, ("64",) * 5) for name in "aab"])
    first.write_text(passes.format(1) + bytes_)
    flops = raw(dict.fromkeys(names, ""), [("a", FLOPS), ("a", without), ("b", FLOPS)])
    second.write_text(passes.format(5) + flops)
    found = of_step([first, second], "ncu")
    lacks = f"1 of 2 launches have none, first 'a': tensor_bf16 is not counted: {BF16}: ncu printed 'n/a'"
    assert (found.status, found.flop, found.dram_byte) == ("missing_metric", None, 3 * 2 * 64.0)
    assert found.reason == f"flop: {lacks.replace('of 2', 'of 3')}"
    assert (found.passes, found.flop_passes) == (1, 5)
    shown = {one.name: one for one in counted_kernels(build.record(counters=found), Roofs(roofs=build.roofs()))}
    assert (shown["a"].launches, shown["a"].flop, shown["a"].no_flop) == (2, None, lacks)
    assert (shown["b"].launches, shown["b"].flop, shown["b"].no_flop) == (1, 5.0, None)
