"""What a session says of a case: which rounds count, and how well they know it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from roofline.comparison.observations.observation import (
    Disturbed,
    Unusable,
    disturbed_session,
    flags_of,
    observe,
    observe_record,
    observe_stats,
    observe_times,
    spread_of_roof,
    why_kept_out,
)
from roofline.machine.roof_choice import Roofs
from roofline.model.placement import Placement, place
from roofline.results.result import Stats
from roofline.schema.record import Check, Flag, Record, Rounds
from tests.roofline import build


def rounds(*wall_s: float, disturbed: tuple[str | None, ...] | None = None, steps: int = 2) -> Rounds:
    return Rounds(steps=steps, wall_s=wall_s, disturbed=disturbed)


def test_median_of_the_steps() -> None:
    """The time is that of a step, in the middle of the rounds: one long round doesn't move it."""
    seen = observe(rounds(2.0, 2.2, 2.4, 2.6, 90.0), started_at="2026-01-01T00:00:00")
    assert seen.value == 1.2
    assert seen.started_at == "2026-01-01T00:00:00"


def test_few_rounds_have_no_error() -> None:
    """Below five rounds it is the median, too, and nothing is claimed of how well it is known."""
    seen = observe(rounds(1.0, 2.0, 9.0, steps=1))
    assert seen.value == 2.0
    assert seen.error is None


def test_outliers_are_counted_with_their_size() -> None:
    """Half as long again as the median is one; how long they took doesn't change how well the median is known."""
    noise = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.02)
    seen, short = (observe_times([*noise, pause, 1.49]) for pause in (30.0, 1.5))
    assert (seen.outliers, seen.slowest) == (1, pytest.approx(30.0 / 1.01))
    assert (observe_times(noise).outliers, short.outliers) == (0, 0)
    assert seen.error == short.error


def test_marked_rounds_are_left_out() -> None:
    """By their mark alone, whether they were long or short."""
    marks = ("stolen", None, None, None, None, None, "stolen")
    seen = observe(rounds(0.1, 1.0, 1.0, 1.5, 1.0, 1.0, 9.0, disturbed=marks, steps=1))
    assert (seen.value, seen.slowest) == (1.0, 1.5)


@pytest.mark.parametrize(("quiet", "usable"), [(5, True), (4, False), (0, False)])
def test_half_of_the_rounds_must_be_quiet(quiet: int, usable: bool) -> None:
    """Of ten rounds five undisturbed ones are enough, four are not."""
    marks = (None,) * quiet + ("others",) * (10 - quiet)
    series = rounds(*[1.0] * 10, disturbed=marks)
    if usable:
        assert observe(series).value == 0.5
    else:
        with pytest.raises(Unusable, match=f"{10 - quiet} of 10 rounds were disturbed"):
            observe(series)


def test_half_of_the_cases_of_a_session_must_be_quiet() -> None:
    """Each counts alike, whatever number of rounds it has; those of which nobody looked what disturbed them don't."""
    quiet, loud, long = (
        rounds(*[1.0] * count, disturbed=(mark,) * count) for count, mark in ((10, None), (10, "a"), (97, "a"))
    )
    blind = rounds(*[1.0] * 30)
    assert disturbed_session([quiet, long, blind]) is None
    assert disturbed_session([quiet, quiet, loud, long]) is None
    assert disturbed_session([quiet, loud, long, blind]) == "2 of 3 cases were mostly disturbed from outside"
    assert disturbed_session([blind]) is None
    assert disturbed_session([]) is None


def test_errors_at_the_ends() -> None:
    """Equal rounds leave nothing open; rounds that spread too far for a claim leave half of the time open, not less."""
    assert observe_times([1.0] * 10).error == 0.0
    assert observe_times([1e-6, 1.0, 1e-6, 1.0, 1.0, 1e-6]).error == 0.5


def test_over_a_roof_both_errors_count() -> None:
    """Root of the sum of squares; what isn't known isn't known over a roof, either."""
    seen = observe(rounds(2.0, 2.2, 2.4, 2.6, 90.0), started_at="2026")
    over = replace(seen, error=0.03).over(0.6, 0.04)
    assert (over.value, over.error) == (2.0, pytest.approx(0.05, rel=1e-12))
    assert replace(seen, error=None).over(0.6, 0.04).error is None
    assert over.started_at == "2026"


