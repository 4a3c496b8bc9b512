"""Every rule fires where it must and is silent where it must be."""

from dataclasses import replace

import pytest

from roofline.audits import RULES
from roofline.audits.row import Ceiling, StatedRow, exact, rounded
from roofline.audits.rule import Rule, run
from tests.roofline.audits.make import KNOWN, row, times

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
        row(mean_s=15e-3, percentiles=times(p0=10e-3, p25=16e-3)),
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
