"""Attained FLOP/s that no throughput explains; throughput that falls off a cliff."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.audits.row import StatedRow
from roofline.audits.rules.rates import COUNTINGS, Counting, throughput_cliff, unexplained_rate
from tests.roofline.audits.make import KNOWN, POOLED, found, row, table


def test_exactly_the_rows_that_disagree_are_found(tmp_path: Path) -> None:
    """Two rows pooled over two devices and one without a partner; the six others follow 2 x forward x images/s."""
    findings = found(unexplained_rate, table(tmp_path / "t.csv", POOLED))
    assert [one.row.number for one in findings] == [2, 5, 9]


def test_the_pooled_rows_are_explained_by_their_run_weighted_mean(tmp_path: Path) -> None:
    cloud, laptop, _ = found(unexplained_rate, table(tmp_path / "t.csv", POOLED))
    mean = (
        "Pooled over line 2 (cloud) and line 5 (laptop): the run-weighted mean (6 x 200 + 3 x 350) / 9 = 250 samples/s"
    )
    assert mean in cloud.arithmetic
    assert mean in laptop.arithmetic
    assert "gives 4.0892 TFLOP/s" in cloud.arithmetic
    assert "3.2713 TFLOP/s, but 4.0890 TFLOP/s is stated (+25.0 %)" in cloud.arithmetic
    assert [other.number for other in cloud.others] == [5]
    assert [other.number for other in laptop.others] == [2]


def test_a_row_without_a_partner_says_what_it_would_take(tmp_path: Path) -> None:
    *_, alone = found(unexplained_rate, table(tmp_path / "t.csv", POOLED))
    assert "It would take 30 samples/s; no row of another device shares it" in alone.arithmetic
    assert alone.others == ()


def test_an_equal_value_that_the_mean_does_not_give_is_not_called_pooled(tmp_path: Path) -> None:
    text = POOLED.replace("4089.00", "4500.00")
    findings = found(unexplained_rate, table(tmp_path / "t.csv", text))
    assert [one.row.number for one in findings] == [2, 5, 9]
    assert not any("Pooled" in one.arithmetic for one in findings)


def test_without_runs_devices_weigh_the_same(tmp_path: Path) -> None:
    text = POOLED.replace(",runs", ",host").replace("4089.00", "4497.90")  # (200 + 350) / 2 = 275
    cloud, *_ = found(unexplained_rate, table(tmp_path / "t.csv", text))
    assert "(1 x 200 + 1 x 350) / 2 = 275 samples/s" in cloud.arithmetic


@pytest.mark.parametrize("counting", COUNTINGS[1:], ids=lambda counting: counting.name)
def test_a_file_may_count_in_any_one_way(counting: Counting) -> None:
    """Wrong ways are another rule's affair; here one throughput must explain each value."""
    rows = []
    for number, (name, rate) in enumerate((("resnet50", 100.0), ("vgg16", 30.0), ("mobilenet_v2", 500.0)), 2):
        model = KNOWN.models.of(row(model=name))
        assert model is not None
        flop = counting.of(model, None)
        rows.append(row(number, model=name, samples_per_s=rate, attained_flop_per_s=flop.value * rate))
    assert found(unexplained_rate, rows) == ()
    wrong = row(5, model="resnet50", samples_per_s=100.0, attained_flop_per_s=1e12)
    (one,) = found(unexplained_rate, [*rows, wrong])
    assert one.row is wrong
    assert f"({counting.name} of resnet50)" in one.arithmetic


def test_a_file_of_both_modes_counts_each_by_its_own() -> None:
    """Most rows train; those that infer are no contradiction for that, and a wrong one is found among them."""
    flop = {"train": 24.299e9, "infer": 8.178e9}
    measured = (("train", 10.0), ("train", 20.0), ("train", 30.0), ("infer", 60.0), ("infer", 70.0))
    rows = [
        row(number, model="resnet50", mode=mode, samples_per_s=rate, attained_flop_per_s=flop[mode] * rate)
        for number, (mode, rate) in enumerate(measured, 2)
    ]
    assert found(unexplained_rate, rows) == ()
    wrong = row(7, model="resnet50", mode="infer", samples_per_s=60.0, attained_flop_per_s=24.299e9 * 60)
    (one,) = found(unexplained_rate, [*rows, wrong])
    assert one.row is wrong
    assert "8.1784 GFLOP (FLOP of the row's mode of resnet50) x 60 samples/s = 490.70 GFLOP/s" in one.arithmetic


def test_files_count_by_themselves() -> None:
    """A file that counts forward and one that counts training are both consistent."""
    forward = [
        row(file="a", model="resnet50", samples_per_s=rate, attained_flop_per_s=8.178e9 * rate) for rate in (1, 2)
    ]
    training = [
        row(file="b", model="resnet50", samples_per_s=rate, attained_flop_per_s=24.299e9 * rate) for rate in (1, 2)
    ]
    assert found(unexplained_rate, [*forward, *training]) == ()


def test_rows_of_an_unknown_model_are_held_against_each_other() -> None:
    """Three rows agree on 5 GFLOP a sample; the fourth says 8. With two that agree nothing can be said."""
    rows = [row(model="own", samples_per_s=rate, attained_flop_per_s=5e9 * rate) for rate in (10.0, 20.0, 30.0)]
    odd = row(5, model="own", samples_per_s=40.0, attained_flop_per_s=320e9)
    (one,) = found(unexplained_rate, [*rows, odd])
    assert one.row is odd
    assert "5.0000 GFLOP (FLOP a sample, as in 3 rows of own) x 40 samples/s" in one.arithmetic
    assert found(unexplained_rate, [*rows[:2], odd]) == ()


def _rows(**of_last: float) -> list[StatedRow]:
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
