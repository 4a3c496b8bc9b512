"""A step taken apart: hand-computed limits, sums that add up, nothing clipped."""

from typing import Any

import pytest

from roofline.machine.roof_choice import Roofs
from roofline.model.operations import Breakdown, TimedOperation, break_down, why_untimed
from roofline.model.placement import place
from roofline.model.speed_of_light import least, speed_of_light
from roofline.schema.record import Device, Operation, OutsideTime, Record
from tests.roofline import build

# fp32 1e12 FLOP/s, DRAM 1e10 B/s, a cache of 1 MB with 1e11 B/s, 10 us a launch: knees at 100 and 10 FLOP/byte.
_ROOFS = Roofs(
    roofs=(
        build.roof("flop", "fp32", 1e12),
        build.roof("byte", "dram", 1e10),
        build.roof("byte", "llc", 1e11),
        build.roof("latency", "launch", 1e-5),
    )
)
_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)


def _operation(time_s: float = 0.01, **changes: Any) -> Operation:
    return build.operation(**{"flop": 5e9, "byte": 1e6, "working_set_byte": 1e9, "time_s": time_s, **changes})


def _step(*operations: Operation, roofs: Roofs = _ROOFS, **changes: Any) -> Breakdown:
    record = build.timed(*operations, **{"device": _DEVICE, **changes})
    step = break_down(record, roofs, speed_of_light(record, roofs, resident=place(record, roofs).cache_resident))
    assert step is not None
    return step


def _one(roofs: Roofs = _ROOFS, **changes: Any) -> TimedOperation:
    return _step(_operation(**changes), roofs=roofs).operations[0]


def test_an_operation_against_its_speed_of_light() -> None:
    """5e9 FLOP at 1e12 are 5 ms, 1e6 B at 1e10 are 0.1 ms: of 10 ms 50 %, 5 ms above."""
    one = _one()
    assert one.least_s == pytest.approx(5e-3, rel=1e-12)
    assert one.above_s == pytest.approx(5e-3, rel=1e-12)
    assert one.fraction == pytest.approx(0.5, rel=1e-12)
    assert (one.limit, one.why, one.too_fast) == ("compute", "arithmetic", False)


@pytest.mark.parametrize(
    ("changes", "limit", "why"),
    [
        # From DRAM: arithmetic takes x ms, 1e7 B take 1 ms.
        ({"flop": 1.16e9, "byte": 1e7}, "compute", "arithmetic"),
        ({"flop": 1.14e9, "byte": 1e7}, "undetermined", "within 15 % of the knee"),
        ({"flop": 0.86e9, "byte": 1e7}, "undetermined", "within 15 % of the knee"),
        ({"flop": 0.84e9, "byte": 1e7}, "memory", "traffic"),
        ({"flop": 0, "byte": 1e7}, "memory", "traffic"),
        # It fits into the cache: 1e7 B take 0.1 ms from there and 1 ms from DRAM.
        ({"flop": 1.2e9, "byte": 1e7, "working_set_byte": 1e6}, "compute", "arithmetic"),
        ({"flop": 0.5e9, "byte": 1e7, "working_set_byte": 1e6}, "undetermined", "depends on the cache"),
        ({"flop": 0.05e9, "byte": 1e7, "working_set_byte": 1e6, "time_s": 1e-3}, "memory", "traffic"),
        # 100 launches take 1 ms, more than 0.5 ms of arithmetic.
        ({"flop": 0.5e9, "calls": 100}, "launch", "launches take longer"),
        ({"flop": 1.5e9, "calls": 100}, "compute", "arithmetic"),
        # 10 ms for 0.49 ms of arithmetic; for 0.5 ms.
        ({"flop": 0.49e9}, "undetermined", "far below its roofs"),
        ({"flop": 0.5e9}, "compute", "arithmetic"),
        ({"flop": 0.1e9, "byte": 1, "calls": 49}, "undetermined", "far below its roofs"),
        ({"time_s": 0.0}, "undetermined", "no time seen"),
        ({"flop": 1.0, "dtype": "fp64"}, "undetermined", "no compute roof for fp64"),
    ],
)
def test_what_bounds_an_operation(changes: dict[str, Any], limit: str, why: str) -> None:
    """The rules at the top of the module, each at its edge."""
    negligible = _operation(flop=1e9)  # so that a dtype without a roof doesn't take the step's speed of light away
    step = _step(negligible, _operation(name="aten::this", **changes))
    one = next(one for one in step.operations if one.operation.name == "aten::this")
    assert (one.limit, one.why) == (limit, why)


