"""The suite's own expectations hold for the committed results, and each of them can be seen to fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from roofline.expectations.judging import check_expectations
from roofline.machine.published import load
from roofline.model.point_groups import cases
from roofline.model.points import Point, points_of
from roofline.results.reader import read_file
from roofline.schema.expected import BoundClass, Expected
from roofline.schema.expected_file import NAME, beside, read
from roofline.schema.record import Rounds
from tests.roofline.expectations import build_points

ROOT = Path(__file__).parents[1]
ENTRIES = read(ROOT / "perftests" / NAME)
REFERENCE = ROOT / "results" / "amd-epyc-2cpu" / "20261128T044652Z-16dce561.json"


@pytest.fixture(scope="module")
def points() -> tuple[Point, ...]:
    return cases(points_of(read_file(REFERENCE), load()))


def test_the_file_lies_beside_the_suite() -> None:
    """Where a run and `roofline check --expect` look for it."""
    assert beside(["perftests/test_models.py::test_train[a]"], ROOT) == ROOT / "perftests" / NAME


def test_all_hold_for_the_reference(points: tuple[Point, ...]) -> None:
    """Every entry is of a case of it."""
    checked = check_expectations(points, ENTRIES)
    assert [finding.expected for finding in checked.findings if finding.verdict != "held"] == []
    assert len(checked.findings) == len(ENTRIES)
    assert build_points.exit_code(checked) == 0


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.case)
def test_each_can_fail(points: tuple[Point, ...], entry: Expected) -> None:
    """By another bound, by each of its floors, and by a step that takes four times as long; gone, it isn't a pass."""
    mutants = [
        replace(entry, bound=bound)
        for bound in get_args(BoundClass)
        if entry.bound is not None and bound != entry.bound
    ]
    if entry.min_fraction_of_roof is not None:
        mutants.append(replace(entry, min_fraction_of_roof=1.0))
    if entry.min_fraction_of_speed_of_light is not None:
        mutants.append(replace(entry, min_fraction_of_speed_of_light=1.0))
    assert mutants
    for mutant in mutants:
        assert build_points.exit_code(check_expectations(points, [mutant])) == 1, mutant
    slower = [point for point in _slower(4.0) if point.id == entry.case]
    assert build_points.exit_code(check_expectations(slower, [entry])) == 1
    others = [point for point in points if point.id != entry.case]
    assert build_points.exit_code(check_expectations(others, [entry])) == 3


def _slower(factor: float) -> tuple[Point, ...]:
    """The reference with every step that many times as long."""
    result = read_file(REFERENCE)
    slow = []
    for benchmark in result.benchmarks:
        record = benchmark.record
        if record is not None and record.timing is not None and record.case.mode in ("train", "infer"):
            timing = record.timing
            rounds: Rounds = replace(timing.rounds, wall_s=tuple(factor * wall for wall in timing.rounds.wall_s))
            timing = replace(timing, step_time_s=factor * timing.step_time_s, rounds=rounds)
            slow.append(replace(benchmark, record=replace(record, timing=timing)))
    return points_of(replace(result, benchmarks=tuple(slow)), load())
