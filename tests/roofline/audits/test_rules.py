"""Every rule fires where it must and is silent where it must be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.audits import RULES
from roofline.audits.row import Ceiling, StatedRow, exact, rounded
from roofline.audits.rule import Rule, run
from roofline.audits.rules.limits import roof_of
from roofline.audits.rules.rates import COUNTINGS, unexplained_rate
from tests.roofline.audits.make import KNOWN, POOLED, found, row, table, times

BY_NAME = {rule.name: rule for rule in RULES}

_A100 = "NVIDIA A100 80GB PCIe"
_LAPTOP = "NVIDIA GeForce RTX 4090 Laptop GPU"


def _series(*rates: tuple[int, float]) -> list[StatedRow]:
    return [row(model="m", batch=batch, samples_per_s=rate) for batch, rate in rates]


def _traffic(*points: tuple[float, float]) -> list[StatedRow]:
    return [
        row(number, device="mps", attained_flop_per_s=attained, intensity_flop_per_byte=intensity)
        for number, (attained, intensity) in enumerate(points, 2)
    ]


def _rate(model: str, rate: float, attained: float, **more: object) -> StatedRow:
    return row(model=model, samples_per_s=rate, attained_flop_per_s=attained, **more)


FIRES: dict[str, list[StatedRow]] = {
    "rate_times_time": [row(attained_flop_per_s=4.5e12, step_time_s=57.6e-6, flop_per_step=32.5e6)],
    "throughput_times_latency": [row(samples_per_s=100.0, step_time_s=0.5, batch=32)],
    "flop_of_mac": [row(model="own", flop_per_sample=2.05e9, mac_per_sample=4.09e9)],
    "unexplained_rate": [
        _rate("resnet50", 100.0, 1635.6e9),
        _rate("resnet50", 200.0, 3271.2e9),
        _rate("resnet50", 300.0, 2000.0e9),
    ],
    "pooled": [row(model="m", device=device, samples_per_s=161.27) for device in ("l4", "t4")],
    "same_as_cpu": [
        row(model="m", device="cpu", device_kind="cpu", step_time_s=1.000),
        row(model="m", device="cuda", device_kind="accelerator", step_time_s=1.006),
    ],
    "mean_above_percentile": [row(mean_s=12e-3, percentiles=times(p95=10e-3))],
    "out_of_order": [row(percentiles=times(p95=10e-3, p99=9e-3))],
    "two_clusters": [row(mean_s=15.3e-3, percentiles=times(p0=24e-6, p25=19.9e-3, p50=19.9e-3))],
    "impossible_time": [row(device_time_s=9e-3, wall_time_s=4e-3)],
    "zero_spread": [row(samples_per_s=rounded(118.61, 0.005), samples_per_s_sd=rounded(0.0, 0.005))],
    "above_roof": [row(flop_per_step=1.7e13, step_time_s=1e-3, peak_flop_per_s=2.7e13)],
    "faster_than_light": [row(step_time_s=1e-3, speed_of_light_s=2e-3)],
    "faster_than_launch": [row(device_kind="accelerator", step_time_s=0.16e-6)],
    "circular_intensity": _traffic((920e9, 10.0), (4600e9, 50.0), (184e9, 2.0)),
    "mixed_conventions": [row(model="resnet50", flop_per_sample=4.09e9)],
    "peak_of_another_card": [row(device=_LAPTOP, peak_flop_per_s=82.6e12)],
    "throughput_cliff": _series((32, 900.0), (64, 1000.0), (96, 1020.0), (128, 85.0)),
}
"""By rule: rows in which it must find at least one contradiction."""

SILENT: dict[str, list[StatedRow]] = {
    "rate_times_time": [row(attained_flop_per_s=0.565e12, step_time_s=57.6e-6, flop_per_step=32.5e6)],
    # 0.10 images/s x 10.36 s is 1.036, but 0.10 may be 0.0965.
    "throughput_times_latency": [row(samples_per_s=rounded(0.10, 0.005), step_time_s=10.36, batch=1)],
    "flop_of_mac": [
        row(flop_per_sample=8.18e9, mac_per_sample=4.09e9),
        row(flop_per_sample=24.5e9, mac_per_sample=4.09e9, mode="train"),
    ],
    "unexplained_rate": [_rate("resnet50", 100.0, 2429.9e9), _rate("vgg16", 100.0, 9264.8e9)],
    # Other values; the same printed one, but of two digits; and of different work.
    "pooled": [
        row(model="k", device="l4", samples_per_s=161.27),
        row(model="k", device="t4", samples_per_s=161.28),
        row(model="m", device="l4", samples_per_s=rounded(0.10, 0.005)),
        row(model="m", device="t4", samples_per_s=rounded(0.10, 0.005)),
        row(model="n", device="t4", samples_per_s=161.27),
        row(model="o", device="l4", samples_per_s=161.27),
    ],
    "same_as_cpu": [
        row(model="m", device="cpu", device_kind="cpu", step_time_s=1.0),
        row(model="m", device="cuda", device_kind="accelerator", step_time_s=0.05),
    ],
    # A long tail: the mean lies above the third quartile, and may.
    "mean_above_percentile": [
        row(mean_s=2.41e-5, steps=38523, percentiles=times(p0=2.2e-5, p50=2.23e-5, p75=2.35e-5, p100=31e-5))
    ],
    "out_of_order": [row(mean_s=3e-3, percentiles=times(p0=1e-3, p50=1e-3, p100=9e-3))],
    # A few fast rounds, and a distribution that is wide by itself.
    "two_clusters": [
        row(mean_s=20e-3, percentiles=times(p0=24e-6, p25=19.9e-3)),
        row(mean_s=15e-3, percentiles=times(p0=1.51e-3, p25=16e-3)),
    ],
    "impossible_time": [row(device_time_s=4.05e-3, wall_time_s=4e-3)],
    # One run has no spread; a spread of 0.3 s printed without decimals says nothing.
    "zero_spread": [
        row(samples_per_s=118.61, samples_per_s_sd=0.0, runs=1),
        row(step_time_s=10.0, step_time_sd_s=rounded(0.0, 0.5)),
        row(step_time_s=10.0, step_time_sd_s=0.1),
    ],
    "above_roof": [
        row(flop_per_step=1.7e10, step_time_s=1e-3, peak_flop_per_s=2.7e13),
        row(attained_flop_per_s=1e30, device="an unknown card"),
    ],
    "faster_than_light": [row(step_time_s=1.98e-3, speed_of_light_s=2e-3)],
    "faster_than_launch": [row(device_kind="accelerator", step_time_s=20e-6), row(device_kind="cpu", step_time_s=1e-8)],
    "circular_intensity": _traffic((920e9, 10.0), (3000e9, 50.0), (150e9, 2.0)),
    "mixed_conventions": [
        row(model="resnet50", mac_per_sample=4.09e9),
        row(model="resnet50", flop_per_sample=24.3e9, mode="train"),
        row(model="an unknown model", flop_per_sample=1e9),
    ],
    "peak_of_another_card": [
        row(device=_A100, peak_flop_per_s=156e12, peak_byte_per_s=1935e9),
        row(device=_A100, peak_flop_per_s=14.2e12),  # measured: nobody's figure
    ],
    "throughput_cliff": _series((32, 900.0), (64, 1000.0), (96, 1020.0), (128, 600.0)),
}
"""By rule: rows which it must examine and leave alone."""


def test_every_rule_has_both_cases() -> None:
    names = {rule.name for rule in RULES}
    assert set(FIRES) == set(SILENT) == names
    assert len(names) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_fires(rule: Rule) -> None:
    result = run(rule, FIRES[rule.name], KNOWN)
    assert result.contradictions


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_rule_is_silent_having_looked(rule: Rule) -> None:
    """Silence counts only where the rule examined something."""
    result = run(rule, SILENT[rule.name], KNOWN)
    assert result.examined > 0
    assert result.contradictions == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_examines_nothing_where_nothing_is_stated(rule: Rule) -> None:
    """A bare row, and one of zeros, are no case for any rule, and no division by zero."""
    zero = exact(0.0)
    figures = {
        "batch", "samples_per_s", "step_time_s", "mean_s", "attained_flop_per_s", "intensity_flop_per_byte",
        "flop_per_step", "peak_flop_per_s", "peak_byte_per_s", "speed_of_light_s", "memory_byte", "reserved_byte",
        "flop_per_sample", "mac_per_sample", "total_s",
    }  # fmt: skip
    bare = row(model="resnet50", device="cpu", device_kind="cpu")
    zeros = replace(bare, **dict.fromkeys(figures, zero), roof=Ceiling(flop_per_s=zero, source="none"))
    assert run(rule, [bare, bare], KNOWN).examined == 0
    assert run(rule, [zeros, zeros], KNOWN).contradictions == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_documented(rule: Rule) -> None:
    """A few words for a heading, sentences for what follows from it."""
    assert rule.title[0].islower()
    assert len(rule.meaning) > 60
    assert rule.meaning.endswith(".")
    assert "  " not in rule.meaning


_MEMORY_CLIFF = ((32, 900.0, 5e9), (64, 1000.0, 9e9), (96, 1020.0, 12.5e9))


def _cliff(**of_last: float) -> list[StatedRow]:
    """Only batch 128 falls, to a twelfth."""
    rows = [
        row(model="m", batch=batch, samples_per_s=rate, reserved_byte=reserved, memory_byte=16e9)
        for batch, rate, reserved in _MEMORY_CLIFF
    ]
    return [*rows, row(9, model="m", batch=128, samples_per_s=85.0, **of_last)]


_FELL = "85 samples/s at batch 128, but 1020 at batch 96 (line 2): 12.0 times less. Cause: "
_OWN_ROOF = Ceiling(flop_per_s=exact(1e12), source="the measured roof")
_LIMITS = times(p75=1e-3, p100=2e-3)
_CPU = row(model="m", device="cpu", device_kind="cpu", step_time_s=1.0)
_CUDA = row(model="m", device="cuda", device_kind="accelerator", step_time_s=1.0)
_WRONG_TOTAL = row(steps=100, step_time_s=0.1, total_s=12.0, steps_per_s=100.0, mean_s=0.02)
_OWN = [row(model="own", samples_per_s=rate, attained_flop_per_s=5e9 * rate) for rate in (10.0, 20.0, 30.0)]
_ODD = row(5, model="own", samples_per_s=40.0, attained_flop_per_s=320e9)
_MODES = [
    row(number, model="resnet50", mode=mode, samples_per_s=rate, attained_flop_per_s=flop * rate)
    for number, (mode, rate, flop) in enumerate(
        (
            *(("train", rate, 24.299e9) for rate in (10.0, 20.0, 30.0)),
            *(("infer", rate, 8.178e9) for rate in (60.0, 70.0)),
        ),
        2,
    )
]


def _counts(**stated: Any) -> list[StatedRow]:
    return [row(model="resnet50", **stated)]


ARITHMETIC: list[tuple[str, list[StatedRow], str]] = [
    (
        "rate_times_time",
        FIRES["rate_times_time"],
        "4.5000 TFLOP/s x 57.600 µs = 259.20 MFLOP, but a step has 32.500 MFLOP (7.98 times)",
    ),
    # pytest-benchmark's ops is 1 / mean. Two wrong products are one finding of a row.
    (
        "rate_times_time",
        [_WRONG_TOTAL],
        "100 steps/s x 20.000 ms = 2 steps, not 1; 100 steps x 100.00 ms = 10.000 s, but all together took 12.000 s"
        " (-16.7 %)",
    ),
    (
        "throughput_times_latency",
        FIRES["throughput_times_latency"],
        "100 samples/s x 500.00 ms = 50, but the batch is 32 (+56.2 %)",
    ),
    ("above_roof", [row(device=_A100, precision="fp32", flop_per_step=60.1e6, step_time_s=0.16e-6)], "2.41 times the"),
    ("above_roof", [row(device=_A100, precision="fp32", attained_flop_per_s=4e14)], f"{_A100} in tf32"),
    ("above_roof", [row(attained_flop_per_s=1.5e12, roof=_OWN_ROOF)], "(Winograd may explain up to 2.25 times)"),
    # Attained / intensity is byte/s; without a compute roof it is all there is to check.
    (
        "above_roof",
        [row(attained_flop_per_s=1e12, intensity_flop_per_byte=2.0, peak_byte_per_s=300e9)],
        "1.0000 TFLOP/s / 2 FLOP/byte = 500.00 GB/s, but the bandwidth is 300.00 GB/s",
    ),
    ("faster_than_light", FIRES["faster_than_light"], "1.0000 ms for a step whose speed of light is 2.0000 ms"),
    # The measured launch latency goes before the general one.
    (
        "faster_than_launch",
        [row(device_kind="accelerator", step_time_s=2e-6, launch_s=3e-6)],
        "2.0000 µs a step, but a launch alone takes 3.0000 µs (measured here)",
    ),
    (
        "mean_above_percentile",
        [row(mean_s=12e-3, percentiles=times(p100=10e-3))],
        "mean 12.000 ms is above maximum 10.000 ms",
    ),
    (
        "mean_above_percentile",
        [row(mean_s=12e-3, percentiles=times(p95=10e-3, p100=100e-3))],
        "above p95 10.000 ms: the slowest 5 % would outweigh all others",
    ),
    (
        "two_clusters",
        [row(mean_s=15e-3, percentiles=times(p0=1.49e-3, p25=16e-3))],
        "mean 15.000 ms is below the lower quartile 16.000 ms, and the minimum is 1.4900 ms",
    ),
    # 100 times, 75 of them at most 1 ms, none above 2 ms: at most 1.26 ms (one time less is sure at the quartile).
    (
        "mean_above_percentile",
        [row(mean_s=1.30e-3, steps=100, percentiles=_LIMITS)],
        "above 1.2600 ms, the most that it and the maximum allow",
    ),
    ("out_of_order", [row(percentiles=times(p50=2e-3, p75=1e-3))], "p75 1.0000 ms is below median 2.0000 ms"),
    ("out_of_order", [row(percentiles=times(p0=2e-3, p100=1e-3))], "maximum 1.0000 ms is below minimum 2.0000 ms"),
    (
        "out_of_order",
        [row(percentiles=times(p0=2e-3, p100=3e-3), mean_s=1e-3)],
        "mean 1.0000 ms is below the minimum 2.0000 ms",
    ),
    (
        "zero_spread",
        [row(step_time_s=0.5, step_time_sd_s=0.0, steps=20)],
        "0.5 ± 0 s over 20 runs: no clock gives that",
    ),
    ("same_as_cpu", [_CPU, _CUDA], "1.0000 s on cuda, 1.0000 s on cpu (line 2): +0.0 %"),
    # Throughput tells as well as time.
    (
        "same_as_cpu",
        [
            row(model="m", device="cpu", device_kind="cpu", samples_per_s=100.0),
            row(model="m", device="cuda", device_kind="accelerator", samples_per_s=101.0),
        ],
        "101 samples/s on cuda, 100 samples/s on cpu",
    ),
    *(
        ("throughput_cliff", _cliff(**of_last), _FELL + cause)
        for of_last, cause in (
            (
                {"reserved_byte": 19e9, "memory_byte": 16e9},
                "memory spilled to the host (19.000 GB reserved of 16.000 GB, 119 %)",
            ),
            ({"reserved_byte": 12e9, "memory_byte": 16e9}, "undetermined (12.000 GB reserved of 16.000 GB, 75.0 %)"),
            ({}, "undetermined (the memory reserved is not stated)"),
        )
    ),
    (
        "throughput_cliff",
        [row(model="m", batch=64, step_time_s=0.1), row(model="m", batch=128, step_time_s=2.0)],
        "64 samples/s at batch 128, but 640 at batch 64",
    ),
    # Three rows agree on 5 GFLOP a sample; the fourth says 8.
    ("unexplained_rate", [*_OWN, _ODD], "5.0000 GFLOP (FLOP a sample, as in 3 rows of own) x 40 samples/s"),
    # A file of both modes counts each by its own.
    (
        "unexplained_rate",
        [*_MODES, row(7, model="resnet50", mode="infer", samples_per_s=60.0, attained_flop_per_s=24.299e9 * 60)],
        "8.1784 GFLOP (FLOP of the row's mode of resnet50) x 60 samples/s = 490.70 GFLOP/s",
    ),
    # One row of four has an intensity of its own; rounding to 0.02 hides nothing.
    (
        "circular_intensity",
        [
            *_traffic((78e9, 0.743), (239e9, 2.276), (500e9, 2.0)),
            row(1, device="mps", attained_flop_per_s=2.09e9, intensity_flop_per_byte=rounded(0.02, 0.005)),
        ],
        "in 3 of 4 rows, at intensities from 0.02 to 2.276 FLOP/byte",
    ),
    (
        "circular_intensity",
        _traffic((1e9, 1.0), (1.2e9, 1.2), (1.5e9, 1.5)),
        "in 3 of 3 rows, at intensities from 1 to 1.5 FLOP/byte",
    ),
    (
        "peak_of_another_card",
        [row(device="NVIDIA GeForce RTX 4080 Laptop GPU", peak_flop_per_s=48.7e12, peak_byte_per_s=384e9)],
        "48.700 TFLOP/s is published for NVIDIA GeForce RTX 4080, and nothing of the kind for NVIDIA GeForce RTX 4080"
        " Laptop GPU",
    ),
    # 2039 GB/s is the SXM card's; a PCIe card's is 1935.
    (
        "peak_of_another_card",
        [row(device=_A100, peak_byte_per_s=2039e9)],
        f"2.0390 TB/s is published for NVIDIA A100-SXM4-80GB, and for {_A100}: 1.9350 TB/s",
    ),
    *(
        ("mixed_conventions", _counts(**stated), text)
        for stated, text in (
            (
                {"flop_per_sample": 4.09e9},
                "0.500 times the counted forward pass of 8.1784 GFLOP (multiply-adds (MAC) under the name of FLOP)",
            ),
            (
                {"mac_per_sample": 8.178e9},
                "2.00 times the counted forward pass of 8.1784 GFLOP (FLOP taken for multiply-adds (MAC) and doubled)",
            ),
            (
                {"attained_flop_per_s": 163.56e9, "samples_per_s": 10.0, "mode": "train"},
                "0.673 times the counted training step of 24.299 GFLOP (the training factor: 2 for 3",
            ),
            (
                {"flop_per_step": 12.27e9 * 32, "batch": 32, "mode": "train"},
                "0.505 times the counted training step of 24.299 GFLOP (multiply-adds (MAC) under the name of FLOP)",
            ),
            (
                {"flop_per_step": 16.356e9 * 32, "batch": 32, "mode": "infer"},
                "2.00 times the counted forward pass",
            ),
        )
    ),
    # Models of every kind are held against their count.
    *(
        ("mixed_conventions", [row(model=name, **stated)], "times the counted")
        for name, stated in (
            ("vit_b_16", {"flop_per_sample": 17.56e9}),
            ("densenet121", {"flop_per_sample": 2.83e9, "size_pixel": 224}),
            ("bert_base", {"flop_per_step": 11.17e9, "batch": 1, "mode": "infer", "length_token": 128}),
            ("mlp", {"flop_per_step": 2 * 1_007_104, "batch": 1, "mode": "train", "parameter_count": 235_146}),
            ("timm:efficientnet_b0", {"mac_per_sample": 0.77e9, "parameter_count": 5.29e6}),
        )
    ),
]
"""Rule, rows in which it finds one contradiction, and a part of its arithmetic."""


@pytest.mark.parametrize(("name", "rows", "text"), ARITHMETIC)
def test_the_arithmetic(name: str, rows: list[StatedRow], text: str) -> None:
    """It names the figures, and what is wrong with them."""
    (one,) = found(BY_NAME[name], rows)
    assert text in one.arithmetic


_HOST = {"model": "m", "batch": 64, "samples_per_s": 1000.0}
_SLOW = {"model": "m", "batch": 128, "samples_per_s": 10.0}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("rate_times_time", [row(steps_per_s=50.0, mean_s=0.02)]),
        ("above_roof", [row(attained_flop_per_s=1e12, intensity_flop_per_byte=4.0, peak_byte_per_s=300e9)]),
        ("faster_than_launch", [row(device_kind="accelerator", step_time_s=2e-6)]),
        ("mean_above_percentile", [row(mean_s=1.26e-3, steps=100, percentiles=_LIMITS)]),
        # Of how many times is not known: then nothing is impossible.
        ("mean_above_percentile", [row(mean_s=1.30e-3, percentiles=_LIMITS)]),
        (
            "mean_above_percentile",
            [row(mean_s=rounded(10.44e-3, 0.005e-3), percentiles=((0.95, rounded(10.4e-3, 0.05e-3)),))],
        ),
        ("pooled", [row(model="m", device="l4", samples_per_s=161.27)] * 2),
        # Proven on both devices the same time is a finding about the work.
        ("same_as_cpu", [replace(_CPU, device_proven=True), replace(_CUDA, device_proven=True)]),
        ("same_as_cpu", [_CPU, replace(_CUDA, work=("other", ""))]),
        # Another precision, size or device is another series.
        *(
            ("throughput_cliff", [row(**_HOST), row(**_SLOW, **{name: value})])
            for name, value in (
                ("precision", "fp32"),
                ("size_pixel", 448),
                ("device", "cpu"),
                ("mode", "train"),
                ("file", "b"),
            )
        ),
        # With two rows that agree nothing can be said.
        ("unexplained_rate", [*_OWN[:2], _ODD]),
        ("unexplained_rate", _MODES),
        # A file that counts forward and one that counts training are both consistent.
        (
            "unexplained_rate",
            [
                row(file=file, model="resnet50", samples_per_s=rate, attained_flop_per_s=flop * rate)
                for file, flop in (("a", 8.178e9), ("b", 24.299e9))
                for rate in (1, 2)
            ],
        ),
        # Equal points have equal bandwidths for an honest reason; nor is a circle what differs by device.
        ("circular_intensity", _traffic(*[(78e9, 0.75)] * 3)),
        ("circular_intensity", _traffic((1e9, 1.0), (1.2e9, 1.2), (1.49e9, 1.49))),
        (
            "circular_intensity",
            [
                row(device=device, attained_flop_per_s=1e9 * intensity, intensity_flop_per_byte=intensity)
                for device, intensity in (("a", 1.0), ("b", 2.0), ("c", 4.0))
            ],
        ),
        *(("peak_of_another_card", [row(device=device, peak_flop_per_s=48.7e12)]) for device in ("unknown", None)),
        # 936 GB/s is an RTX 3090's: of an A100 it is somebody's measurement.
        ("peak_of_another_card", [row(device=_A100, peak_byte_per_s=936e9)]),
        *(
            ("mixed_conventions", _counts(**stated))
            for stated in (
                {"flop_per_step": 24.299e9 * 32, "batch": 32, "mode": "train"},
                {"attained_flop_per_s": 81.78e9, "samples_per_s": 10.0},
                {"attained_flop_per_s": 242.99e9, "samples_per_s": 10.0},
                {"mac_per_sample": rounded(4.11e9, 0.005e9), "size_pixel": 224},
                {"mac_per_sample": 2.10e9, "size_pixel": 160},
                {"attained_flop_per_s": 100e9, "samples_per_s": 10.0},  # wrong, but by no factor of a convention
                {"mac_per_sample": 1.5 * 4.089e9},  # a forward pass has no training factor
                {"flop_per_step": 8.178e9 / 1.5, "batch": 1, "mode": "infer"},
            )
        ),
    ],
)
def test_what_contradicts_nothing(name: str, rows: list[StatedRow]) -> None:
    """Of which a careless rule would say something."""
    assert found(BY_NAME[name], rows) == ()


@pytest.mark.parametrize(
    ("name", "rows", "places"),
    [
        # One finding for a model, a card or a circle, however many rows.
        (
            "mixed_conventions",
            [
                *(row(number, model="resnet50", flop_per_sample=4.09e9) for number in (2, 3, 4)),
                row(5, model="vgg16", flop_per_sample=30.94e9),
            ],
            [(2, 3, 4)],
        ),
        ("peak_of_another_card", [row(number, device=_LAPTOP, peak_flop_per_s=82.6e12) for number in (2, 3)], [(2, 3)]),
        ("circular_intensity", FIRES["circular_intensity"], [(2, 3, 4)]),
        # What comes after the first fall is found too.
        (
            "throughput_cliff",
            [
                row(number, model="m", batch=batch, samples_per_s=rate)
                for number, (batch, rate) in enumerate(((64, 220.0), (128, 47.0), (256, 40.0)))
            ],
            [(1,), (2,)],
        ),
        # Files are compared with each other.
        (
            "pooled",
            [
                row(number, file=file, model="m", device=file, step_time_s=0.012345678)
                for number, file in enumerate("ab")
            ],
            [(0, 1), (1, 0)],
        ),
    ],
)
def test_the_rows_of_a_finding(name: str, rows: list[StatedRow], places: list[tuple[int, ...]]) -> None:
    """The one to look at first, then those that share its fault."""
    findings = found(BY_NAME[name], rows)
    assert [(one.row.number, *(other.number for other in one.others)) for one in findings] == places


@pytest.mark.parametrize(("tolerance", "fires"), [(None, True), (0.05, False), (0.01, True)])
def test_a_tolerance_is_settable(tolerance: float | None, fires: bool) -> None:
    """100 x 0.333 is 33.3, 4.06 % above a batch of 32."""
    rows = [row(samples_per_s=100.0, step_time_s=0.333, batch=32)]
    assert bool(found(BY_NAME["throughput_times_latency"], rows, tolerance)) == fires


def test_pooled_rows_name_each_other(tmp_path: Path) -> None:
    """Those of one work on two devices that share a value."""
    cloud, laptop = found(BY_NAME["pooled"], table(tmp_path / "t.csv", POOLED))
    assert (cloud.row.number, laptop.row.number) == (2, 5)
    assert cloud.arithmetic == "attained 4.0890 TFLOP/s as in line 5 (laptop), on cloud here"


def test_a_rate_that_no_throughput_explains(tmp_path: Path) -> None:
    """Two rows pooled over two devices and one without a partner; the five others follow 2 x forward x images/s."""
    cloud, laptop, alone = found(unexplained_rate, table(tmp_path / "t.csv", POOLED))
    assert [one.row.number for one in (cloud, laptop, alone)] == [2, 5, 9]
    mean = "Pooled over line 2 (cloud) and line 5 (laptop): the run-weighted mean (6 x 200 + 3 x 350) / 9 = 250 samples"
    assert mean in cloud.arithmetic
    assert mean in laptop.arithmetic
    assert "gives 4.0892 TFLOP/s" in cloud.arithmetic
    assert "3.2713 TFLOP/s, but 4.0890 TFLOP/s is stated (+25.0 %)" in cloud.arithmetic
    assert [[other.number for other in one.others] for one in (cloud, laptop, alone)] == [[5], [2], []]
    assert "It would take 30 samples/s; no row of another device shares it" in alone.arithmetic


def test_an_equal_value_is_only_called_pooled_where_the_mean_gives_it(tmp_path: Path) -> None:
    """Without runs devices weigh the same: (200 + 350) / 2 = 275."""
    findings = found(unexplained_rate, table(tmp_path / "t.csv", POOLED.replace("4089.00", "4500.00")))
    assert [one.row.number for one in findings] == [2, 5, 9]
    assert not any("Pooled" in one.arithmetic for one in findings)
    text = POOLED.replace(",runs", ",host").replace("4089.00", "4497.90")
    cloud, *_ = found(unexplained_rate, table(tmp_path / "u.csv", text))
    assert "(1 x 200 + 1 x 350) / 2 = 275 samples/s" in cloud.arithmetic


@pytest.mark.parametrize("counting", [*COUNTINGS][1:])
def test_a_file_may_count_in_any_one_way(counting: str) -> None:
    """Wrong ways are another rule's affair; here one throughput must explain each value."""
    rows = []
    for number, (name, rate) in enumerate((("resnet50", 100.0), ("vgg16", 30.0), ("mobilenet_v2", 500.0)), 2):
        model = KNOWN.models.of(row(model=name))
        assert model is not None
        flop = COUNTINGS[counting](model, None)
        rows.append(row(number, model=name, samples_per_s=rate, attained_flop_per_s=flop.value * rate))
    assert found(unexplained_rate, rows) == ()
    wrong = row(5, model="resnet50", samples_per_s=100.0, attained_flop_per_s=1e12)
    (one,) = found(unexplained_rate, [*rows, wrong])
    assert one.row is wrong
    assert f"({counting} of resnet50)" in one.arithmetic


