"""The speed of light is the least time the roofs allow: hand-computed sums."""

from typing import Any

import pytest

from roofline.machine.roof_choice import Roofs
from roofline.model.speed_of_light import SpeedOfLight, speed_of_light
from roofline.schema.record import Device, Operation, Record
from tests.roofline import build

# fp32 1e12 FLOP/s, DRAM 1e10 B/s, last-level cache 1e11 B/s of 1 MB.
_ROOFS = Roofs(
    roofs=(build.roof("flop", "fp32", 1e12), build.roof("byte", "dram", 1e10), build.roof("byte", "llc", 1e11))
)
_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)


def _record(*operations: Operation, **changes: Any) -> Record:
    return build.record(device=_DEVICE, operations=operations, **changes)


def _sol(record: Record, roofs: Roofs = _ROOFS, *, resident: bool = False) -> SpeedOfLight:
    return speed_of_light(record, roofs, resident=resident)


def test_each_operation_takes_the_longer_of_both() -> None:
    """1e12 FLOP and 1e9 B: 1 s against 0.1 s. 1e10 FLOP and 1e9 B: 0.01 s against 0.1 s. Together 1.1 s."""
    sol = _sol(
        _record(
            build.operation(flop=1e12, byte=1e9, working_set_byte=1e9),
            build.operation(flop=1e10, byte=1e9, working_set_byte=1e9),
        )
    )
    assert sol.time_s == pytest.approx(1.1, rel=1e-12)
    assert sol.compute_s == pytest.approx(1.01, rel=1e-12)
    assert sol.memory_s == pytest.approx(0.2, rel=1e-12)
    assert sol.method == "operations"
    assert sol.reservations == ()


def test_a_working_set_that_fits_goes_to_the_cache() -> None:
    """1e9 B in calls of at most 1 MB: 0.01 s from the cache instead of 0.1 s from DRAM."""
    assert _sol(_record(build.operation(flop=0, byte=1e9, working_set_byte=1e6))).time_s == pytest.approx(0.01)
    assert _sol(_record(build.operation(flop=0, byte=1e9, working_set_byte=1e6 + 1))).time_s == pytest.approx(0.1)


def test_a_cache_without_a_roof_bounds_nothing() -> None:
    """What may stay in a cache of unknown speed is not held against DRAM."""
    roofs = Roofs(roofs=_ROOFS.roofs[:2])
    sol = _sol(_record(build.operation(flop=1e10, byte=1e9, working_set_byte=1e6)), roofs)
    assert sol.time_s == pytest.approx(0.01)


def test_a_cache_measured_slower_than_dram_counts_as_dram() -> None:
    """The faster of both is the bound that holds."""
    roofs = Roofs(roofs=(*_ROOFS.roofs[:2], build.roof("byte", "llc", 1e9)))
    assert _sol(_record(build.operation(flop=0, byte=1e9, working_set_byte=1)), roofs).time_s == pytest.approx(0.1)


def test_a_cache_of_unknown_size_is_a_reservation() -> None:
    """Everything goes to DRAM then, and that is said."""
    record = build.record(
        device=Device(kind="cuda", name="x"), operations=(build.operation(flop=0, byte=1e9, working_set_byte=1),)
    )
    sol = _sol(record)
    assert sol.time_s == pytest.approx(0.1)
    assert "cache's size is not known" in sol.reservations[0]


def test_winograd_needs_less() -> None:
    """A marked fp32 convolution: FLOP / 2.25. The mark means nothing in another dtype."""
    marked = build.operation(flop=2.25e12, byte=1, working_set_byte=1e9, winograd=True)
    assert _sol(_record(marked)).time_s == pytest.approx(1.0, rel=1e-12)
    half = build.operation(flop=2.25e12, byte=1, working_set_byte=1e9, winograd=True, dtype="bf16")
    roofs = Roofs(roofs=(*_ROOFS.roofs, build.roof("flop", "bf16", 1e12)))
    assert _sol(_record(half), roofs).time_s == pytest.approx(2.25, rel=1e-12)


@pytest.mark.parametrize(
    "changes",
    [{"case": build.case(config={"compile": True})}, {"timing": build.timing(compile_s=3.0)}],
    ids=["asked for", "compiled"],
)
def test_a_compiled_step_is_bounded_by_the_sums(changes: dict[str, Any]) -> None:
    """Fusion removes the traffic between operations: max(1.01 s of arithmetic, 2e9 B least / 1e10 = 0.2 s)."""
    operations = (
        build.operation(flop=1e12, byte=9e10, working_set_byte=1e9),
        build.operation(flop=1e10, byte=9e10, working_set_byte=1e9),
    )
    sol = _sol(_record(*operations, work=build.work(1.01e12, 2e9, 2e11), **changes))
    assert sol.time_s == pytest.approx(1.01, rel=1e-12)
    assert sol.memory_s == pytest.approx(0.2, rel=1e-12)
    assert sol.method == "totals"


def test_without_operations_the_totals_serve() -> None:
    """5e11 FLOP at 1e12 is 0.5 s; at least 1e10 B at 1e10 is 1 s."""
    sol = _sol(_record(work=build.work(5e11, 1e10, 2e10)))
    assert sol.time_s == pytest.approx(1.0, rel=1e-12)
    assert sol.method == "totals"


def test_a_resident_step_is_bounded_by_the_cache() -> None:
    """The least traffic of a step whose data fits goes at the cache's rate: 1e10 / 1e11 = 0.1 s, less than 0.5 s."""
    assert _sol(_record(work=build.work(5e11, 1e10, 2e10)), resident=True).time_s == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("record", "roofs", "why"),
    [
        (build.record(work=None), _ROOFS, "the work of the step was not counted"),
        (build.record(), Roofs(roofs=(), why_none="unknown device"), "no roofs: unknown device"),
        (build.record(work=build.work(dtype="fp16")), _ROOFS, "no compute roof for fp16"),
        (build.record(), Roofs(roofs=_ROOFS.roofs[:1]), "no DRAM roof"),
        (build.record(work=build.work(float("nan"))), _ROOFS, "the count of the step is not a finite number"),
        (build.record(work=build.work(low=float("inf"))), _ROOFS, "the count of the step is not a finite number"),
        *(
            (
                _record(build.operation(byte=byte)),
                _ROOFS,
                "the counts of the operations are no numbers of a step's size",
            )
            for byte in (float("inf"), float("nan"))
        ),
    ],
)
def test_none_with_the_reason(record: Record, roofs: Roofs, why: str) -> None:
    """No bound is better than one without its roofs."""
    sol = _sol(record, roofs)
    assert sol.time_s is None
    assert sol.why_none == why


def test_a_negligible_share_may_lack_its_roof() -> None:
    """1 % of the FLOPs in a dtype without roof counts as taking no time: the bound stays a bound."""
    operations = (
        build.operation(flop=0.99e12, byte=1, working_set_byte=1e9),
        build.operation(flop=0.01e12, byte=1, working_set_byte=1e9, dtype="fp64"),
    )
    sol = _sol(_record(*operations))
    assert (sol.time_s, sol.compute_s) == (pytest.approx(0.99, rel=1e-6), pytest.approx(0.99, rel=1e-6))
