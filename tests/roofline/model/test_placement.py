"""A point is FLOP over time and FLOP over byte, with the best provenance there is; what can't be placed says why."""

import math
from dataclasses import replace
from typing import Any

import pytest

from roofline.machine.roof_choice import Roofs
from roofline.model.placement import Placement, busy_share, is_cache_resident, place
from roofline.schema.record import Counters, Device, Record, Rounds
from tests.roofline import build

_ROOFS = Roofs(roofs=build.roofs(1e13, 1e11))


def _place(record: Record, roofs: Roofs = _ROOFS) -> Placement:
    return place(record, roofs)


def test_analytic() -> None:
    """1e11 FLOP in 0.1 s is 1e12 FLOP/s; 4e9 to 1e9 B is 25 to 100 FLOP/B, attainable 2.5e12 to 1e13 FLOP/s."""
    point = _place(build.record())
    assert (point.provenance, point.flop_source, point.work_source) == ("analytic", "analytic", "analytic")
    assert point.attained_flop_per_s == pytest.approx(1e12)
    assert (point.intensity_low, point.intensity_high) == (25, 100)
    assert (point.fraction_low, point.fraction_high) == (pytest.approx(0.1), pytest.approx(0.4))
    assert point.fraction_of_compute == pytest.approx(0.1)
    assert point.knee == 100
    assert (point.memory_level, point.roof_source, point.time_basis) == ("dram", "measured", "wall")
    assert point.why_not is None


@pytest.mark.parametrize(
    ("counted", "sources", "work_source", "intensity"),
    [
        ({"flop": 2e11, "dram_byte": 1e10}, ("counters", "counters"), "counters", (20, 20)),
        ({"dram_byte": 1e10}, ("counters", "analytic"), "counters (FLOP analytic)", (10, 10)),
        ({"flop": 2e11}, ("analytic", "counters"), "analytic (FLOP counters)", (50, 200)),
    ],
)
def test_counters_come_before_the_count(
    counted: dict[str, float], sources: tuple[str, str], work_source: str, intensity: tuple[float, float]
) -> None:
    """FLOPs and bytes each where there are some, and no range of bytes; where only one is theirs, both are told."""
    point = _place(build.record(counters=Counters(status="ok", source="ncu", **counted)))
    assert ((point.provenance, point.flop_source), point.work_source) == (sources, work_source)
    assert (point.intensity_low, point.intensity_high) == intensity
    assert point.attained_flop_per_s == pytest.approx(10 * counted.get("flop", 1e11))


@pytest.mark.parametrize(
    ("ratio", "source"), [(None, "counters"), (1.019, "counters"), (1.021, "analytic"), (0.5, "analytic")]
)
def test_counters_that_count_something_else_are_no_flop(ratio: float | None, source: str) -> None:
    """Of a product of known size they saw too many or too few: the count serves, and the bytes stay theirs."""
    point = _place(build.record(counters=Counters(status="ok", flop=2e11, dram_byte=1e10, unit_check=ratio)))
    assert (point.provenance, point.flop_source) == ("counters", source)


@pytest.mark.parametrize(
    "counters",
    [
        Counters(status="permission_denied"),
        Counters(status="ok", flop=0.0, dram_byte=0.0),
        Counters(status="failed", flop=2e11, dram_byte=1e10),
    ],
    ids=["refused", "zero", "failed"],
)
def test_empty_counters_are_none(counters: Counters) -> None:
    """The count serves; what stands beside a status that isn't good is no value."""
    assert _place(build.record(counters=counters)).provenance == "analytic"


