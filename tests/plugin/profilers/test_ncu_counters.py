"""From the answer of ``roofline ncu`` to the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.analysis import Answer
from pytest_roofline.profilers import ncu_counters
from pytest_roofline.profilers.ncu_counters import counters, of_flops, of_step
from pytest_roofline.profilers.ncu_run import NotCounted
from roofline.record import Counters, KernelCounters


def launch(name: str, **values: Any) -> dict[str, Any]:
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


def answer(*launches: dict[str, Any], **total: Any) -> dict[str, Any]:
    """Of these launches; ``total`` names what is other than for two that are alike."""
    return {
        "kernels": list(launches),
        "total": {
            "kernels": len(launches),
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
    """As they stand, with the program that counted."""
    assert counters(answer(launch("a"), launch("a")), "ncu 2025.3") == Counters(
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
                time_s=4e-6,
                flop_by_pipe={"fp32": 20.0, "tensor_bf16": 40.0},
                dram_byte=200.0,
                l2_byte=400.0,
                l1_byte=600.0,
            ),
        ),
        metrics={"l2_byte": "lts__t_bytes.sum"},
        passes=4,
    )


def test_kernels_stand_longest_first() -> None:
    """By the time of all their launches together; one without a time is last."""
    found = counters(
        answer(launch("none", time_s=None), launch("long", time_s=5e-6), launch("often"), *[launch("often")] * 2), "ncu"
    )
    assert [(kernel.name, kernel.launches) for kernel in found.kernels] == [("often", 3), ("long", 1), ("none", 1)]


def test_a_sum_that_lacks_a_part_is_none() -> None:
    """Of a kernel as of the step; and a pipe that one launch has not is no sum."""
    found = counters(
        answer(
            launch("a", dram_byte=None),
            launch("a", flop_by_pipe={"fp32": 1.0}),
            dram_byte=None,
            missing={"dram_byte": "dram__bytes_read.sum is n/a"},
        ),
        "ncu",
    )
    (kernel,) = found.kernels
    assert (kernel.dram_byte, kernel.l2_byte) == (None, 400.0)
    assert kernel.flop_by_pipe == {"fp32": 11.0}
    assert (found.status, found.dram_byte, found.l2_byte) == ("missing_metric", None, 400.0)
    assert found.reason == "dram_byte: dram__bytes_read.sum is n/a"


def test_reasons_that_are_the_same_stand_once() -> None:
    """With all that they explain."""
    gone = {"l2_byte": "not collected", "l1_byte": "not collected"}
    found = counters(answer(launch("a"), l2_byte=None, l1_byte=None, flop=None, missing=gone), "ncu")
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
    assert asked == [("ncu", "a.csv", "--format", "json")]


# --- files of several runs ---

FLOPLESS = {"flop": None, "flop_by_pipe": None, "missing": {"flop": "not collected"}}


class Files:
    """In place of ``roofline ncu``: by file the passes of its run; None for one that can't be read."""

    def __init__(self, **passes: int | None) -> None:
        self._passes = passes

    def __call__(self, _command: str, *words: str) -> Answer:
        passes = [self._passes[name] for name in words[:-2]]
        if None in passes:
            return Answer(command="ncu", code=3, out="", err="Error: b: cut off")
        found = answer(launch("a"), **({} if "b" in words else FLOPLESS))
        most = max(one for one in passes if one is not None)
        return Answer(command="ncu", code=0, out=json.dumps({**found, "passes": most}), err="")


def test_the_passes_are_those_of_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many the FLOPs took."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=5))
    found = of_step([Path("a"), Path("b")], "ncu")
    assert (found.status, found.reason, found.passes, found.flop, found.dram_byte) == ("ok", None, 1, 60.0, 200.0)


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
    assert found.reason == "flop: what ncu wrote can't be read: b: cut off"


def test_flops_that_lack_a_part_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of what was asked for in the end is not that of all pipes; each pipe that answered is."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(a=1, b=5))
    found = of_step([Path("a"), Path("b")], "ncu", no_flop="this ncu lacks x")
    assert (found.status, found.flop, found.reason) == ("missing_metric", None, "flop: this ncu lacks x")
    assert found.flop_by_pipe == {"fp32": 20.0, "tensor_bf16": 40.0}


def test_a_run_for_flops_alone_is_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a matrix product."""
    monkeypatch.setattr(ncu_counters.analysis, "ask", Files(b=5))
    assert of_flops(Path("b"), "ncu").flop == 60.0
