"""The files that a store is measured with are such as it is meant for."""

from __future__ import annotations

from pathlib import Path

import pytest

import roofline as rl
from benchmarks.store_scale import CASES, FILES_OF_A_DAY, _write


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
