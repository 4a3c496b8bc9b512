"""Products of stated figures, with their arithmetic."""

import pytest

from roofline.audits.rules.products import rate_times_time, throughput_times_latency
from tests.roofline.audits.make import found, row


def test_the_arithmetic_names_all_three_figures() -> None:
    (one,) = found(rate_times_time, [row(attained_flop_per_s=4.5e12, step_time_s=57.6e-6, flop_per_step=32.5e6)])
    assert one.arithmetic == "4.5000 TFLOP/s x 57.600 µs = 259.20 MFLOP, but a step has 32.500 MFLOP (7.98 times)"


def test_steps_a_second_times_the_time_of_one_is_one() -> None:
    """pytest-benchmark's ops is 1 / mean."""
    (one,) = found(rate_times_time, [row(steps_per_s=100.0, mean_s=0.02)])
    assert "100 steps/s x 20.000 ms = 2 steps, not 1" in one.arithmetic
    assert found(rate_times_time, [row(steps_per_s=50.0, mean_s=0.02)]) == ()


def test_steps_times_step_time_is_the_time_of_all() -> None:
    (one,) = found(rate_times_time, [row(steps=100, step_time_s=0.1, total_s=12.0)])
    assert "100 steps x 100.00 ms = 10.000 s, but all together took 12.000 s (-16.7 %)" in one.arithmetic


def test_two_wrong_products_are_one_finding_of_a_row() -> None:
    wrong = row(steps=100, step_time_s=0.1, total_s=12.0, steps_per_s=100.0, mean_s=0.02)
    (one,) = found(rate_times_time, [wrong])
    assert one.arithmetic.count(";") == 1


@pytest.mark.parametrize(("tolerance", "fires"), [(None, True), (0.05, False), (0.01, True)])
def test_the_tolerance_of_throughput_and_latency_is_settable(tolerance: float | None, fires: bool) -> None:
    """100 x 0.333 is 33.3, 4.06 % above a batch of 32."""
    rows = [row(samples_per_s=100.0, step_time_s=0.333, batch=32)]
    assert bool(found(throughput_times_latency, rows, tolerance)) == fires


def test_one_latency_of_another_row_is_found() -> None:
    (one,) = found(throughput_times_latency, [row(samples_per_s=100.0, step_time_s=0.5, batch=32)])
    assert one.arithmetic == "100 samples/s x 500.00 ms = 50, but the batch is 32 (+56.2 %)"
