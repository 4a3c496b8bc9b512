"""A fraction and what leaves it open: exact figures of exact inputs."""

import math
from pathlib import Path

import pytest

from roofline.expectations.fraction import lowest, of_roof, of_speed_of_light
from roofline.record import RoofSample
from roofline.roofs import Roofs
from tests.roofline import build
from tests.roofline.expectations import build_points


def test_of_one_session(tmp_path: Path) -> None:
    """A tenth of the roof; by roofs a fifth lower it is 1.25 times that; the margin reached is 0.8 %."""
    points = build_points.points(tmp_path, build_points.record())
    for fraction in (of_roof(points), of_speed_of_light(points)):
        assert fraction is not None
        assert fraction.value == fraction.least == pytest.approx(0.1)
        assert (fraction.timing, fraction.sessions) == (0.008, None)
        assert fraction.roofs == pytest.approx(0.25)
        assert fraction.at_most == pytest.approx(0.1 * 1.25 * 1.008)
        assert fraction.told == "timing ±0.80 %, by the roofs' worst samples +25 %"


def test_a_roof_that_was_sampled_once_is_told(tmp_path: Path) -> None:
    """Its spread of 0 is no knowledge; that of another dtype's roof doesn't matter."""
    sample = RoofSample(value=1e13, kernel="matmul", at="2026-11-20T10:00:00+00:00")
    other = build.roof("flop", "bf16", 2e13, samples=(sample,))
    for samples, once in (((sample,), True), ((sample, sample), False)):
        over = (*build_points.roofs(0.0, samples=samples), other)
        fraction = of_roof(build_points.points(tmp_path, build_points.record(), over=over))
        assert fraction is not None
        assert fraction.once is once
        assert ("a roof sampled once" in fraction.told) is once


def test_of_bytes_that_are_a_range_the_least_counts(tmp_path: Path) -> None:
    """0.2 to 0.4 of the memory roof is 0.4; of the speed of light, by the least bytes too, 0.2."""
    points = build_points.points(tmp_path, build_points.record(work=build_points.memory_work()))
    roof, light = of_roof(points), of_speed_of_light(points)
    assert roof is not None
    assert light is not None
    assert roof.value == pytest.approx(0.4)
    assert light.value == pytest.approx(0.2)
    assert roof.roofs == light.roofs == pytest.approx(0.25)


def test_sessions_have_a_median_and_a_deviation(tmp_path: Path) -> None:
    """Of 0.1, 0.05 and 0.075: the median, the lowest, 0.025 over 0.075, and the widest margin."""
    found = [
        build_points.points(
            tmp_path,
            build_points.record(timing=build.timing(step, margin=margin)),
            name=name,
            over=build_points.roofs(None),
        )[0]
        for name, step, margin in (("a", 0.1, 0.03), ("b", 0.2, 0.04), ("c", 0.4 / 3, 0.0))
    ]
    fraction = of_roof(found)
    assert fraction is not None
    assert fraction.value == pytest.approx(0.075)
    assert fraction.least == pytest.approx(0.05)
    assert fraction.timing == 0.04
    assert fraction.sessions == pytest.approx(1 / 3)
    assert fraction.roofs == 0.0
    assert fraction.scatter == pytest.approx(math.hypot(0.04, 1 / 3))
    assert "between sessions ±33 %" in fraction.told


def test_without_a_margin_the_rounds_tell(tmp_path: Path) -> None:
    """Their deviation of 2 %; with neither, nothing is claimed."""
    rounds = build_points.record(timing=build.timing(margin=None))
    fraction = of_roof(build_points.points(tmp_path, rounds))
    assert fraction is not None
    assert fraction.timing == pytest.approx(0.02)
    window = build_points.record(timing=build.timing(margin=None, step_time_sd_s=None))
    fraction = of_roof(build_points.points(tmp_path, window))
    assert fraction is not None
    assert fraction.timing is None
    assert fraction.told.startswith("timing not known")


def test_without_a_count_there_is_none(tmp_path: Path) -> None:
    """Neither of one session nor of several of which one has none."""
    good = build_points.points(tmp_path, build_points.record())
    bad = build_points.points(tmp_path, build_points.record(work=None), name="b")
    assert of_roof(bad) is None
    assert of_speed_of_light(bad) is None
    assert of_roof([*good, *bad]) is None
    assert of_roof([]) is None


def test_the_lowest_roofs_are_their_worst_samples() -> None:
    """A published roof has no samples, and the best launch latency is the least: both stay."""
    roofs = Roofs(
        roofs=(
            build.roof("flop", "fp32", 1e13, spread=0.2),
            build.roof("byte", "dram", 1e11, spread=None, source="spec"),
            build.roof("latency", "launch", 1e-6, spread=0.5),
            build.roof("byte", "llc", 1e12, spread=1.0),
        )
    )
    assert [roof.value for roof in lowest(roofs).roofs] == [8e12, 1e11, 1e-6, 1e12]
