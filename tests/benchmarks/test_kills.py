"""Runs that are killed at random moments: a few, of which `python -m benchmarks kills` takes a hundred."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = """
import json
from benchmarks import kills
print(json.dumps({figure.name: figure.median for figure in kills.run(quick=True)}))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="the runs are forks of one process")
def test_no_finished_case_is_lost_by_a_kill() -> None:
    """In a process of its own, which has no threads when it forks."""
    child = subprocess.run(
        [sys.executable, "-c", KILLS],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout.splitlines()[-1])["finished cases lost in 3 kills"] == 0
