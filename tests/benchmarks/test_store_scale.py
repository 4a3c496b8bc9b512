"""The files that a store is measured with are such as it is meant for, and the picture shows what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import roofline as rl
from benchmarks.store_scale import CASES, FILES_OF_A_DAY, Step, _write, drawing


@pytest.mark.parametrize(("slim", "least_byte", "most_byte"), [(True, 1_500, 3_000), (False, 30_000, 60_000)])
def test_files_hold_cases_of_their_size(tmp_path: Path, slim: bool, least_byte: float, most_byte: float) -> None:
    """Each case once in a file, timed; only real ones have operations."""
    size = _write(tmp_path / "files", 2, slim=slim, first_day=0)
    results = rl.load(tmp_path / "files")
    assert least_byte <= size / (2 * CASES) <= most_byte
    assert len(results.cases.drop_duplicates(["case", "file"])) == 2 * CASES
    assert results.cases["step_time_s"].notna().all()
    assert (len(results.operations) == 0) == slim
    assert FILES_OF_A_DAY > 2
    assert results.cases["started_at"].nunique() == 1


def test_the_picture_shows_what_was_measured() -> None:
    """A line for each size of a case, and one of the queries."""
    steps = [
        Step(
            cases=cases,
            slim=slim,
            there=there,
            byte=size * cases,
            seconds=seconds,
            asked_s=(0.4, 0.5, 9.0),
            peak_byte=1.0,
        )
        for cases, slim, there, size, seconds in (
            (10_000, True, 10_000, 2_000, 2.0),
            (20_000, False, 30_000, 40_000, 10.0),
            (70_000, True, 100_000, 2_000, 7.0),
        )
    ]
    adding, asking = drawing(steps).axes
    slim, real = (line.get_xydata().tolist() for line in adding.lines)
    assert slim == [[10_000, 2e-4], [100_000, 1e-4]]
    assert real == [[30_000, 5e-4]]
    assert asking.lines[0].get_xydata().tolist() == [[10_000, 0.5], [30_000, 0.5], [100_000, 0.5]]
