"""A measuring process that is none of pytest's: what is made of one that hangs, or ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.ab.messages import PIPES, Took
from roofline.ab.process import LAST_LINES, MeasuringProcess, ProcessFailed, last_lines
from tests.roofline.ab.fakes import side

STUB = """#!{python}
import os, subprocess, sys, time
print("last words", flush=True)
writing = int(os.environ["{pipes}"].partition(",")[2])
{body}
"""
"""In place of a side's interpreter."""

SPEAKS = """
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
os.write(writing, b'{{"kind": "took", "wall_s": %d}}\\n' % child.pid)
{end}
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


def test_one_that_hangs_is_ended_with_all_that_it_started(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says before is heard; then the message tells how long it was waited for, in what, and its last words."""
    with start(SPEAKS.format(end="time.sleep(600)")) as process:
        took = process.receive("preparing a")
        assert isinstance(took, Took)
        monkeypatch.setattr("roofline.ab.process.ANSWER_S", 0.25)
        with pytest.raises(ProcessFailed) as failed:
            process.receive("in a turn of test_it.py::test_it[a]")
    assert str(failed.value) == (
        "new (the new): its pytest did not answer for 0.25 s in a turn of test_it.py::test_it[a], and was ended. "
        "The last it wrote:\n  | last words"
    )
    assert _is_gone(int(took.wall_s))


@pytest.mark.parametrize("end", ["", "sys.exit(9)", "time.sleep(600)"], ids=["ends", "fails", "hangs"])
def test_nobody_outlives_it(end: str, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it ends: what its tests started and left behind would run beside the next turns."""
    monkeypatch.setattr("roofline.ab.process.GRACE_S", 0.25 if "sleep" in end else 5.0)
    with start(SPEAKS.format(end=end)) as process:
        took = process.receive("preparing a")
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


@pytest.mark.parametrize(
    ("end", "how"),
    [("sys.exit(9)", "ended with exit code 9"), ("os.kill(os.getpid(), 9)", r"was ended by signal 9 \(Killed\), as")],
)
def test_one_that_ends_is_not_waited_for(end: str, how: str, start: Start) -> None:
    """The message says how it ended, then what it wrote last."""
    with start(end) as process, pytest.raises(ProcessFailed, match=how) as failed:
        process.receive("preparing a")
    assert str(failed.value).endswith("The last it wrote:\n  | last words")


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
