"""Throughput that falls off a cliff."""

import pytest

from roofline.audits.row import Row
from roofline.audits.rules.throughput import throughput_cliff
from tests.roofline.audits.make import found, row


def _rows(**of_last: float) -> list[Row]:
    rates = ((32, 900.0, 5e9), (64, 1000.0, 9e9), (96, 1020.0, 12.5e9))
    rows = [
        row(model="m", batch=batch, samples_per_s=rate, reserved_byte=r, memory_byte=16e9) for batch, rate, r in rates
    ]
    return [*rows, row(9, model="m", batch=128, samples_per_s=85.0, **of_last)]


@pytest.mark.parametrize(
    ("of_last", "cause"),
    [
        (
            {"reserved_byte": 19e9, "memory_byte": 16e9},
            "memory spilled to the host (19.000 GB reserved of 16.000 GB, 119 %)",
        ),
        ({"reserved_byte": 12e9, "memory_byte": 16e9}, "undetermined (12.000 GB reserved of 16.000 GB, 75.0 %)"),
        ({}, "undetermined (the memory reserved is not stated)"),
    ],
)
def test_the_cliff_and_its_cause(of_last: dict[str, float], cause: str) -> None:
    """Only batch 128 falls, to a twelfth."""
    (one,) = found(throughput_cliff, _rows(**of_last))
    assert one.row.number == 9
    assert one.arithmetic == (
        f"85 samples/s at batch 128, but 1020 at batch 96 (line 2): 12.0 times less. Cause: {cause}"
    )


def test_what_comes_after_the_first_fall_is_found_too() -> None:
    rows = [
        row(n, model="m", batch=batch, samples_per_s=rate)
        for n, (batch, rate) in enumerate(((64, 220.0), (128, 47.0), (256, 40.0)))
    ]
    assert [one.row.number for one in found(throughput_cliff, rows)] == [1, 2]


def test_series_are_not_mixed() -> None:
    """Another precision, size or device is another series."""
    base = {"model": "m", "batch": 64, "samples_per_s": 1000.0}
    slow = {"model": "m", "batch": 128, "samples_per_s": 10.0}
    for name, value in (
        ("precision", "fp32"),
        ("size_pixel", 448),
        ("device", "cpu"),
        ("mode", "train"),
        ("file", "b"),
    ):
        assert found(throughput_cliff, [row(**base), row(**slow, **{name: value})]) == ()
    assert len(found(throughput_cliff, [row(**base), row(**slow)])) == 1


def test_throughput_may_follow_from_the_step_time() -> None:
    rows = [row(model="m", batch=64, step_time_s=0.1), row(model="m", batch=128, step_time_s=2.0)]
    assert len(found(throughput_cliff, rows)) == 1