def test_a_cache_without_a_roof_leaves_only_what_dram_proves() -> None:
    """Arithmetic of 1.2 ms outlasts even DRAM's 1 ms; one of 0.8 ms may or may not outlast the cache."""
    roofs = Roofs(roofs=_ROOFS.roofs[:2])
    assert _one(roofs, flop=1.2e9, byte=1e7, working_set_byte=1e6).limit == "compute"
    assert _one(roofs, flop=0.8e9, byte=1e7, working_set_byte=1e6).why == "the cache has no roof"


def test_the_bytes_of_an_operation_are_a_range() -> None:
    """At most a cache full before and one after each of 2 calls: 1e7 - 2 x 2 x 1e6; 0 where the cache is unknown."""
    assert _one(byte=1e7, calls=2).byte_low == 6e6
    assert _one(byte=1e6, calls=2).byte_low == 0
    assert _step(_operation(byte=1e7), device=Device(kind="cuda", name="x")).operations[0].byte_low == 0


def test_the_parts_add_up_to_the_step() -> None:
    """Speed of light of the step = the sum of the operations'; time and time above it, with what is outside, too."""
    operations = (
        _operation(0.03, flop=1e10),
        _operation(0.02, flop=0, byte=1e8, kind="elementwise", shape="2"),
        _operation(0.01, flop=1e9, byte=1e7, working_set_byte=1e6, kind="convolution", shape="3"),
    )
    step = _step(*operations)
    sol = step.sol.time_s
    assert sol is not None
    assert sol == pytest.approx(sum(one.least_s or 0.0 for one in step.operations), rel=1e-12)
    assert sol == pytest.approx(sum(least(one, _DEVICE, _ROOFS).time_s for one in operations), rel=1e-12)
    assert step.operations_s == pytest.approx(0.06)
    assert step.outside_s == pytest.approx(0.04)
    above = sum(one.above_s or 0.0 for one in step.operations) + step.outside_s
    assert above == pytest.approx(step.step_s - sol, rel=1e-12)
    for groups in (step.by_limit(), step.by_kind()):
        assert sum(group.time_s for group in groups) == pytest.approx(0.06)
        assert sum(group.least_s or 0.0 for group in groups) == pytest.approx(sol)
        assert sum(group.calls for group in groups) == 3


def test_the_speed_of_light_is_arithmetic_or_traffic() -> None:
    """10 ms of arithmetic (traffic 0.1 ms) and 10 ms of traffic: half of 20 ms each."""
    step = _step(_operation(0.03, flop=1e10), _operation(0.02, flop=0, byte=1e8))
    assert step.light_s("compute") == pytest.approx(0.01)
    assert step.light_s("memory") == pytest.approx(0.01)
    assert step.fraction == pytest.approx(0.2)


def test_the_most_above_comes_first() -> None:
    """Not the longest: 25 ms of which 20 ms are due, after 12 ms of which 1 ms is."""
    step = _step(_operation(0.025, flop=2e10, shape="long"), _operation(0.012, flop=1e9, shape="slow"))
    assert [one.operation.shape for one in step.operations] == ["slow", "long"]


def test_without_roofs_the_longest_comes_first() -> None:
    """There are times and nothing to hold them against."""
    roofs = Roofs(roofs=(), why_none="unknown device")
    step = _step(_operation(0.012, shape="short"), _operation(0.025, shape="long"), roofs=roofs)
    assert [one.operation.shape for one in step.operations] == ["long", "short"]
    assert {one.why for one in step.operations} == {"no speed of light"}
    assert (step.fraction, step.light_s("compute"), step.by_kind()[0].above_s) == (None,) * 3
    assert step.operations[0].fraction is None


