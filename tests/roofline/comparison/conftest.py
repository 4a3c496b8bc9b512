"""Both sides of a comparison: four sessions each of two cases, of unchanged code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import TIMES


@pytest.fixture
def base(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "base", TIMES)


@pytest.fixture
def new(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "new", TIMES, first=10)