ROUNDS = (0.099, 0.1, 0.101, 0.1, 0.1)


def _stats(**changes: Any) -> Stats:
    values: dict[str, Any] = {
        "mean_s": 0.1,
        "median_s": 0.1,
        "stddev_s": 0.001,
        "min_s": 0.099,
        "max_s": 0.101,
        "iterations_per_s": 10.0,
        "rounds": 5.0,
        **changes,
    }
    return Stats(**values)


def test_saved_rounds_are_taken() -> None:
    """Where there are as many as the statistics say."""
    observation = observe_stats(_stats(round_times_s=ROUNDS), "2026")
    assert (observation.value, observation.started_at) == (0.1, "2026")
    assert observation.error is not None


@pytest.mark.parametrize("times", [None, (0.1, 0.1)], ids=["not saved", "cut short"])
def test_without_rounds_the_median_and_the_textbook_s_error(times: tuple[float, ...] | None) -> None:
    """1.2533 x 0.001 / 0.1005 / sqrt(5)."""
    observation = observe_stats(_stats(round_times_s=times, median_s=0.1005), "")
    assert observation.value == 0.1005
    assert observation.error == pytest.approx(1.2533 * 0.001 / 0.1005 / math.sqrt(5), rel=1e-4)


def test_the_quartiles_tell_the_error_where_they_stand() -> None:
    """A pause makes the standard deviation 300 times as large, and not the error of a median."""
    observation = observe_stats(_stats(stddev_s=0.3, iqr_s=0.001349), "")
    assert observation.error == pytest.approx(1.2533 * 0.01 / math.sqrt(5), rel=1e-4)


def test_an_error_is_at_most_all_of_the_time() -> None:
    """Of a standard deviation beyond everything nothing but this is concluded."""
    assert observe_stats(_stats(stddev_s=1e29), "").error == 1.0


@pytest.mark.parametrize("changes", [{"rounds": 3.0}, {"stddev_s": None}, {"stddev_s": -1.0}])
def test_too_little_for_an_error(changes: dict[str, Any]) -> None:
    """Then it isn't known, and not 0."""
    assert observe_stats(_stats(**changes), "").error is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mean_s": None}, "the statistics' mean is missing or not finite"),
        ({"median_s": None}, "the statistics' median is missing or not finite"),
        ({"rounds": None}, "the statistics' number of rounds is missing"),
        ({"rounds": 0.0}, "0 rounds in the statistics"),
        ({"mean_s": 0.0}, "the statistics' mean is 0 s, which is not a time"),
        ({"unit": "ms"}, "the file says that its times are in 'ms'; pytest-benchmark's are in seconds"),
        ({"round_times_s": (*ROUNDS[:4], None)}, "a round's time is not a time"),
        ({"round_times_s": (*ROUNDS[:4], 0.0)}, "a round's time is not a time"),
        (
            {"round_times_s": tuple(10 * time for time in ROUNDS)},
            "the mean is 100 ms, its rounds' 1.00 s, 10.0 times as short",
        ),
    ],
)
def test_statistics_that_say_nothing(changes: dict[str, Any], reason: str) -> None:
    """Each with what is wrong."""
    with pytest.raises(Unusable) as caught:
        observe_stats(_stats(**changes), "")
    assert reason in str(caught.value)


@pytest.mark.parametrize("unit", ["s", "seconds", " Sec "])
def test_seconds_by_another_name(unit: str) -> None:
    """A file may say what it is in, as long as it is that."""
    assert observe_stats(_stats(unit=unit), "").value == 0.1


def _record(**timing: Any) -> Record:
    wall = tuple(5 * time for time in ROUNDS)
    values = {"step_time_s": 0.1, "rounds": Rounds(steps=5, wall_s=wall), **timing}
    return build.record(timing=build.timing(**values))


