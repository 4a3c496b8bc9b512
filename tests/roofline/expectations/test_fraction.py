"""A fraction and what leaves it open: exact figures of exact inputs."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from roofline.comparison.observations.observation import disturbed_sessions
from roofline.expectations.fraction import Fraction, from_the_top, lowest, of_roof, of_speed_of_light, why_disturbed
from roofline.machine.roof_choice import Roofs
from roofline.model.points import Point
from roofline.schema.record import Rounds
from roofline.schema.session import RoofSample
from tests.roofline import build
from tests.roofline.expectations import build_points


def _known(fraction: Fraction | None) -> Fraction:
    assert fraction is not None
    return fraction


def _of_roof(points: Sequence[Point]) -> Fraction:
    return _known(of_roof(points, {}))


def test_of_one_session(tmp_path: Path) -> None:
    """A tenth of the roof; by roofs a fifth lower it is 1.25 times that; the margin reached is 0.8 %."""
    points = build_points.points(tmp_path, build_points.record())
    for fraction in (_of_roof(points), _known(of_speed_of_light(points, {}))):
        assert fraction.value == fraction.least == pytest.approx(0.1)
        assert (fraction.timing, fraction.sessions) == (0.008, None)
        assert fraction.roofs == pytest.approx(0.25)
        assert fraction.at_most == pytest.approx(0.1 * 1.25 * 1.008)
        assert fraction.why_open == fraction.why_at_most == "timing ±0.80 %, by the roofs' worst samples +25 %"


def test_a_roof_that_was_sampled_once_is_told(tmp_path: Path) -> None:
    """Its spread of 0 is no knowledge; that of another dtype's roof doesn't matter."""
    sample = RoofSample(value=1e13, kernel="matmul", at="2026-11-20T10:00:00+00:00")
    other = build.roof("flop", "bf16", 2e13, samples=(sample,))
    for samples, once in (((sample,), True), ((sample, sample), False)):
        over = (*build_points.roofs(0.0, samples=samples), other)
        fraction = _of_roof(build_points.points(tmp_path, build_points.record(), over=over))
        assert fraction.once is once
        assert ("a roof sampled once" in fraction.why_open) is once


def test_of_bytes_that_are_a_range_the_least_counts(tmp_path: Path) -> None:
    """0.2 to 0.4 of the memory roof is 0.4; of the speed of light, by the least bytes too, 0.2."""
    points = build_points.points(tmp_path, build_points.record(work=build_points.memory_work()))
    roof, light = _of_roof(points), _known(of_speed_of_light(points, {}))
    assert roof.value == pytest.approx(0.4)
    assert light.value == pytest.approx(0.2)
    assert roof.roofs == light.roofs == pytest.approx(0.25)


def _sessions(folder: Path, *of: tuple[float, float, float]) -> list[Point]:
    """:param of: of each session its fraction, the margin of its time, and the spread of its roofs."""
    return [
        build_points.points(
            folder,
            build_points.record(timing=build.timing(0.01 / value, margin=margin)),
            name=f"s{number}",
            over=build_points.roofs(spread),
        )[0]
        for number, (value, margin, spread) in enumerate(of)
    ]


def test_sessions_have_a_median_and_a_deviation(tmp_path: Path) -> None:
    """Of 0.1, 0.05 and 0.075: the median, the lowest, 0.025 over 0.075, and the widest margin."""
    fraction = _of_roof(_sessions(tmp_path, (0.1, 0.03, 0.0), (0.05, 0.04, 0.0), (0.075, 0.0, 0.0)))
    assert fraction.value == pytest.approx(0.075)
    assert fraction.least == pytest.approx(0.05)
    assert fraction.timing == 0.04
    assert fraction.sessions == pytest.approx(1 / 3)
    assert fraction.roofs == 0.0
    assert fraction.scatter == pytest.approx(math.hypot(0.04, 1 / 3))
    assert fraction.why_open == "timing ±4.0 %, between sessions ±33 %, by the roofs' worst samples +0 %"
    assert fraction.why_at_most == f"by the highest of 3 sessions; {fraction.why_open}"


@pytest.mark.parametrize("slower", [(0.05, 0.6, 0.0), (0.04, 0.01, 0.5), (0.059, 0.9, 0.9)])
def test_a_slower_session_that_hardly_knows_its_time_raises_nothing(
    tmp_path: Path, slower: tuple[float, float, float]
) -> None:
    """Beside one at 6 % to 2 %: a floor that this missed is missed."""
    alone = _of_roof(_sessions(tmp_path / "alone", (0.06, 0.02, 0.0)))
    both = _of_roof(_sessions(tmp_path / "both", (0.06, 0.02, 0.0), slower))
    assert both.at_most == alone.at_most == pytest.approx(0.06 * 1.02)


def test_few_sessions_leave_open_what_the_highest_of_them_does(tmp_path: Path) -> None:
    """By its own margin and its own roofs, not by the worst of the others': 0.105 x 1.01, not 0.1 x 1.25."""
    fraction = _of_roof(_sessions(tmp_path, (0.105, 0.01, 0.0), (0.05, 0.2, 0.0), (0.075, 0.0, 0.0)))
    assert fraction.at_most == pytest.approx(0.105 * 1.01)
    fraction = _of_roof(_sessions(tmp_path, (0.105, 0.01, 0.0), (0.1, 0.0, 0.2)))
    assert fraction.at_most == pytest.approx(0.105 * 1.01)
    fraction = _of_roof(_sessions(tmp_path, (0.105, 0.0, 0.2), (0.1, 0.01, 0.0)))
    assert fraction.at_most == pytest.approx(0.105 * 1.25)
    assert fraction.value == pytest.approx(0.1025)


