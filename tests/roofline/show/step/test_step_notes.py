"""What is said of a step taken apart and of its kernels, with its numbers, and when it is not said."""

from pathlib import Path
from typing import Any

import pytest

from roofline.counters.counted_kernels import counted_kernels
from roofline.machine.roof_choice import Roofs
from roofline.model.points import Point
from roofline.schema.record import Counters, Device, Flag, Operation, OutsideTime, Record, Uncovered
from roofline.show.step import step_notes
from roofline.show.step.operation_tables import taken_apart, worst_table
from tests.roofline import build
from tests.roofline.kernels import ADD, counted, counters, kernel

_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)
_ROOFS = (
    build.roof("flop", "fp32", 1e12),
    build.roof("flop", "bf16", 2e12),
    build.roof("byte", "dram", 1e10),
    build.roof("byte", "llc", 1e11),
    build.roof("latency", "launch", 1e-5),
)


def _operation(time_s: float = 0.095, **changes: Any) -> Operation:
    return build.operation(**{"flop": 5e9, "byte": 1e6, "working_set_byte": 1e9, "time_s": time_s, **changes})


def _taken(tmp_path: Path, record: Record, roofs: Any = _ROOFS) -> Point:
    points = build.points(tmp_path / "a.json", [record], of=build.session(roofs))
    taken, left_out = taken_apart(points)
    assert left_out == []
    return taken[0]


def _step_notes(tmp_path: Path, *operations: Operation, roofs: Any = _ROOFS, **changes: Any) -> list[str]:
    case = _taken(tmp_path, build.timed(*operations, **{"device": _DEVICE, **changes}), roofs)
    assert case.step is not None
    return step_notes.about_step(case, case.step)


def test_a_plain_step(tmp_path: Path) -> None:
    """What its speed of light is for, and how the times came about."""
    notes = _step_notes(tmp_path, _operation(), profile=build.profile(operations_s=0.095, step_s=0.102))
    assert notes == [
        "Speed of light: 100 % of it for arithmetic, 0 % for traffic",
        "Times of operators on the host: medians of 3 steps under the profiler, in a pass of its own (102 ms a step"
        " there)",
    ]


def test_what_makes_it_less_certain(tmp_path: Path) -> None:
    """An invalid row, an operation without formula, a wait, a cache of unknown size."""
    text = "\n".join(
        _step_notes(
            tmp_path,
            _operation(),
            device=Device(kind="cuda", name="x"),
            work=build.work(uncovered=(Uncovered(name="my::op", calls=2, time_s=0.03),)),
            timing=build.timing(0.1, input_wait_s=0.02),
            flags=(Flag(name="wrong_device", evidence="parameters on cpu", invalid=True),),
        )
    )
    assert "The row is invalid: wrong_device: parameters on cpu" in text
    assert "uncovered: no formula for my::op (2 calls, 30 % of the time): not in the FLOPs" in text
    assert "Outside of operations: 20.0 ms (20 % of the step) waiting for the next batch" in text
    assert "the cache's size is not known" in text


def test_what_the_profiler_saw_elsewhere(tmp_path: Path) -> None:
    """The longest four, how many more, and their sum."""
    outside = tuple(OutsideTime(name=f"k{index}", calls=1.0, time_s=1e-4) for index in range(6))
    notes = _step_notes(tmp_path, _operation(), profile=build.profile(operations_s=0.095, outside=outside))
    assert (
        "Seen by the profiler in no counted operation: 600 µs: k0 (1 x, 100 µs), k1 (1 x, 100 µs), k2 (1 x, 100 µs),"
        " k3 (1 x, 100 µs) and 2 more" in notes
    )


@pytest.mark.parametrize(
    ("operations_s", "apart"),
    [(0.109, None), (0.091, None), (0.089, "89.0 ms, the timed step took 100 ms (-11 %)"), (0.111, "(+11 %)")],
)
def test_disagreement(operations_s: float, apart: str | None) -> None:
    """Above 10 % either way, with both numbers."""
    found = step_notes.disagreement(build.profile(operations_s=operations_s), 0.1)
    assert bool(found) == (apart is not None)
    assert all(apart in note for note in found if apart)


def test_a_sum_above_the_step_is_negative_outside(tmp_path: Path) -> None:
    """Shown and explained, not clipped."""
    notes = _step_notes(tmp_path, _operation(0.12))
    assert any(note.startswith("Outside of operations: negative") for note in notes)
    assert any("add up to 120 ms" in note for note in notes)


def test_many_that_are_too_fast_are_counted(tmp_path: Path) -> None:
    """With their share of the step: 6 x 4 ms of 100 ms."""
    fast = [_operation(4e-3, shape=str(index)) for index in range(6)]
    [note] = worst_table(_taken(tmp_path, build.timed(*fast, device=_DEVICE)), 15, by_kind=False).notes
    assert "6 operations with 24 % of the step. There" in note


_KNOWN = "A matrix product of known size"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            build.record(counters=counters(kernel(launches=3), kernel(ADD, time_s=0.002), passes=5)),
            "Read by ncu 2025.3.1: 2 kernels in 4 launches. Their time of 12.0 ms is under that profiler, and no"
            " timing",
        ),
        (
            counted(
                kernel(flop_by_pipe={"fp32": 1e11}),
                *(kernel(f"hmma_{part}", flop_by_pipe={"tensor_bf16": part * 1e11}) for part in (1, 2, 1)),
            ),
            "Tensor cores: 80.0 % of the FLOPs (80.0 % tensor_bf16, 20.0 % fp32), in 3 kernels",
        ),
        (
            build.record(counters=counters(kernel(), unit_check=1.0)),
            f"{_KNOWN} was counted at 1.000 of its FLOPs",
        ),
        (
            build.record(counters=counters(kernel(), unit_check=0.5)),
            f"{_KNOWN} was counted at 0.5000 of its FLOPs: the counters' FLOPs are not to be trusted on this machine",
        ),
        (
            build.record(counters=counters(kernel()), missing={"counters.unit_check": "fp32: it hung"}),
            f"{_KNOWN}, which would show what a counted FLOP is, was not counted: fp32: it hung",
        ),
    ],
    ids=["source", "tensor cores", "right unit", "wrong unit", "no unit"],
)
def test_what_is_said_of_counters(record: Record, said: str) -> None:
    """Where they are from, whose FLOPs they are, and what a product of known size showed of their unit."""
    about = step_notes.about_counted(record, counted_kernels(record, Roofs(roofs=build.roofs())))
    assert said in about
    assert len(about) == 2 + any(_KNOWN in line for line in about)


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        (None, []),
        (Counters(status="ok"), []),
        (Counters(status="not_requested"), []),
        (
            Counters(status="permission_denied", reason="ERR_NVGPUCTRPERM"),
            ["No counters (permission_denied): ERR_NVGPUCTRPERM"],
        ),
        (Counters(status="timeout"), ["No counters (timeout): no reason is given"]),
        (
            Counters(status="missing_metric", reason="no DRAM counter on this chip"),
            ["Counters are incomplete (missing_metric): no DRAM counter on this chip"],
        ),
    ],
)
def test_why_there_are_none(counters: Counters | None, told: list[str]) -> None:
    """Only where they were asked for."""
    assert step_notes.about_status(build.record(counters=counters)) == told
