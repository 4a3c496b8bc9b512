"""docs/ci.md: run its workflows step by step in a repository of their own, and check that they end as the page says.

Time is made up: only the project's model moves the clock, so the verdicts are certain and quick. What ``roofline ab``
measures is made up as well; tests/plugin/ab measures for real.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.forked_programs import programs

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")

CASES = """
import time

import torch
from torch import nn


class Model(nn.Linear):
    def forward(self, rows):
        time.sleep({seconds})
        return super().forward(rows)


def test_a_model(roofline):
    roofline(Model(8, 4), torch.randn(2, 8))
"""

MADE_UP_TIME = '''
"""A quiet host, and a clock that only sleeping moves. No two runs have the same times to the last bit."""

import random
import time
from types import SimpleNamespace


class Host:
    missing = {}
    now = 0.0

    def sleep(self, seconds):
        self.now += seconds * (1 + 1e-6 * random.random())

    def clock(self):
        self.now += 1e-6
        return self.now

    def read(self):
        from pytest_roofline.measuring.host_telemetry import Reading

        return Reading(process_cpu_s=self.now, involuntary_switches=0, steal_s=0.0, others_cpu_s=0.0)


def pytest_configure(config):
    from pytest_roofline.session import run
    from pytest_roofline.measuring import rounds

    host = Host()
    time.sleep = host.sleep
    rounds.HostTelemetry = lambda: host
    run.time = SimpleNamespace(perf_counter=host.clock)
'''

MADE_UP_TURNS = '''
"""``roofline ab`` whose turns are made up: the new side's are a tenth longer."""

import runpy
from dataclasses import replace

import pytest
from tests.roofline.ab.made import case, trial, turns


def made_up(sides, arguments, rules, *_):
    slower = case("slower", *[turns(1.1)] * rules.pairs)
    return replace(trial(slower, rules=rules), sides=sides, arguments=tuple(arguments))