@pytest.mark.parametrize(("sessions", "rank"), [(1, 1), (4, 1), (7, 1), (8, 2), (10, 2), (11, 3), (2000, 963)])
def test_of_many_sessions_the_highest_prove_nothing(sessions: int, rank: int) -> None:
    """Fewer than ``rank`` of so many lie above their median by a chance of one in twenty at most, and not fewer than
    one more: of eight none or one by 9 in 256.
    """
    assert from_the_top(sessions) == rank
    chances = [sum(math.comb(sessions, above) for above in range(below)) for below in (rank, rank + 1)]
    assert 20 * chances[1] > 2**sessions
    assert rank == 1 or 20 * chances[0] <= 2**sessions


def test_the_highest_of_eight_sessions_may_be_chance(tmp_path: Path) -> None:
    """The second is the bound then, and that is told."""
    fraction = _of_roof(
        _sessions(tmp_path, (0.2, 0.0, 0.0), *((0.1 + 0.001 * number, 0.0, 0.0) for number in range(7)))
    )
    assert fraction.at_most == pytest.approx(0.106)
    assert fraction.why_at_most == f"by the highest but 1 of 8 sessions; {fraction.why_open}"


def test_a_time_or_a_roof_may_be_no_knowledge(tmp_path: Path) -> None:
    """A margin as large as the time; roofs of which the worst sample is half of the best, or nothing of it."""
    for margin, spread, timed, known in (
        (0.008, 0.4, True, True),
        (0.99, 0.0, True, True),
        (1.0, 0.1, False, False),
        (1e9, 0.0, False, False),
        (1e300, 0.0, False, False),
        (0.008, 0.5, True, False),
        (0.008, 0.9999, True, False),
        (0.008, 1.0, True, False),
        (0.008, 7.0, True, False),
    ):
        fraction = _of_roof(_sessions(tmp_path, (0.1, margin, spread)))
        assert (fraction.timed, not fraction.open) == (timed, known)
        assert math.isfinite(fraction.at_most)
        assert len(fraction.why_open) < 100


def test_without_a_margin_the_rounds_tell(tmp_path: Path) -> None:
    """Their deviation of 2 %; with neither, nothing is claimed."""
    rounds = build_points.record(timing=build.timing(margin=None))
    fraction = _of_roof(build_points.points(tmp_path, rounds))
    assert fraction.timing == pytest.approx(0.02)
    window = build_points.record(timing=build.timing(margin=None, step_time_sd_s=None))
    fraction = _of_roof(build_points.points(tmp_path, window))
    assert fraction.timing is None
    assert fraction.why_open.startswith("timing not known")


def test_without_a_count_there_is_none(tmp_path: Path) -> None:
    """Neither of one session nor of several of which one has none."""
    good = build_points.points(tmp_path, build_points.record())
    bad = build_points.points(tmp_path, build_points.record(work=None), name="b")
    assert of_roof(bad, {}) is None
    assert of_speed_of_light(bad, {}) is None
    assert of_roof([*good, *bad], {}) is None
    assert of_roof([], {}) is None


def test_the_lowest_roofs_are_their_worst_samples() -> None:
    """A published roof has no samples, and the best launch latency is the least: both stay. Of samples that differ by
    all of the roof, hardly anything does.
    """
    roofs = Roofs(
        roofs=(
            build.roof("flop", "fp32", 1e13, spread=0.2),
            build.roof("byte", "dram", 1e11, spread=None, source="spec"),
            build.roof("latency", "launch", 1e-6, spread=0.5),
            build.roof("byte", "llc", 1e12, spread=1.0),
        )
    )
    assert [roof.value for roof in lowest(roofs).roofs] == pytest.approx([8e12, 1e11, 1e-6, 1e3])


@pytest.mark.parametrize(("disturbed", "why"), [(1, None), (2, "2 of 3 cases were mostly disturbed from outside")])
def test_the_time_of_a_loud_session_is_not_known(tmp_path: Path, disturbed: int, why: str | None) -> None:
    """Also of a case that met nobody in it; one loud neighbour makes no loud session."""
    records = []
    for number in range(3):
        marks = ("steal" if 0 < number <= disturbed else None,) * 10
        timing = build.timing(0.1, rounds=Rounds(steps=1, wall_s=(0.1,) * 10, disturbed=marks), margin=0.01)
        records.append(build_points.record(case=build.case(model=f"m{number}"), timing=timing))
    first = build_points.points(tmp_path, *records)[0]
    sessions = disturbed_sessions([first.result])
    fraction = _known(of_roof([first], sessions))
    assert (why_disturbed(first, sessions), fraction.timing) == (why, 0.01 if why is None else None)
