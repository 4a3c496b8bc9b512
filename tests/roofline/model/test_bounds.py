"""A bound is concluded where one thing can be named, and is undetermined, with the reason, everywhere else."""

import math
from dataclasses import replace
from typing import Any

import pytest

from roofline.machine.roof_choice import Roofs
from roofline.model.bounds import Bound, bound_of
from roofline.model.placement import place
from roofline.model.point_flags import derived
from roofline.model.speed_of_light import speed_of_light
from roofline.schema.record import Counters, Device, Flag, Memory, Parallel, Rank, Record, Rounds, Timing, Uncovered
from tests.roofline import build

# Knee 100 FLOP/byte.
_ROOFS = Roofs(roofs=build.roofs(1e13, 1e11))


def _judge(record: Record | None, roofs: Roofs = _ROOFS, *more: Flag) -> Bound:
    placement = place(record, roofs)
    if record is None:
        return bound_of(None, placement, roofs, speed_of_light(build.record(work=None), roofs, resident=False), ())
    sol = speed_of_light(record, roofs, resident=placement.cache_resident)
    return bound_of(record, placement, roofs, sol, (*record.flags, *derived(record, placement, roofs, sol), *more))


def _at(intensity: float, of_roof: float, high: float | None = None, **changes: Any) -> Record:
    """A step at one intensity (or a range up to ``high``) and a fraction of the roof at its low end."""
    flop = 1e11
    attained = of_roof * min(1e13, 1e11 * intensity)
    return build.record(
        work=build.work(flop, flop / (high or intensity), flop / intensity),
        timing=build.timing(flop / attained),
        **changes,
    )


@pytest.mark.parametrize(
    ("intensity", "of_roof", "kind"),
    [
        (10, 0.8, "memory"),
        (1000, 0.7, "compute"),
        (1000, 0.07, "compute"),
        (95, 0.5, "undetermined"),
        (10, 0.01, "launch"),
    ],
)
def test_the_four_classes(intensity: float, of_roof: float, kind: str) -> None:
    """Peak 1e13, bandwidth 1e11: below the knee, above it (at 7 % of peak, too), near it, and far below every roof."""
    assert _judge(_at(intensity, of_roof)).kind == kind


@pytest.mark.parametrize(
    ("low", "high", "kind", "why"),
    [
        (115, 115, "compute", "above the knee"),
        (114.9, 114.9, "undetermined", "within 15 % of the knee"),
        (85, 85, "memory", "below the knee (DRAM)"),
        (85.1, 85.1, "undetermined", "within 15 % of the knee"),
        (90, 110, "undetermined", "within 15 % of the knee"),
        (50, 200, "undetermined", "range straddles the knee"),
        (10, 84, "memory", "below the knee (DRAM)"),
        (10, 86, "undetermined", "within 15 % of the knee"),
        (114, 900, "undetermined", "within 15 % of the knee"),
        (116, 900, "compute", "above the knee"),
    ],
)
def test_a_range_must_lie_on_one_side(low: float, high: float, kind: str, why: str) -> None:
    """15 % around the knee is no side, and only a range with the knee in it straddles it."""
    bound = _judge(_at(low, 0.5, high))
    assert (bound.kind, bound.why) == (kind, why)
    assert "knee 100 (dram; analytic)" in bound.evidence


def test_far_below_with_launches_that_explain_it_not() -> None:
    """1 % of the roof, and 10 calls x 1 us are a thousandth of the step: neither roofs nor launches."""
    roofs = Roofs(roofs=(*_ROOFS.roofs, build.roof("latency", "launch", 1e-6)))
    bound = _judge(_at(10, 0.01, operations=(build.operation(calls=10, flop=1e11, byte=1e10),)), roofs)
    assert (bound.kind, bound.why) == ("undetermined", "far below its roofs")
    assert "launches explain" in bound.evidence


