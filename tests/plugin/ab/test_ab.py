"""``roofline ab`` and ``roofline selftest`` for real: two processes of a small project, and a repository of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roofline.ab.messages import WORKER
from tests import forked
from tests.roofline.ab.repository import Project

TEST = """
import torch
from package import Model

def test_it(roofline):
    roofline(Model(), torch.randn(2, 8))
"""

MODEL = """
import time
from torch import nn

waited = 0.0

def perf_counter():
    return time.thread_time() + waited

time.perf_counter = perf_counter

class Model(nn.Linear):
    def __init__(self):
        super().__init__(8, 4)

    def forward(self, inputs):
        global waited
        waited += {}
        return super().forward(inputs)
"""
"""It takes so many seconds, by a clock of its thread alone: whatever else runs on the machine."""

BRIEF = ("--pairs", "1", "--max-time", "0.1", "--least-effect", "50%", "--width", "100")
"""One pair of processes, the fewest turns; the slower model is ten times slower."""

PYTEST = ("--roofline-device", "cpu", "--roofline-warmup", "1", "--roofline-steps", "1")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two commits of a package beside its test: the second one's model is slower, and is the same workload."""
    project = Project(tmp_path / "project")
    project.commit(
        {
            "pytest.ini": "[pytest]\naddopts = -p no:playwright\nroofline_results = results\n",
            "test_it.py": TEST,
            "package/__init__.py": MODEL.format(0.005),
        }
    )
    project.commit({"package/__init__.py": MODEL.format(0.05)})
    return project


def roofline(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, forked.CHILDREN: "yes", **variables}
    return forked.run("roofline", arguments, folder, environment, timeout=300)


def test_a_slower_revision_is_caught(project: Project, tmp_path: Path) -> None:
    """Exit code 1, the verdict first, and which code each side ran. The tree is as it was; every turn is kept."""
    before, kept = project.state(), tmp_path / "kept"
    run = roofline(
        project.root, "ab", "--base", "HEAD~1", "--new", "HEAD", *BRIEF, "--results", str(kept), "--", *PYTEST
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert run.stdout.startswith("Regression: HEAD against HEAD~1: 1 case slower, of 1 compared (1 slower)\n")
    base, new = (project.git("rev-parse", "--short=10", revision) for revision in ("HEAD~1", "HEAD"))
    told = " ".join(run.stdout.split())
    assert f"base: HEAD~1, commit {base}; 2 files of" in told
    assert f"new: HEAD, commit {new}; 2 files of" in told
    assert project.state() == before
    (case,) = json.loads(next(kept.iterdir()).read_text())["cases"]
    (pair,) = case["pairs"]
    assert len(pair["base_s"]) >= 5
    assert min(pair["new_s"]) > 0.05


def test_two_interpreters_measure_one_tree(project: Project, tmp_path: Path) -> None:
    """Each side by its own: here the base's sets what makes the model quick, so that the other one is slower. It is
    started anew, without what the tests' own processes have loaded.

    The tree is measured as it is, uncommitted changes included, and nothing is written into it.
    """
    quick = tmp_path / "quick"
    quick.write_text(f'#!/bin/sh\nexec env QUICK=1 {shlex.quote(sys.executable)} "$@"\n')
    quick.chmod(0o755)
    model = "import os\n" + MODEL.format('0.005 if "QUICK" in os.environ else 0.05')
    (project.root / "package" / "__init__.py").write_text(model)
    kept, before = tmp_path / "kept", project.state()
    run = roofline(project.root, "ab", "--base-python", str(quick), *BRIEF, "--results", str(kept), "--", *PYTEST)
    assert run.returncode == 1, run.stdout + run.stderr
    (file,) = kept.iterdir()
    content = json.loads(file.read_text())
    sides = content["sides"]
    assert {name: side["what"] for name, side in sides.items()} == {"base": str(quick), "new": sys.executable}
    (pair,) = content["cases"][0]["pairs"]
    assert min(pair["base_s"]) < 0.05 * pair["steps"] < min(pair["new_s"])
    assert project.state() == before


def test_the_same_files_on_both_sides_are_refused(project: Project) -> None:
    """As an editable install has it: the tests are each revision's own, the package is not."""
    lines = ["import sys", f"sys.path.insert(0, {str(project.root / 'lib')!r})", "import package"]
    project.commit({"conftest.py": "\n".join(lines), "lib/package/__init__.py": MODEL.format(0.005)})
    project.commit({"lib/package/__init__.py": MODEL.format(0.05)})
    run = roofline(project.root, "ab", "--base", "HEAD~1", "--new", "HEAD", *BRIEF, "--", *PYTEST)
    assert run.returncode == 3
    assert "cannot compare. base (HEAD~1) loaded" in run.stderr
    assert "which is not of its own tree" in run.stderr
    assert project.git("worktree", "list").count("\n") == 0


def test_a_side_that_crashes_is_told_with_its_last_lines(project: Project) -> None:
    """In a case: that case can't be compared, and neither passes for the same."""
    crash = "import os, sys\ndef test_it(roofline):\n    sys.__stderr__.write('last words\\n')\n    os._exit(9)\n"
    (project.root / "test_it.py").write_text(crash)
    run = roofline(project.root, "ab", "--base", "HEAD", *BRIEF, "--", *PYTEST, "-s")
    assert run.returncode == 3, run.stdout + run.stderr
    assert "1 not comparable" in run.stdout
    assert "new (the working tree): its pytest ended with exit code 9" in run.stdout
    assert "last words" in run.stdout


def test_a_side_that_does_not_start_is_told_with_its_last_lines(project: Project) -> None:
    """There is nothing to compare: 3, not a verdict, and not a traceback."""
    run = roofline(project.root, "ab", "--base", "HEAD~1", *BRIEF, "--", *PYTEST, "--no-such-flag")
    assert run.returncode == 3
    assert "cannot compare. base (HEAD~1): its pytest ended with exit code 4" in run.stderr
    assert "unrecognized arguments: --no-such-flag" in run.stderr
    assert "Traceback" not in run.stderr


def test_xdist_that_the_environment_asks_for_is_told(project: Project) -> None:
    """Not that there is no test: whose flag it is, and how it is taken back."""
    pytest.importorskip("xdist")
    variables = {"PYTEST_ADDOPTS": "-n 2"}
    run = roofline(project.root, "ab", "--base", "HEAD~1", *BRIEF, "--", *PYTEST, **variables)
    assert run.returncode == 3
    assert "-n: both sides take turns test by test, and pytest-xdist runs tests beside each other." in run.stderr


def begun(project: Project, temporary: Path) -> subprocess.Popen[str]:
    """A comparison whose processes are started, with this folder for what is temporary."""
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "roofline", "ab", "--base", "HEAD~1", "--new", "HEAD", "--", "test_it.py", *PYTEST],
        cwd=project.root,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("pair of processes 1"), line
    return process