def test_time_only_stands_on_the_memory_roof_and_claims_no_fraction() -> None:
    """Without bytes the intensity is attained / memory roof: 1e12 / 1e11 = 10. A fraction of that roof says nothing."""
    point = _place(build.record(work=build.work(low=math.nan, high=math.nan)))
    assert (point.provenance, point.flop_source, point.work_source) == ("time_only", "analytic", "time_only")
    assert (point.intensity_low, point.intensity_high) == (10, 10)
    assert (point.fraction_low, point.fraction_high) == (None, None)
    assert point.fraction_of_compute == pytest.approx(0.1)
    assert point.why_not is None


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (None, "no record of the work"),
        (build.record(timing=None), "no step time"),
        (build.record(timing=build.timing(0.0)), "no step time"),
        (build.record(timing=build.timing(math.nan)), "no step time"),
        (build.record(timing=build.timing(-1.0)), "no step time"),
        (build.record(work=None), "the work was not counted"),
        (build.record(work=build.work(0.0)), "no FLOPs counted"),
        (build.record(work=build.work(math.nan)), "no FLOPs counted"),
        (build.record(work=build.work(1e9, 0.0, 0.0)), "the bytes counted are no range above 0: 0 to 0"),
        (build.record(work=build.work(1e9, 0.0, 1e6)), "no range above 0"),
        (build.record(work=build.work(1e9, 2e6, 1e6)), "no range above 0"),
        (build.record(work=build.work(math.nan, math.nan, math.nan)), "no FLOPs counted"),
    ],
)
def test_what_cannot_be_placed_says_why(record: Record | None, why: str) -> None:
    """Zero, missing, negative and non-finite FLOPs, bytes and times: no point, no exception."""
    point = place(record, _ROOFS)
    assert point.why_not is not None
    assert why in (point.why_not or "")
    assert (point.intensity_low, point.intensity_high, point.fraction_low) == (None, None, None)
    assert point.work_source == "none"


def test_time_only_needs_a_memory_roof() -> None:
    """Without one there is no coordinate at all."""
    point = _place(build.record(work=build.work(low=math.nan, high=math.nan)), Roofs(roofs=(), why_none="x"))
    assert point.why_not is not None
    assert "no DRAM roof" in (point.why_not or "")


def test_without_roofs_the_point_stands_alone() -> None:
    """Intensity and attained are known without roofs; fractions are not."""
    point = _place(build.record(), Roofs(roofs=(), why_none="unknown device"))
    assert point.why_not is None
    assert (point.intensity_low, point.intensity_high) == (25, 100)
    assert (point.fraction_low, point.fraction_of_compute, point.knee, point.roof_source) == (None,) * 4


def _with_device_time(wall: float, device: float | None) -> Record:
    rounds = Rounds(steps=5, wall_s=(5 * wall,) * 4, device_s=None if device is None else (5 * device,) * 4)
    return build.record(timing=build.timing(wall, rounds=rounds))


def test_a_host_bound_point_is_placed_by_device_time() -> None:
    """Wall 0.24 ms, device 0.09 ms: 1e11 FLOP / 0.09 ms, since the roof is the device's."""
    point = _place(_with_device_time(0.24e-3, 0.09e-3))
    assert point.time_basis == "device"
    assert point.device_share == pytest.approx(0.375)
    assert point.attained_flop_per_s == pytest.approx(1e11 / 0.09e-3)


@pytest.mark.parametrize(("device", "share"), [(None, None), (0.17e-3, 0.17 / 0.24), (0.0, None), (math.nan, None)])
def test_otherwise_by_the_wall(device: float | None, share: float | None) -> None:
    """From 70 % on the device sets the pace; a CPU has no device time."""
    point = _place(_with_device_time(0.24e-3, device))
    assert point.time_basis == "wall"
    assert point.device_share == (None if share is None else pytest.approx(share))


def _with_kernels(busy_s: float | None, *, device_s: float | None = None) -> Record:
    """A step of 0.1 s, and how long its kernels ran in one of 0.4 s under the profiler."""
    record = _with_device_time(0.1, device_s)
    return replace(record, profile=build.profile(source="kernels", step_s=0.4, device_busy_s=busy_s))


@pytest.mark.parametrize("device_s", [None, 0.099], ids=["no events", "events"])
def test_kernels_tell_better_than_events_how_busy_the_device_was(device_s: float | None) -> None:
    """Events at both ends of a round span the gaps; kernels of 30 ms in a step that took 100 without the profiler."""
    point = _place(_with_kernels(0.03, device_s=device_s))
    assert point.device_share == pytest.approx(0.3)
    assert (point.time_basis, point.time_s) == ("device", pytest.approx(0.03))
    assert point.attained_flop_per_s == pytest.approx(1e11 / 0.03)