def test_launches_that_fill_the_step() -> None:
    """1000 calls x 5 us = 5 ms of a step of 10 ms, whose arithmetic needs far less."""
    roofs = Roofs(roofs=(*_ROOFS.roofs, build.roof("latency", "launch", 5e-6)))
    record = build.record(
        work=build.work(1e9, 1e7, 1e7),
        timing=build.timing(10e-3),
        operations=(build.operation(calls=1000, flop=1e9, byte=1e7),),
    )
    bound = _judge(record, roofs)
    assert bound.kind == "launch"
    assert bound.evidence == "1000 calls x 5.00 µs = 50 % of the step"
    # A compiled step doesn't launch the operations that were counted.
    compiled = _judge(replace(record, case=build.case(config={"compile": True})), roofs)
    assert (compiled.why, "launches were not counted" in compiled.evidence) == ("launch or latency", True)


def test_launches_hidden_behind_the_work_are_no_bound() -> None:
    """The same calls, but the operations alone need longer than the launches."""
    roofs = Roofs(roofs=(*_ROOFS.roofs, build.roof("latency", "launch", 5e-6)))
    operation = build.operation(calls=1000, flop=7e10, byte=1e7, working_set_byte=1e8)
    record = build.record(work=build.work(7e10, 1e8, 1e8), timing=build.timing(8e-3), operations=(operation,))
    assert _judge(record, roofs).kind == "compute"


@pytest.mark.parametrize(("wait", "kind"), [(0.0, "compute"), (0.099, "compute"), (0.1, "input"), (0.9, "input")])
def test_waiting_for_data(wait: float, kind: str) -> None:
    """From a tenth of the step on the loader is the limit, whatever the intensity."""
    record = build.record(timing=build.timing(1.0, input_wait_s=wait), work=build.work(1e12, 1e8, 1e8))
    assert _judge(record).kind == kind


def _cached(intensity: float) -> Record:
    device = Device(kind="cuda", name="x", last_level_cache_byte=50 * 10**6)
    return build.record(
        device=device, work=build.work(32e6 * intensity, 32e6, 32e6), timing=build.timing(32e6 * intensity / 4e12)
    )


def _timed(wall_s: float, device_s: float, **changes: Any) -> Timing:
    return build.timing(wall_s, rounds=Rounds(steps=1, wall_s=(wall_s,), device_s=(device_s,)), **changes)


_SPILLED = Flag(name="spilled", evidence="15.8 GB in use by all programs of 16.0 GB")
_WRONG = Flag(name="wrong_device", evidence="ran on cpu", invalid=True)


@pytest.mark.parametrize(
    ("record", "flags", "kind", "why", "evidence"),
    [
        # Wall 0.24 ms, device 0.09 ms. Or the device's events saw no gap, and the profiler kernels in 60 of 100 ms.
        (build.record(timing=_timed(0.24e-3, 0.09e-3), work=build.work(1e8, 1e5, 1e5)), (), "launch", "host-bound", ""),
        (
            build.record(
                timing=_timed(0.1, 0.099), profile=build.profile(source="kernels", step_s=0.3, device_busy_s=0.06)
            ),
            (),
            "launch",
            "host-bound",
            "the device is busy for 60 % of the wall time: the host sets the pace",
        ),
        # A device that is idle because no data comes is not launch-bound.
        (build.record(timing=_timed(1.0, 0.2, input_wait_s=0.7)), (), "input", None, ""),
        # 19 GB reserved of 16; or less, and the measuring side saw that the whole device was full.
        (
            _at(1000, 0.5, memory=Memory(peak_reserved_byte=19 * 10**9, device_total_byte=16 * 10**9)),
            (),
            "capacity",
            None,
            "",
        ),
        (_at(1000, 0.5), (_SPILLED,), "capacity", None, _SPILLED.evidence),
        (_at(1000, 0.5, flags=(_WRONG,)), (), "undetermined", "invalid", "wrong_device: ran on cpu"),
        (build.record(case=build.case(mode="input"), work=None), (), "undetermined", "loader alone", ""),
        # A third of DRAM's knee would say memory; but the data never comes from there.
        (_cached(30), (), "undetermined", "cache-resident", ""),
        # The count is of one of them.
        (
            _at(10, 0.5),
            (Flag(name="uneven_steps", evidence="other products"),),
            "undetermined",
            "steps differ",
            "other products",
        ),
    ],
)
def test_what_comes_before_the_roofs(
    record: Record, flags: tuple[Flag, ...], kind: str, why: str | None, evidence: str
) -> None:
    """Host, loader, memory, and what leaves nothing to conclude."""
    bound = _judge(record, _ROOFS, *flags)
    assert bound.kind == kind
    assert why in (None, bound.why)
    assert evidence in bound.evidence