def test_faster_than_light_stays_as_it_is() -> None:
    """4 ms for 5 ms of arithmetic: 125 %, -1 ms, flagged."""
    step = _step(_operation(4e-3), _operation(6e-3, shape="2"))
    fast = step.operations[-1]
    assert step.too_fast == (fast,)
    assert fast.fraction == pytest.approx(1.25)
    assert fast.above_s == pytest.approx(-1e-3)


def test_operations_may_add_up_to_more_than_the_step() -> None:
    """120 ms of operations in a step of 100 ms: -20 ms outside."""
    assert _step(_operation(0.12)).outside_s == pytest.approx(-0.02)


def test_what_lies_outside_is_told_apart() -> None:
    """Seen by the profiler, waited for, launched."""
    seen = (OutsideTime(name="a", calls=1, time_s=1e-3), OutsideTime(name="b", calls=2, time_s=2e-3))
    profile = build.profile(outside=seen)
    step = _step(_operation(calls=7), _operation(calls=3), profile=profile, timing=build.timing(0.1, input_wait_s=0.02))
    assert step.outside_operations_s == pytest.approx(3e-3)
    assert step.input_wait_s == 0.02


def test_limits_are_grouped_in_their_order_and_the_undetermined_by_reason() -> None:
    """Compute before memory; of the undetermined reasons the one with the most time first."""
    step = _step(
        _operation(0.010, flop=0, byte=1e7, shape="memory"),
        _operation(0.011, flop=1e8, shape="far"),
        _operation(0.012, shape="compute"),
        _operation(0.001, flop=1e9, byte=1e7, shape="knee"),
    )
    assert [group.name for group in step.by_limit()] == [
        "compute",
        "memory",
        "undetermined: far below its roofs",
        "undetermined: within 15 % of the knee",
    ]
    assert step.time_of("undetermined") == pytest.approx(0.012)


def test_a_group_says_what_bounds_most_of_its_time() -> None:
    """3 ms by memory against 2 ms by compute."""
    step = _step(_operation(2e-3, flop=1e9), _operation(3e-3, flop=0, byte=1e7))
    assert step.by_kind()[0].main_limit == ("memory", pytest.approx(3e-3))


_NAN = float("nan")
_NO_AMOUNT = "neither 0 nor an amount of a real step"


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (build.timed(_operation(), timing=None), "no step time"),
        (build.timed(_operation(), timing=None, missing={"timing": "out of memory"}), "out of memory"),
        (build.timed(_operation(), timing=build.timing(0.0)), "no step time"),
        (build.record(), "its operations were not counted"),
        (build.record(missing={"work": "a formula failed"}), "a formula failed"),
        (build.record(operations=(build.operation(),)), "its operations have no times"),
        (
            build.record(operations=(build.operation(),), missing={"operations.time_s": "compiled"}),
            "compiled",
        ),
        (build.record(operations=(_operation(),), missing={"profile": "no CUPTI"}), "no CUPTI"),
        (build.timed(_operation(), build.operation()), "its operations have no times"),
        (build.timed(_operation(_NAN)), f"time_s of aten::mm 1024x1024x1024 is nan: {_NO_AMOUNT}"),
        (build.timed(_operation(-1.0)), f"time_s of aten::mm 1024x1024x1024 is -1: {_NO_AMOUNT}"),
        (build.timed(_operation(), _operation(1e308)), f"time_s of aten::mm 1024x1024x1024 is 1e+308: {_NO_AMOUNT}"),
        (build.timed(_operation(flop=1e308)), f"flop of aten::mm 1024x1024x1024 is 1e+308: {_NO_AMOUNT}"),
        (build.timed(_operation(calls=-1)), f"calls of aten::mm 1024x1024x1024 is -1: {_NO_AMOUNT}"),
    ],
)
def test_what_cannot_be_taken_apart_has_a_reason(record: Record, why: str) -> None:
    """The record's own, where it has one."""
    assert why_untimed(record) == why
    assert break_down(record, _ROOFS, speed_of_light(record, _ROOFS, resident=False)) is None


def test_what_can_has_none() -> None:
    """Times, counts and a profile are there."""
    assert why_untimed(build.timed(_operation())) is None
