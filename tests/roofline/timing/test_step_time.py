"""One step time: the median of the undisturbed rounds, of records new and old and of rows without one."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.observations.observation import observe_record
from roofline.comparison.sessions_table import scatters_of
from roofline.machine.published import load
from roofline.model.bounds import input_share
from roofline.model.operations import break_down
from roofline.model.points import Point, points_of
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import KEY, Flag, Record, Rounds
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.summary_tables import summary_table
from roofline.show.render import render
from roofline.text.units import significant
from roofline.timing.margin import MarginEstimator
from roofline.timing.step_time import left_out, mostly_disturbed, step_time
from tests.roofline import build
from tests.roofline.comparison import sessions

QUIET = (0.50, 0.51, 0.49, 0.52, 0.50, 0.48, 0.50, 0.51, 0.49, 0.50, 0.50)
"""Seconds of rounds of five steps: the median step takes 100 ms."""

DISTURBED = (2.5, 3.0)
MARK = "other programs used 200 ms of its CPUs, 90 involuntary switches"
ROUNDS = Rounds(steps=5, wall_s=(*QUIET, *DISTURBED), disturbed=(None,) * len(QUIET) + (MARK,) * len(DISTURBED))
MEAN_S = sum(ROUNDS.wall_s) / len(ROUNDS.wall_s) / 5
"""Of all rounds: 169 ms."""


def _record(step_time_s: float, **changes: Any) -> Record:
    operations = (build.operation(time_s=0.05),)
    return build.timed(*operations, timing=build.timing(step_time_s, rounds=ROUNDS), **changes)


def _file(folder: Path, *records: Record) -> Path:
    content = build.document(records, of=build.session(build.roofs()), on=build.machine())
    for row in content["benchmarks"]:
        walls = row["extra_info"][KEY]["timing"]["rounds"]["wall_s"]
        row["stats"] = sessions.statistics_of(tuple(wall / 5 for wall in walls))
    return build.write(folder / "result.json", content)


def _point(result: ResultFile) -> Point:
    return points_of(result, load())[0]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file of the first schema: the mean of all rounds, with its deviation and its margin."""
    record = _record(MEAN_S, schema=1, flags=(Flag(name="margin", evidence="±107.00% reached, ±1.00% asked for"),))
    assert record.timing is not None
    return _file(tmp_path, replace(record, timing=replace(record.timing, step_time_sd_s=0.17, margin=1.07)))


@pytest.mark.parametrize("schema", [1, 2])
def test_every_table_has_the_same_figure(tmp_path: Path, old: Path, schema: int) -> None:
    """Points, metrics, summary, sessions, operations and what a gate compares: 100 ms, of a record old or new."""
    result = read_file(old if schema == 1 else _file(tmp_path, _record(0.1)))
    point = _point(result)
    record = point.benchmark.record
    assert record is not None
    for table in (points_table([point]), metrics_table([point])):
        by_name = {column.name: column.get(table.rows[0]) for column in table.columns}
        assert by_name["step_time_s"] == pytest.approx(0.1)
        assert by_name["samples_per_s"] == pytest.approx(320.0)
        assert by_name["rounds_left_out"] == 2
    assert by_name["step_time_mean_s"] == pytest.approx(MEAN_S)
    assert by_name["rounds"] == 13
    assert scatters_of([point])[0][0].step_time_s == pytest.approx(0.1)
    assert observe_record(record, point.benchmark.stats, "").value == pytest.approx(0.1)
    taken_apart = break_down(record, point.roofs, point.sol)
    assert taken_apart is not None
    assert taken_apart.step_s == pytest.approx(0.1)


def test_an_old_record_s_margin_and_spread_are_those_of_the_figure(old: Path) -> None:
    """What stands beside it as ± is worked out from the same rounds, and so is the flag that tells it."""
    point = _point(read_file(old))
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    assert timing is not None
    steps = [wall / 5 for wall in QUIET]
    assert timing.margin == MarginEstimator(0.95).of(steps, sum(QUIET)).half_width_relative
    assert point.spread is not None
    assert point.spread < 0.03
    (evidence,) = [flag.evidence for flag in point.flags if flag.name == "margin"]
    assert evidence == f"±{timing.margin:.2%} reached, ±1.00% asked for"
    assert f"320 ±{significant(100 * timing.margin, 2)}%" in render(summary_table(point.result, [point]), "table", 120)


def test_a_figure_that_contradicts_its_rounds_is_left_as_it_is(tmp_path: Path) -> None:
    """An old record whose mean was edited isn't mended in silence."""
    point = _point(read_file(_file(tmp_path, _record(0.2, schema=1))))
    assert point.step_time_s == 0.2


@pytest.mark.parametrize("confidence", [math.nan, -1.0, 0.0, 1.0])
def test_a_confidence_that_no_margin_has_is_left_as_it_is(tmp_path: Path, confidence: float) -> None:
    timing = build.timing(MEAN_S, rounds=ROUNDS, confidence=confidence)
    point = _point(read_file(_file(tmp_path, replace(_record(MEAN_S, schema=1), timing=timing))))
    assert point.step_time_s == MEAN_S


@pytest.mark.parametrize(("disturbed", "flagged"), [(0, False), (10, False), (11, True), (20, True)])
def test_mostly_disturbed_rounds_are_flagged(disturbed: int, flagged: bool) -> None:
    """More than half of twenty: the row says that its figure tells of the machine's other users."""
    walls = (0.5,) * (20 - disturbed) + (0.9,) * disturbed
    rounds = Rounds(steps=5, wall_s=walls, disturbed=(None,) * (20 - disturbed) + ("steal",) * disturbed)
    assert (mostly_disturbed(rounds.disturbed) is not None) is flagged


def test_a_few_rounds_that_escaped_are_no_sample() -> None:
    """Where most rounds were disturbed the step time is of all, and the row says so by its flag."""
    rounds = Rounds(steps=1, wall_s=(1.0, 3.0, 4.0, 5.0), disturbed=(None, MARK, MARK, MARK))
    found = step_time(rounds)
    assert found is not None
    assert (found.time_s, left_out(rounds)) == (3.5, 0)
    assert mostly_disturbed(rounds.disturbed)


def test_the_share_of_waiting_is_of_the_undisturbed_rounds() -> None:
    """A pause of the loader in a disturbed round is in neither."""
    rounds = replace(ROUNDS, input_wait_s=(0.1,) * len(QUIET) + (2.0,) * len(DISTURBED))
    record = build.record(timing=build.timing(0.1, rounds=rounds, input_wait_s=0.08))
    assert input_share(record) == pytest.approx(0.1 * len(QUIET) / sum(QUIET))


def _plain(folder: Path, **stats: Any) -> Point:
    content = sessions.foreign({"test_a": (0.010, 0.011, 0.012, 0.1)})
    content["benchmarks"][0]["stats"].update(stats)
    return _point(read_file(build.write(folder / "plain.json", content)))


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        pytest.param({}, 0.0115, id="round data"),
        pytest.param({"data": None}, 0.0115, id="statistics alone"),
        pytest.param({"data": None, "median": None}, 0.03325, id="a mean alone"),
    ],
)
def test_a_plain_row_has_its_median_too(tmp_path: Path, stats: dict[str, Any], expected: float) -> None:
    """Of the round data, else as the file has it; and the mean beside it in the metrics."""
    point = _plain(tmp_path, **stats)
    assert point.step_time_s == pytest.approx(expected)
    columns = {column.name: column.get(point) for column in metrics_table([point]).columns}
    assert columns["step_time_mean_s"] == pytest.approx(0.03325)
