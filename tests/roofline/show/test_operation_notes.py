"""What is said of a step taken apart, with its numbers, and when it is not said."""

from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.schema.record import Counters, Device, Flag, Operation, OutsideTime, Record, Uncovered
from roofline.show import operation_notes
from roofline.show.operation_tables import Taken, taken_apart
from tests.roofline import build

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


def _taken(tmp_path: Path, record: Record, roofs: Any = _ROOFS) -> Taken:
    points = points_of(build.result(tmp_path / "a.json", [record], of=build.session(roofs)), load())
    taken, left_out = taken_apart(points)
    assert left_out == []
    return taken[0]


def _step_notes(tmp_path: Path, *operations: Operation, roofs: Any = _ROOFS, **changes: Any) -> list[str]:
    case = _taken(tmp_path, build.timed(*operations, **{"device": _DEVICE, **changes}), roofs)
    return operation_notes.about_step(case.point, case.step)


def test_a_plain_step(tmp_path: Path) -> None:
    """5e9 FLOP in 100 ms are 5 % of 1e12; 0.1 to 1.25 FLOP/byte against a knee of 100."""
    work = build.work(5e9, 4e9, 5e10)
    notes = _step_notes(tmp_path, _operation(), work=work, profile=build.profile(operations_s=0.095, step_s=0.102))
    assert notes == [
        "As one point: memory (0.10 to 1.2 FLOP/byte, knee 100), at 5.0 % of its compute roof. Taken apart: 95 % of"
        " the step is in operations bound by compute",
        "Speed of light: 100 % of it for arithmetic, 0 % for traffic; launches alone take 10.0 µs (0.010 % of the"
        " step)",
        "FLOPs: 100 % fp32",
        "Times of operators on the host: medians of 3 steps under the profiler, in a pass of its own (102 ms a step"
        " there)",
    ]


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        (Counters(status="ok", flop=5e9, dram_byte=1e10), "(0.50 FLOP/byte by counters, knee 100)"),
        (Counters(status="missing_metric", dram_byte=1e10), "(0.50 FLOP/byte by counters (FLOP analytic), knee 100)"),
    ],
)
def test_the_one_point_says_what_of_it_is_by_counters(tmp_path: Path, counters: Counters, told: str) -> None:
    """FLOPs that were counted are not passed off as read."""
    work = build.work(5e9, 4e9, 5e10)
    assert told in _step_notes(tmp_path, _operation(), work=work, counters=counters)[0]


def test_flops_by_dtype(tmp_path: Path) -> None:
    """3 : 1, as observed; an operation without FLOPs has no share."""
    operations = (
        _operation(0.05, flop=1e9),
        _operation(0.04, flop=3e9, dtype="bf16"),
        _operation(0.005, flop=0, dtype="int64"),
    )
    assert "FLOPs: 75.0 % bf16, 25.0 % fp32" in _step_notes(tmp_path, *operations)
    assert not any("FLOPs" in note for note in _step_notes(tmp_path, _operation(flop=0)))


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


def test_without_a_speed_of_light(tmp_path: Path) -> None:
    """The reason stands in place of the shares."""
    notes = _step_notes(tmp_path, _operation(), roofs=_ROOFS[:1])
    assert "No speed of light: no DRAM roof" in notes


def test_what_the_profiler_saw_elsewhere(tmp_path: Path) -> None:
    """The longest four, how many more, and their sum."""
    outside = tuple(OutsideTime(name=f"k{index}", calls=1.0, time_s=1e-4) for index in range(6))
    notes = _step_notes(tmp_path, _operation(), profile=build.profile(operations_s=0.095, outside=outside))
    assert (
        "Seen by the profiler in no counted operation: 600 µs: k0 1 x, 100 µs; k1 1 x, 100 µs; k2 1 x, 100 µs;"
        " k3 1 x, 100 µs; and 2 more" in notes
    )