@pytest.mark.parametrize(
    ("stated", "flop_per_s", "source"),
    [
        # A row's own roof goes before the stated peak, and that before the published one.
        ({"roof": _OWN_ROOF, "peak_flop_per_s": 2e12, "device": _A100}, 1e12, "the measured roof"),
        ({"peak_flop_per_s": 2e12, "device": _A100}, 2e12, "the stated peak"),
        # A table's fp32 may be TF32, which frameworks run convolutions in; of what isn't known the highest.
        *(
            ({"device": _A100, "precision": precision}, roof, _A100)
            for precision, roof in (
                ("fp32", 156e12),
                ("tf32", 156e12),
                ("amp", 312e12),
                ("FP64", 19.5e12),
                ("int4", 312e12),
                (None, 312e12),
            )
        ),
        # A shorthand, a laptop card or no device gets no figure rather than a similar card's.
        *(({"device": device}, None, "") for device in ("_A100", "rtx4090", _LAPTOP, None)),
        ({"device": "NVIDIA GeForce RTX 4060", "precision": "fp16"}, None, ""),
    ],
)
def test_the_roof_of_a_row(stated: dict[str, Any], flop_per_s: float | None, source: str) -> None:
    """None where nothing is known of exactly this device and precision."""
    roof = roof_of(row(**stated), KNOWN.devices)
    if flop_per_s is None:
        assert roof is None
    else:
        assert roof is not None
        assert roof.flop_per_s == exact(flop_per_s)
        assert roof.source.startswith(source)
