"""A measuring process that is none of pytest's: what is made of one that hangs, or ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.ab.messages import PIPES, Took
from roofline.ab.process import LAST_LINES, MARK, MeasuringProcess, ProcessFailed, end_marked, last_lines
from tests.roofline.ab.fakes import side

STUB = """#!{python}
import os, subprocess, sys, time
print("last words", flush=True)
writing = int(os.environ["{pipes}"].partition(",")[2])
{body}
"""
"""In place of a side's interpreter."""

SPEAKS_AND_HANGS = """
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
os.write(writing, b'{"kind": "took", "wall_s": %d}\\n' % child.pid)
time.sleep(600)
"""

Start = Callable[[str], MeasuringProcess]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a process that does this."""

    def started(body: str) -> MeasuringProcess:
        stub = tmp_path / "python"
        stub.write_text(STUB.format(python=sys.executable, pipes=PIPES, body=body))
        stub.chmod(0o755)
        stands_in = replace(side("new", tmp_path), python=str(stub))
        return MeasuringProcess(stands_in, (), tmp_path / "log", os.environ)

    return started


def test_one_that_hangs_is_ended_with_all_that_it_started(start: Start) -> None:
    """What it says before is heard; then the message tells how long it was waited for, in what, and its last words."""
    with start(SPEAKS_AND_HANGS) as process:
        took = process.receive(60.0, "preparing a")
        assert isinstance(took, Took)
        with pytest.raises(ProcessFailed) as failed:
            process.receive(0.25, "in a turn of test_it.py::test_it[a]")
    assert str(failed.value) == (
        "new (the new): its pytest did not answer for 0.25 s in a turn of test_it.py::test_it[a], and was ended. "
        "The last it wrote:\n  | last words"
    )
    assert _is_gone(int(took.wall_s))


LEAVES_ONE_BEHIND = """
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], {how})
os.write(writing, b'{{"kind": "took", "wall_s": %d}}\\n' % child.pid)
{end}
"""


@pytest.mark.parametrize("how", ["env={}", "start_new_session=True"])
@pytest.mark.parametrize("end", ["", "sys.exit(9)", "time.sleep(600)"], ids=["ends", "fails", "hangs"])
def test_nobody_outlives_it(how: str, end: str, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it ends: what its tests started and left behind would run beside the next turns. It is found by its
    environment in whatever session it is, and by its session whatever its environment.
    """
    monkeypatch.setattr("roofline.ab.process.GRACE_S", 0.25 if "sleep" in end else 5.0)
    if "session" in how and not Path("/proc/self/environ").exists():
        pytest.skip("there is no /proc here")
    with start(LEAVES_ONE_BEHIND.format(how=how, end=end)) as process:
        took = process.receive(60.0, "preparing a")
        assert isinstance(took, Took)
    assert _is_gone(int(took.wall_s))


def _is_gone(process: int) -> bool:
    """Within a moment: it is ended by a signal, and then buried by whoever does that here."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.readlink(f"/proc/{process}/cwd")
        except OSError:
            return True
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)
    return False


def test_one_that_ends_is_not_waited_for(start: Start) -> None:
    """Its exit code is told instead; nobody waits until the time is over."""
    with start("sys.exit(9)") as process, pytest.raises(ProcessFailed, match="its pytest ended with exit code 9"):
        process.receive(600.0, "preparing a")


def test_one_that_hangs_while_it_collects_has_no_tests(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to compare, and the message says where it hung."""
    monkeypatch.setattr("roofline.ab.process.PREPARING_S", 0.25)
    with (
        start("time.sleep(600)") as process,
        pytest.raises(ProcessFailed, match=r"did not answer for 0\.25 s collecting the tests, and was ended"),
    ):
        process.hello()


def test_the_signal_that_ended_one_is_told_first(start: Start) -> None:
    """Before what it wrote; of the one by which memory's end shows, that it does."""
    with start("os.kill(os.getpid(), 9)") as process, pytest.raises(ProcessFailed) as failed:
        process.receive(600.0, "preparing a")
    assert str(failed.value) == (
        "new (the new): its pytest was ended by SIGKILL (where memory runs out, the system ends processes so). "
        "The last it wrote:\n  | last words"
    )


HEADER = """\
============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-9.0.0, pluggy-1.6.0
rootdir: /tree
collected 2 items

"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (HEADER, []),
        (HEADER + "test_it.py out of memory\n\n", ["test_it.py out of memory"]),
        (HEADER.replace("collected", "collecting ... collected") + "test_it.py", ["test_it.py"]),
        ("ERROR: usage\n", ["ERROR: usage"]),
        ("".join(f"{line}\n" for line in range(30)), [str(line) for line in range(30)][-LAST_LINES:]),
        (
            HEADER
            + "test_it.py Fatal Python error: Segmentation fault\n\n"
            + 30 * "  File\n"
            + "Extension modules: a\n",
            ["test_it.py Fatal Python error: Segmentation fault", *(LAST_LINES - 1) * ["  File"]],
        ),
    ],
)
def test_of_what_one_wrote_that_is_told_which_matters(text: str, words: list[str]) -> None:
    """No header of pytest's and no empty lines; of a crash the beginning of what the interpreter says, else the end."""
    assert last_lines(text) == words


SLEEPS = "import time; print(flush=True); time.sleep(600)"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")
def test_those_with_the_mark_are_ended_and_no_others() -> None:
    """In sessions of their own, too."""
    mark, other = "0123456789abcdef", "fedcba9876543210"
    sleepers = []
    with ExitStack() as stack:
        for given in (mark, other, mark + "0"):
            sleeper = subprocess.Popen(
                [sys.executable, "-S", "-c", SLEEPS],
                env={**os.environ, MARK: given},
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
