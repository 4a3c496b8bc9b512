"""The files that reading is timed with are read to the end, and nothing in them is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.ncu_csv import details, raw, write
from roofline.profilers.ncu.figures import count
from roofline.profilers.ncu.files import read


@pytest.mark.parametrize("lines", [details, raw])
def test_every_launch_is_complete(tmp_path: Path, lines: Callable[[], Iterator[str]]) -> None:
    """A hole would be quicker than a value."""
    path = tmp_path / "f.csv"
    assert write(path, lines(), 50_000) == path.stat().st_size
    counted = count(read(path))
    assert len(counted.kernels) > 3
    assert counted.total.flop is not None
    assert counted.total.missing == {}
    assert not counted.notes
