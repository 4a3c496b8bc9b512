"""Who outlives a measuring process is found by what it handed down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from roofline.ab.stragglers import VARIABLE, end_marked, new_mark

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")

SLEEPS = "import time; print(flush=True); time.sleep(600)"


def test_those_with_the_mark_are_ended_and_no_others() -> None:
    """In sessions of their own, too."""
    mark, other = new_mark(), new_mark()
    assert len(mark) == len(other)
    sleepers = []
    with ExitStack() as stack:
        for given in (mark, other, mark + "0"):
            sleeper = subprocess.Popen(
                [sys.executable, "-S", "-c", SLEEPS],
                env={**os.environ, VARIABLE: given},
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            stack.callback(sleeper.communicate)
            stack.callback(sleeper.kill)
            assert sleeper.stdout is not None
            sleeper.stdout.readline()
            sleepers.append(sleeper)
        end_marked(mark)
        assert sleepers[0].wait(60) == -signal.SIGKILL
        assert [sleeper.poll() for sleeper in sleepers[1:]] == [None, None]
