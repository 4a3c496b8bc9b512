"""Runs that are killed at random moments: a few, of which `python -m benchmarks kills` takes 60."""

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
    for times, what in ((3, "a run"), (1, "xdist's controller"), (1, "a worker of xdist")):
        assert f"{times} of {times} kills of {what}: 0 finished cases lost so far" in ended.stdout
