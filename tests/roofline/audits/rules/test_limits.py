"""What no machine can do."""

from roofline.audits.figure import exact
from roofline.audits.row import Roof
from roofline.audits.rules.limits import above_roof, faster_than_launch, faster_than_light
from tests.roofline.audits.make import found, row

_A100 = "NVIDIA A100 80GB PCIe"


def test_far_above_a_stated_peak() -> None:
    """17 TFLOP in 1 ms against 27 TFLOP/s."""
    (one,) = found(above_roof, [row(flop_per_step=1.7e13, step_time_s=1e-3, peak_flop_per_s=2.7e13)])
    assert one.arithmetic == (
        "FLOP of a step / step time 17.000 PFLOP/s is 630 times the 27.000 TFLOP/s of the stated peak"
    )


def test_above_the_published_roof_of_the_device() -> None:
    """0.16 µs for an MLP's 60.1 MFLOP on an A100."""
    (one,) = found(above_roof, [row(device=_A100, precision="fp32", flop_per_step=60.1e6, step_time_s=0.16e-6)])
    assert "2.41 times" in one.arithmetic
    assert f"{_A100} in tf32" in one.arithmetic


def test_winograd_is_named_where_it_may_explain() -> None:
    own = Roof(flop_per_s=exact(1e12), source="the measured roof")
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