pytest.MonkeyPatch().setattr("roofline.cli.compare_and_gate.ab.measure_in_turns", made_up)
runpy.run_module("roofline", run_name="__main__", alter_sys=True)
'''


@dataclass(frozen=True)
class Step:
    """What a step of a workflow runs, and on which event: a pull request, any other, or each (None)."""

    name: str
    command: str
    event: str | None


def workflows() -> list[dict[str, Any]]:
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def steps_of(workflow: dict[str, Any]) -> list[Step]:
    """The steps that run a command, without those that install."""
    (job,) = workflow["jobs"].values()
    found = []
    for step in job["steps"]:
        event = re.search(r"github.event_name (==|!=) 'pull_request'", step.get("if", ""))
        if "run" in step and step["name"] != "Install":
            on = None if event is None else "pull request" if event[1] == "==" else "other"
            found.append(Step(step["name"], step["run"], on))
    return found


class Project:
    """A repository whose model takes some time, checked out as a runner has it: on a branch, beside its origin."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "project"
        self.summary = folder / "summary.md"
        self.outputs = folder / "outputs"
        self.programs = folder / "bin"
        self._origin = folder / "origin"
        for place in (self.programs, self._origin):
            place.mkdir()
        (self.programs / "made_up_time.py").write_text(MADE_UP_TIME)
        (self.programs / "made_up_turns.py").write_text(MADE_UP_TURNS)
        self._git(self._origin, "init", "--quiet", "--initial-branch=main")
        (self._origin / "pytest.ini").write_text("[pytest]\naddopts = -p no:playwright -p no:cacheprovider\n")
        (self._origin / ".gitignore").write_text("__pycache__\nbaseline\nnew\nturns\nab.md\n")
        self._commit(self._origin, 0.05)
        self._git(folder, "clone", "--quiet", str(self._origin), str(self.path))
        self._git(self.path, "switch", "--quiet", "--create", "change")

    def change(self, seconds: float) -> None:
        """Make a step of the branch take this long from now on."""
        self._commit(self.path, seconds)

    def run(self, step: Step, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a step as a runner does: with bash, which ends at the first command that fails."""
        installed = any(entry.value == "pytest_roofline.plugin" for entry in entry_points(group="pytest11"))
        plugins = ["made_up_time"] if installed else ["pytest_roofline.plugin", "made_up_time"]
        paths = [str(self.programs), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step.command],
            cwd=self.path,
            env={
                **os.environ,
                **environment,
                "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTEST_PLUGINS": ",".join(plugins),
                "PYTEST_ADDOPTS": "--roofline-device cpu",
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def take_summary(self) -> str:
        """Return what a job has written to its summary, once."""
        text = self.summary.read_text(encoding="utf-8")
        self.summary.unlink()
        return text

    def _commit(self, folder: Path, seconds: float) -> None:
        cases = folder / "perftests" / "test_cases.py"
        cases.parent.mkdir(exist_ok=True)
        cases.write_text(CASES.format(seconds=seconds))
        self._git(folder, "add", ".")
        self._git(folder, "-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "--message=x")

    @property
    def head(self) -> str:
        return self._git(self.path, "rev-parse", "HEAD")

    def _git(self, folder: Path, *arguments: str) -> str:
        ran = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return ran.stdout.strip()


def _run(
    program: str, arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program of a workflow."""
    if program == "roofline" and arguments[0] == "ab":
        program = "made_up_turns"
        environment["PYTHONPATH"] += os.pathsep + str(ROOT)
    return forked.run(program, arguments, folder, environment)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    project = Project(tmp_path)
    with programs(project.programs, "pytest", "roofline", run=_run):
        yield project


def test_the_workflows_are_two_and_their_keys_are_githubs() -> None:
    """Every step does one thing, and a step that must always run says so."""
    shared, own = workflows()
    for workflow in (shared, own):
        assert {"name", "jobs"} < set(workflow)
        (job,) = workflow["jobs"].values()
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job)
        for step in job["steps"]:
            assert set(step) <= {"name", "id", "uses", "with", "run", "if"}
            assert ("uses" in step) != ("run" in step)
    assert [step.event for step in steps_of(shared)] == [None, None]
    assert [step.event for step in steps_of(own)] == ["other", *["pull request"] * 3]


def test_a_stored_baseline_gates_a_pull_request(project: Project) -> None:
    """Without a baseline exit code 4 and the command that makes one; unchanged code passes, slower code ends with 1.

    With a single session, which is quicker than the page's several: twice the time is seen in one.
    """
    _, own = workflows()
    measure, name, hold, show = steps_of(own)
    assert own["env"].keys() == {"PYTEST_ADDOPTS", "BASELINE_SESSIONS", "SESSIONS", "GATE"}
    sessions = {**own["env"], "BASELINE_SESSIONS": "1", "SESSIONS": "1"}

    ran = project.run(hold, sessions)
    assert ran.returncode == 4
    (says,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert ran.stderr == f"{says}\n"
    assert not (project.path / "new").exists()
    assert project.run(show, sessions).returncode == 0

    ran = project.run(measure, sessions)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(list((project.path / "baseline").rglob("*.json"))) == 1

    ran = project.run(hold, sessions)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert project.run(show, sessions).returncode == 0
    # Of one session a side, whether the same is shown hangs on how the machine scatters.
    assert project.take_summary().startswith(("**Passed", "**Undecided"))

    for result in (project.path / "new").rglob("*.json"):
        result.unlink()
    base = project.head
    project.change(0.1)
    assert project.run(name, {**sessions, "GITHUB_OUTPUT": str(project.outputs)}).returncode == 0
    assert project.outputs.read_text() == f"commit={base}\n"
    ran = project.run(hold, {**sessions, "GATE": "--least-effect 5%"})
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert project.run(show, {**sessions, "GATE": "--least-effect 200%"}).returncode == 0
    assert "Regression" not in project.take_summary()
    assert project.run(show, sessions).returncode == 0
    assert "Regression" in project.take_summary()


def test_a_pull_request_is_judged_on_a_shared_runner(project: Project) -> None:
    """The base is found, and the verdict is in the summary: slower code ends with 1."""
    measure, show = steps_of(workflows()[0])
    project.change(0.1)
    ran = project.run(measure, {})
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert project.run(show, {}).returncode == 0
    summary = project.take_summary()
    assert "Regression: the working tree against HEAD^1" in summary
    assert list((project.path / "turns").iterdir())