def test_kernels_that_fill_the_step_leave_it_to_the_wall() -> None:
    """The share is shown as it is, above 1 where kernels ran slower under the profiler."""
    point = _place(_with_kernels(0.104))
    assert point.device_share == pytest.approx(1.04)
    assert point.time_basis == "wall"


@pytest.mark.parametrize("busy_s", [None, 0.0, math.nan])
def test_without_kernels_the_events_count(busy_s: float | None) -> None:
    """A profile of another version, or one that saw nothing."""
    assert _place(_with_kernels(busy_s, device_s=0.05)).device_share == pytest.approx(0.5)
    assert _place(_with_kernels(busy_s)).device_share is None


def test_a_step_without_a_time_has_no_share() -> None:
    """Whatever its kernels took."""
    record = _with_kernels(0.03)
    assert record.timing is not None
    assert busy_share(replace(record, timing=replace(record.timing, step_time_s=0.0))) is None
    assert busy_share(replace(record, timing=None)) is None


_CACHE = Device(kind="cuda", name="x", last_level_cache_byte=50 * 10**6)
_PARTS = {f"{part}_byte": 10**7 for part in ("parameter", "gradient", "optimizer_state", "activation")}


@pytest.mark.parametrize(
    ("device", "changes", "resident"),
    [
        (_CACHE, {"low": 32e6, "high": 32e6}, True),
        (_CACHE, {"low": 1e6, "high": 51e6}, False),
        (Device(kind="cuda", name="x"), {"low": 32e6, "high": 32e6}, False),
        # 50 MB of parameters, their state and gradients are read and written; the rest are inputs.
        (_CACHE, {"low": 60e6, "high": 500e6, **_PARTS}, True),
        (_CACHE, {"low": 60.1e6, "high": 500e6, **_PARTS}, False),
        (_CACHE, {"low": 1e6, "high": 500e6, **_PARTS}, True),
        (_CACHE, {"low": 1e6, "high": 500e6, "parameter_byte": 10**7}, False),
        (_CACHE, {"low": math.nan, "high": math.nan}, False),
    ],
)
def test_cache_residence(device: Device, changes: dict[str, Any], resident: bool) -> None:
    """At most what is read and written is touched; parts tell less, but only if all of them are known."""
    assert is_cache_resident(build.record(device=device, work=build.work(1e9, **changes))) is resident


def test_a_resident_point_is_not_held_against_dram() -> None:
    """32 MB moved in 5 us with a 50 MB cache: compute is the only roof, unless the cache's is known."""
    record = build.record(device=_CACHE, work=build.work(1e6, 32e6, 32e6), timing=build.timing(5e-6))
    point = _place(record)
    assert (point.cache_resident, point.memory_level, point.memory_byte_per_s) == (True, None, None)
    assert point.fraction_high == point.fraction_of_compute
    known = _place(record, Roofs(roofs=(*_ROOFS.roofs, build.roof("byte", "llc", 8e12))))
    assert (known.memory_level, known.memory_byte_per_s) == ("llc", 8e12)


def test_fp32_is_never_held_against_tf32() -> None:
    """The dtype the step ran in picks the roof."""
    roofs = Roofs(
        roofs=(
            build.roof("flop", "fp32", 19.5e12),
            build.roof("flop", "tf32", 156e12),
            build.roof("byte", "dram", 1e12),
        )
    )
    assert place(build.record(work=build.work(dtype="fp32")), roofs).compute_flop_per_s == 19.5e12
    assert place(build.record(work=build.work(dtype="tf32")), roofs).compute_flop_per_s == 156e12
    mixed = build.work(2e11, flop_by_dtype={"fp32": 1e11, "tf32": 1e11})
    assert place(build.record(work=mixed), roofs).compute_flop_per_s == pytest.approx(2 / (1 / 19.5e12 + 1 / 156e12))
