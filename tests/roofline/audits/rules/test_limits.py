"""What no machine can do, and the roof that a row is held against."""

from __future__ import annotations

import pytest

from roofline.audits.row import Ceiling, exact
from roofline.audits.rules.limits import above_roof, faster_than_launch, faster_than_light, roof_of
from tests.roofline.audits.make import KNOWN, found, row

_A100 = "NVIDIA A100 80GB PCIe"


def test_above_the_published_roof_of_the_device() -> None:
    """0.16 µs for an MLP's 60.1 MFLOP on an A100."""
    (one,) = found(above_roof, [row(device=_A100, precision="fp32", flop_per_step=60.1e6, step_time_s=0.16e-6)])
    assert "2.41 times" in one.arithmetic
    assert f"{_A100} in tf32" in one.arithmetic


def test_winograd_is_named_where_it_may_explain() -> None:
    own = Ceiling(flop_per_s=exact(1e12), source="the measured roof")
    (one,) = found(above_roof, [row(attained_flop_per_s=1.5e12, roof=own)])
    assert "(Winograd may explain up to 2.25 times)" in one.arithmetic


def test_more_traffic_than_the_bandwidth() -> None:
    """Attained / intensity is byte/s; without a compute roof it is all there is to check."""
    (one,) = found(above_roof, [row(attained_flop_per_s=1e12, intensity_flop_per_byte=2.0, peak_byte_per_s=300e9)])
    assert one.arithmetic == "1.0000 TFLOP/s / 2 FLOP/byte = 500.00 GB/s, but the bandwidth is 300.00 GB/s"
    assert found(above_roof, [row(attained_flop_per_s=1e12, intensity_flop_per_byte=4.0, peak_byte_per_s=300e9)]) == ()


def test_speed_of_light() -> None:
    (one,) = found(faster_than_light, [row(step_time_s=1e-3, speed_of_light_s=2e-3)])
    assert one.arithmetic == "1.0000 ms for a step whose speed of light is 2.0000 ms"


def test_the_measured_launch_latency_goes_before_the_general_one() -> None:
    fast = row(device_kind="accelerator", step_time_s=2e-6)
    assert found(faster_than_launch, [fast]) == ()
    (one,) = found(faster_than_launch, [row(device_kind="accelerator", step_time_s=2e-6, launch_s=3e-6)])
    assert one.arithmetic == "2.0000 µs a step, but a launch alone takes 3.0000 µs (measured here)"


def test_its_own_roof_goes_before_the_stated_and_that_before_the_published() -> None:
    own = Ceiling(flop_per_s=exact(1e12), source="measured")
    assert roof_of(row(roof=own, peak_flop_per_s=2e12, device=_A100), KNOWN.devices) == own
    stated = roof_of(row(peak_flop_per_s=2e12, device=_A100), KNOWN.devices)
    assert stated == Ceiling(flop_per_s=exact(2e12), source="the stated peak")


@pytest.mark.parametrize(
    ("precision", "flop_per_s"),
    [
        ("fp32", 156e12),  # a table's fp32 may be TF32, which frameworks run convolutions in
        ("tf32", 156e12),
        ("amp", 312e12),
        ("FP64", 19.5e12),
        ("int4", 312e12),  # not known: the highest
        (None, 312e12),
    ],
)
def test_the_published_roof_by_precision(precision: str | None, flop_per_s: float) -> None:
    roof = roof_of(row(device=_A100, precision=precision), KNOWN.devices)
    assert roof is not None
    assert roof.flop_per_s == exact(flop_per_s)
    assert roof.source.startswith(_A100)


@pytest.mark.parametrize("device", ["_A100", "rtx4090", "NVIDIA GeForce RTX 4090 Laptop GPU", None])
def test_no_roof_of_another_device(device: str | None) -> None:
    """A shorthand, a laptop card or no device gets no figure rather than a similar card's."""
    assert roof_of(row(device=device), KNOWN.devices) is None


def test_no_roof_where_none_is_published_for_the_precision() -> None:
    assert roof_of(row(device="NVIDIA GeForce RTX 4060", precision="fp16"), KNOWN.devices) is None