@pytest.mark.parametrize(
    ("operations_s", "profiled_s", "meaning"),
    [
        (0.110, 0.2, None),
        (0.090, 0.2, None),
        (0.089, 0.1, "(-11 %): 11.0 ms of that step were the host's"),
        (0.089, 0.0899, "(-11 %): the whole step took 89.9 ms there, so the machine was busier while it was timed"),
        (
            0.03,
            0.06,
            "(-70 %): the whole step took 60.0 ms there, so the machine was busier while it was timed; 30.0 ms",
        ),
        (0.089, 0.094, "(-11 %): partly another pace there, partly the host"),
        (0.111, 0.12, "(+11 %): the whole step took 120 ms there, for the profiler slows small operations down"),
        (0.111, 0.11, "(+11 %): more than the step there: each is a median by itself"),
    ],
)
def test_disagreement(operations_s: float, profiled_s: float, meaning: str | None) -> None:
    """Above 10 % either way, with both numbers and what it means: of the pass, and of what it left to the host."""
    found = operation_notes.disagreement(build.profile(operations_s=operations_s, step_s=profiled_s), 0.1)
    assert [meaning in note for note in found if meaning] == ([] if meaning is None else [True])
    if meaning:
        assert f"add up to {operations_s * 1e3:.3g}" in found[0]
        assert "the timed step took 100 ms" in found[0]


def test_only_kernels_overlap() -> None:
    """Operators on the host run one after the other; kernels have streams."""
    profile = build.profile(source="kernels", operations_s=0.12, step_s=0.1)
    assert operation_notes.disagreement(profile, 0.1)[0].endswith(
        "more than the step there, so kernels overlapped (streams)"
    )


def test_what_lies_outside_counts_as_seen() -> None:
    """80 ms of operations and 15 ms of other kernels: the profiler saw 95 of 100 ms."""
    outside = (OutsideTime(name="k", calls=1.0, time_s=0.015),)
    assert operation_notes.disagreement(build.profile(operations_s=0.08, outside=outside), 0.1) == []


def test_a_sum_above_the_step_is_negative_outside(tmp_path: Path) -> None:
    """Shown and explained, not clipped."""
    notes = _step_notes(tmp_path, _operation(0.12))
    assert any(note.startswith("Outside of operations: negative") for note in notes)
    assert any("add up to 120 ms" in note for note in notes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"flop": 5e9, "time_s": 4e-3}, "4.00 ms for 5.00 ms of arithmetic: the fp32 roof is too low"),
        ({"flop": 0, "byte": 1e7, "working_set_byte": 1e6, "time_s": 9e-5}, "the last-level cache's roof is too low"),
        # 1e7 B from DRAM take 1 ms; a cache of 1 MB can hide 2 MB of them, 0.2 ms.
        ({"flop": 0, "byte": 1e7, "time_s": 0.81e-3}, "part of its data may have lain in the last-level cache"),
        ({"flop": 0, "byte": 1e7, "time_s": 0.79e-3}, "more than the last-level cache can hide: the DRAM roof is too"),
        ({"flop": 5e9, "time_s": 0.0}, "0 s for 5.00 ms: the profiler saw no time of it"),
    ],
)
def test_faster_than_light_has_its_reason(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    """By which of both terms it beats, and whether a cache can explain it."""
    case = _taken(tmp_path, build.timed(_operation(name="aten::x", **changes), _operation(), device=_DEVICE))
    head, line = operation_notes.about_operations(case.step)
    assert head.startswith("Faster than their own speed of light: 1 operation with ")
    assert why in line


def test_many_that_are_too_fast_are_counted(tmp_path: Path) -> None:
    """Four are listed, with the share of the time in all of them: 6 x 4 ms of 100 ms."""
    fast = [_operation(4e-3, shape=str(index)) for index in range(6)]
    notes = operation_notes.about_operations(_taken(tmp_path, build.timed(*fast, device=_DEVICE)).step)
    assert "6 operations with 24 % of the step. There" in notes[0]
    assert len(notes) == 6
    assert "and 2 more" in notes[-1]


def test_none_too_fast_says_nothing(tmp_path: Path) -> None:
    """No line without a finding."""
    assert operation_notes.about_operations(_taken(tmp_path, build.timed(_operation(), device=_DEVICE)).step) == []


def test_a_kernels_name_keeps_its_end() -> None:
    """Inductor numbers its kernels; many of a step begin alike."""
    name = "triton_red_fused_convolution_backward_17"
    assert operation_notes.kernel(name, 40) == name
    assert operation_notes.kernel(name, 39) == "triton_red_fused_convolution_…ckward_17"
    assert len(operation_notes.kernel(name, 24)) == 24


def test_a_kernels_name_is_as_wide_as_a_terminal_shows_it() -> None:
    """Of characters that take two columns half as many are left, of those that take none all."""
    assert operation_notes.kernel("核" * 30, 24) == "核" * 7 + "…" + "核" * 4
    assert operation_notes.kernel("核" * 12, 24) == "核" * 12
    assert operation_notes.kernel("a\u0301" * 24, 24) == "a\u0301" * 24
