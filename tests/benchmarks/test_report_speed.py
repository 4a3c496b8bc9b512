"""The results that a report is made of for speed are such as a report has to say much of."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report_speed import CASES, OPERATIONS, write
from roofline import api


def test_every_case_is_placed_and_taken_apart(tmp_path: Path) -> None:
    """None is invalid, which would be quicker than judging it."""
    size = write(tmp_path / "results", 2)
    assert size == sum(path.stat().st_size for path in (tmp_path / "results").iterdir())
    results = api.load(tmp_path / "results")
    assert len(results.cases) == 2 * CASES
    assert results.cases["valid"].all()
    assert results.cases["case"].nunique() == CASES
    assert results.operations["case"].nunique() == CASES
    assert results.operations.groupby(["machine", "case"], observed=True).size().max() == OPERATIONS
    assert results.machines["fingerprint"].nunique() == 2