def test_ctrl_c_leaves_nothing_behind(project: Project, tmp_path: Path) -> None:
    """No work tree, no temporary folder, no process."""
    project.commit({"test_it.py": "import time\ndef test_it(roofline):\n    time.sleep(600)\n"})
    before, temporary = project.state(), tmp_path / "temporary"
    process = begun(project, temporary)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert project.state() == before
    assert list(temporary.iterdir()) == []
    assert _running_below(temporary) == []


def test_a_killed_one_leaves_no_process(project: Project, tmp_path: Path) -> None:
    """They end with it."""
    project.commit({"test_it.py": "import time\ndef test_it(roofline):\n    time.sleep(1)\n"})
    process = begun(project, tmp_path / "temporary")
    process.kill()
    process.communicate()
    assert _running_below(tmp_path / "temporary") == []


def _running_below(folder: Path) -> list[str]:
    """Processes whose folder is in this one; a process that was ended is gone a moment later, or a busy machine's."""
    end = time.monotonic() + 100
    while time.monotonic() < end:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                place = os.readlink(process / "cwd")
            except OSError:
                continue
            if place.startswith(str(folder)):
                found.append(place)
        if not found:
            return []
        time.sleep(0.1)
    return found


def test_the_selftest_finds_the_slowdown_it_puts_in(project: Project) -> None:
    """And lets unchanged code pass."""
    few = ("--pairs", "1", "--max-time", "0.1", "--least-effect", "30%", "--slowdown", "90%")
    run = roofline(project.root, "selftest", *few, "--width", "100", "--", *PYTEST)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("Selftest passed: 1 of 1 case compared\n")
    assert "Detectable here in 19 of 20 tries: slowdowns from" in run.stdout


def test_the_worker_is_nobody_else_s(project: Project) -> None:
    """Loaded by hand, it says whose it is; so nobody's steps are slowed by an odd variable in the environment."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", WORKER], cwd=project.root, capture_output=True, text=True, check=False
    )
    assert run.returncode == 4
    assert f"{WORKER} is for the processes that `roofline ab` starts. Leave -p {WORKER} out." in run.stderr