@pytest.mark.parametrize(("llc", "kind"), [(2e11, "memory"), (1e12, "compute")])
def test_a_known_cache_roof_decides(llc: float, kind: str) -> None:
    """The knee of the cache counts then: 50 or 10 FLOP/byte."""
    bound = _judge(_cached(30), Roofs(roofs=(*_ROOFS.roofs, build.roof("byte", "llc", llc))))
    assert bound.kind == kind
    assert "(llc; analytic)" in bound.evidence
    if kind == "memory":
        assert bound.why == "below the knee (last-level cache)"


@pytest.mark.parametrize(("time_s", "kind"), [(0.1e-2, "undetermined"), (0.09e-2, "memory"), (None, "undetermined")])
def test_what_has_no_formula_leaves_a_bound_open(time_s: float | None, kind: str) -> None:
    """From a tenth of the step on, here of 10 ms: with its FLOPs the intensity may be another. Counters see all."""
    placed = _at(10, 0.5)
    assert placed.work is not None
    timing = build.timing(1e-2)
    work = replace(placed.work, flop_per_step=5e9, flop_by_dtype={"fp32": 5e9}, byte_low_per_step=5e8)
    work = replace(work, byte_high_per_step=5e8, uncovered=(Uncovered(name="mine::kernel", calls=1, time_s=time_s),))
    bound = _judge(replace(placed, work=work, timing=timing))
    assert bound.kind == kind
    counted = Counters(status="ok", flop=5e9, dram_byte=5e8)
    assert _judge(replace(placed, work=work, timing=timing, counters=counted)).kind == "memory"


@pytest.mark.parametrize(
    ("record", "roofs", "why"),
    [
        (None, _ROOFS, "no record"),
        (build.record(timing=None), _ROOFS, "no time"),
        (build.record(timing=build.timing(math.nan)), _ROOFS, "no time"),
        (build.record(work=None), _ROOFS, "not placed"),
        (build.record(work=build.work(0.0)), _ROOFS, "not placed"),
        (build.record(work=build.work(low=math.nan, high=math.nan)), _ROOFS, "time only"),
        (build.record(), Roofs(roofs=(), why_none="unknown device"), "no roofs"),
        (build.record(work=build.work(dtype="bf16")), _ROOFS, "no compute roof"),
        (build.record(), Roofs(roofs=(build.roof("flop", "fp32", 1e13),)), "no memory roof"),
    ],
)
def test_nothing_to_conclude_from(record: Record | None, roofs: Roofs, why: str) -> None:
    """Each lack has its own words and a sentence."""
    bound = _judge(record, roofs)
    assert (bound.kind, bound.why) == ("undetermined", why)
    assert bound.evidence


@pytest.mark.parametrize(("communication_s", "kind"), [(0.99, "compute"), (1.0, "communication"), (None, "compute")])
def test_messages_that_nothing_hides_bound_a_step(communication_s: float | None, kind: str) -> None:
    """From half of the step under the profiler on, which takes longer than the timed one; by the busiest rank."""
    step = _at(1000, 0.5)
    assert step.timing is not None
    assert step.timing.step_time_s < 1.0
    ranks = tuple(Rank(node=0, label="here", own_s=own_s) for own_s in (1.0, 0.5, None))
    parallel = Parallel(
        ranks=3, nodes=1, backend="gloo", strategy="ddp", communication_s=communication_s, by_rank=ranks
    )
    assert _judge(replace(step, parallel=parallel)).kind == kind