@pytest.mark.parametrize(
    ("timing", "stats", "reason"),
    [
        ({"rounds": Rounds(steps=5, wall_s=())}, {}, "no rounds in the record"),
        ({"rounds": Rounds(steps=0, wall_s=(0.5,))}, {}, "no rounds in the record"),
        ({"rounds": Rounds(steps=5, wall_s=(0.5, math.nan))}, {}, "a round's time in the record is not a time"),
        ({"rounds": Rounds(steps=5, wall_s=(0.5, 0.5), disturbed=(None,))}, {}, "2 rounds in the record, and 1 marks"),
        ({"step_time_s": 0.11}, {}, "the record's step time is 110 ms, its rounds' 100 ms, 1.100 times as long"),
        ({}, {"mean_s": 0.1011, "iterations_per_s": None}, "the statistics' mean is 101 ms, the record's rounds' 100"),
        ({}, {"mean_s": 0.2, "iterations_per_s": 5.0, "max_s": 0.3}, "the statistics' mean is 200 ms, the record's"),
        ({}, {"median_s": 0.3, "max_s": 0.3}, "the statistics' median is 300 ms, the record's rounds' 100 ms"),
        ({}, {"rounds": 0.0}, "0 rounds in the statistics"),
        ({}, {"unit": "ns"}, "the file says that its times are in 'ns'"),
    ],
)
def test_records_that_say_nothing(timing: dict[str, Any], stats: dict[str, Any], reason: str) -> None:
    """Nothing is taken from a row whose figures contradict each other."""
    with pytest.raises(Unusable) as caught:
        observe_record(_record(**timing), _stats(**stats), "")
    assert reason in str(caught.value)
    assert not isinstance(caught.value, Disturbed)


def test_a_record_without_timing() -> None:
    """With the reason that it carries."""
    record = build.record(timing=None, missing={"timing": "stopped by the user"})
    with pytest.raises(Unusable, match="no times: stopped by the user"):
        observe_record(record, _stats(), "")


def test_a_loud_session_is_no_broken_one() -> None:
    """Measured again it may say something."""
    wall = tuple(5 * time for time in ROUNDS)
    record = _record(rounds=Rounds(steps=5, wall_s=wall, disturbed=("steal",) * 5))
    with pytest.raises(Disturbed, match="5 of 5 rounds were disturbed from outside"):
        observe_record(record, _stats(), "")


MADE = Check(name="finite", status="passed", evidence="the last output is finite")


@pytest.mark.parametrize(
    ("flags", "checks", "why"),
    [
        ((), (), "unproven: the record has no checks: of a case that pytest-roofline measured it has some"),
        ((Flag(name="margin", evidence="2 %"),), (MADE,), None),
        ((Flag(name="x_disproved", evidence="seen", invalid=True),), (), "x_disproved: seen"),
        ((), (Check(name="device", status="failed", evidence="ran on cpu"),), "device_disproved: ran on cpu"),
        ((), (Check(name="device", status="not_made", evidence="no profiler"),), None),
        ((Flag(name="memory_oversubscribed", evidence="full"),), (MADE,), "memory_oversubscribed: full"),
    ],
)
def test_why_a_row_is_kept_out(flags: tuple[Flag, ...], checks: tuple[Check, ...], why: str | None) -> None:
    """An invalid flag, a check that failed, no check at all, a full memory; other flags don't matter."""
    record = build.record(flags=flags, checks=checks)
    assert why_kept_out(flags_of(record, place(record, Roofs(roofs=build.roofs())))) == why


@pytest.mark.parametrize(("low", "high", "expected"), [(1e6, 2e6, 0.05), (1e11, 2e11, 0.4)])
def test_the_spread_is_of_the_roof_that_binds(low: float, high: float, expected: float) -> None:
    """Of the compute roof above the knee, of DRAM below it."""
    roofs = Roofs(roofs=(build.roof("flop", "fp32", 1e13, spread=0.05), build.roof("byte", "dram", 1e11, spread=0.4)))
    record = build.record(work=build.work(1e11, low, high), device=replace(build.CPU, last_level_cache_byte=None))
    placement: Placement = place(record, roofs)
    assert spread_of_roof(placement, record, roofs) == expected
