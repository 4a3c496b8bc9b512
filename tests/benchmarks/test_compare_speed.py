"""The files that are compared for speed are such as a comparison reads to the end."""

from __future__ import annotations

from pathlib import Path

from benchmarks.compare_speed import CASES, _write
from roofline.comparison.comparison import compare
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.sides.side_files import read_side
from roofline.machine.published import load


def test_every_case_is_matched_and_judged(tmp_path: Path) -> None:
    """None is invalid or contradicts itself, which would be quicker than judging it."""
    size = _write(tmp_path, 4)
    assert size == sum(path.stat().st_size for path in tmp_path.rglob("*.json"))
    base, new = (read_side([tmp_path / side], "time", load()) for side in ("base", "new"))
    comparison = compare(base, new, Settings())
    assert comparison.matched == len(comparison.cases) == CASES
    assert all(case.effect is not None for case in comparison.cases)
