"""Runs that are killed at random moments: a few, of which `python -m benchmarks kills` takes a hundred."""

from __future__ import annotations

import os

import pytest

from tests import forked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forks of one process")
def test_no_finished_case_is_lost_by_a_kill() -> None:
    """In a process of its own, which has no threads when it forks."""
    ended = forked.run("benchmarks", ["--quick", "kills"], forked.ROOT)
    assert ended.returncode == 0, ended.stderr
    assert "kill 3 of 3: 0 finished cases lost so far" in ended.stdout
