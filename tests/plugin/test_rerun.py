"""How a run is started once more: by which command, how it is interrupted, and that it ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from pytest_roofline import rerun


@pytest.mark.parametrize(
    ("argv", "orig_argv", "start"),
    [
        (["/x/pytest/__main__.py", "a"], ["py", "-m", "pytest", "a"], ["-m", "pytest"]),
        (["/x/pytest/__main__.py", "a"], ["py", "-X", "dev", "-W", "error", "-m", "pytest", "a"], None),
        (["/x/bin/pytest", "a", "b"], ["py", "/x/bin/pytest", "a", "b"], ["/x/bin/pytest"]),
        (["/x/bin/pytest"], ["py", "/x/bin/pytest"], ["/x/bin/pytest"]),
        (["/x/bin/pytest", "a"], ["py", "-m", "coverage", "run", "-m", "pytest", "a"], None),
        (["/x/an_editor.py", "a"], ["py", "/x/an_editor.py", "a"], ["-m", "pytest"]),
        ([""], ["py"], ["-m", "pytest"]),
    ],
)
def test_a_session_is_started_as_this_pytest_was(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], orig_argv: list[str], start: list[str] | None
) -> None:
    """With the interpreter's flags and whatever stands before pytest; but no program that called pytest."""
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig_argv)
    assert rerun.started_as() == [sys.executable, *(start or orig_argv[1:-1])]


def test_a_child_has_the_variables_the_folder_and_its_own_exit_code(tmp_path: Path) -> None:
    """A signal is a negative one."""
    code = "import os, sys; open('seen', 'w').write(os.environ['X']); sys.exit(7)"
    assert rerun.wait_for([sys.executable, "-c", code], {"X": "here"}, tmp_path) == 7
    assert (tmp_path / "seen").read_text() == "here"


@pytest.mark.parametrize(
    ("variable", "text", "arguments"),
    [
        ("ROOFLINE_SESSION", "yes", ["--roofline-sessions", "2", "--roofline-results", "r"]),
        ("ROOFLINE_SESSION", "[" * 10_000, ["--roofline-sessions", "2", "--roofline-results", "r"]),
        ("ROOFLINE_ISOLATED", '{"test": 1}', ["-p", "pytest_roofline.workers.isolation_child"]),
        ("ROOFLINE_NCU_REQUEST", "\udcff", ["-p", "pytest_roofline.profilers.ncu.child"]),
        ("ROOFLINE_TURNS", "a,b", ["-p", "pytest_roofline.ab.worker"]),
        ("ROOFLINE_TURNS", "97,98", ["-p", "pytest_roofline.ab.worker"]),
    ],
)
def test_a_variable_that_somebody_else_has_set_is_refused(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, arguments: list[str]
) -> None:
    """It says which it is, and what it holds."""
    pytester.makepyfile("def test_plain(): pass")
    monkeypatch.setenv(variable, text)
    run = pytester.runpytest_subprocess(*arguments)
    assert run.ret == 4
    assert f"ERROR: {variable} in the environment is {text[:60]!r}." in run.stderr.str()


CHILD = """
import pathlib, signal, sys, time
def note(number, frame):
    with open("told", "a") as file:
        file.write(signal.Signals(number).name + " ")
    if {ends}:
        sys.exit(2)
signal.signal(signal.SIGINT, note)
pathlib.Path("ready").touch()
while True:
    time.sleep(60)
"""

# Tests may have been started where SIGINT is ignored, as a shell does with what it puts into the background.
PARENT = """
import pathlib, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pytest_roofline import rerun
rerun.GRACE_S = {grace_s}
code = rerun.wait_for([sys.executable, "child.py"], {{}}, pathlib.Path())
pathlib.Path("code").write_text(str(code))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(
    ("number", "to_both", "grace_s", "ends"),
    [
        pytest.param(signal.SIGINT, True, 60, True, id="ctrl-c"),
        pytest.param(signal.SIGINT, False, 0.1, True, id="only-the-parent-is-told"),
        pytest.param(signal.SIGTERM, False, 60, True, id="terminated"),
        pytest.param(signal.SIGINT, False, 0.1, False, id="a-child-that-does-not-end"),
    ],
)
def test_an_interrupted_parent_lets_its_child_finish(
    tmp_path: Path, number: signal.Signals, to_both: bool, grace_s: float, ends: bool
) -> None:
    """The child is told once and may write what it has; insisting kills it. The code is 2, and no process is left."""
    (tmp_path / "child.py").write_text(CHILD.format(ends=ends))
    command = [sys.executable, "-c", PARENT.format(grace_s=grace_s)]
    with subprocess.Popen(command, cwd=tmp_path, start_new_session=True) as parent:
        try:
            _until((tmp_path / "ready").exists)
            (os.killpg if to_both else os.kill)(parent.pid, number)
            if not ends:
                _until((tmp_path / "told").exists)
                parent.send_signal(number)
            assert parent.wait(60) == 0
            with pytest.raises(ProcessLookupError):
                os.killpg(parent.pid, 0)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)
    assert (tmp_path / "code").read_text() == "2"
    assert (tmp_path / "told").read_text() == "SIGINT "


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_rests_between_looks_though_sleep_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would take a CPU from the steps that are timed, and move the clock that goes with the made-up sleep."""
    parents: Iterator[int] = iter([7, 7, 1])

    def ended(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(rerun, "_LOOK_S", 0.01)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("slept by time.sleep"))
    parent: Any = SimpleNamespace(pid=7, is_running=lambda: True)
    start = time.monotonic()
    with pytest.raises(SystemExit) as exit:
        rerun._watch(parent)
    assert exit.value.code == pytest.ExitCode.INTERRUPTED
    assert time.monotonic() - start >= 0.02
