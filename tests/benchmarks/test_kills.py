"""Runs that are killed at random moments: one of each kind, of which `python -m benchmarks kills` takes 60."""

from __future__ import annotations

import os

import pytest

from pytest_roofline.device import cpus
from tests import forked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forks of one process")
@pytest.mark.skipif(len(cpus.AT_START) < 2, reason="two workers need two cores")
def test_no_finished_case_is_lost_by_a_kill() -> None:
    """In a process of its own, which has no threads when it forks."""
    ended = forked.run("benchmarks", ["--quick", "kills"], forked.ROOT)
    assert ended.returncode == 0, ended.stderr
    for what in ("a run", "xdist's controller", "a worker of xdist"):
        assert f"1 of 1 kills of {what}: 0 finished cases lost so far" in ended.stdout
