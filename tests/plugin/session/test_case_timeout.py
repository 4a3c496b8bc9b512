"""A case that hangs ends the run with all that was measured, and is left out when the run is resumed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roofline.results import journal
from roofline.schema.record import KEY
from tests.plugin.foreign import HANGS, QUICK, results, session_of

CASES = f"""{HANGS}
    import ctypes, os, signal, threading, torch
    from torch import nn
    from pytest_roofline.session import case_timeout

    case_timeout.GRACE_S = 1.0
    hangs = threading.Event()
    watch = case_timeout.CaseTimeout._watch
    case_timeout.CaseTimeout._watch = lambda *test: hangs.wait() and watch(*test)

    def step(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_a(roofline):
        step(roofline)

    def test_b(roofline):
        if os.environ["HANGS"] == "keeps the lock":
            hang(ctypes.PyDLL(None).sleep)
        if os.environ["HANGS"] == "deaf":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        hangs.set()
        time.sleep(600)

    def test_c(roofline):
        step(roofline)
"""

MEASURE = (*QUICK, "--roofline-results", "results", "--roofline-roofs", "off", "--roofline-case-timeout", "1")


@pytest.mark.skipif("sys.platform == 'win32'")
@pytest.mark.parametrize("kind", ["waits", "deaf"])
def test_a_case_that_hangs_ends_the_run(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """One that can be reached lets the run make its JSON; of one in a kernel that never ends the journal stays."""
    project.makepyfile(CASES)
    monkeypatch.setenv("HANGS", kind)
    result = project.runpytest_subprocess(*MEASURE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    told = result.stdout.str() + result.stderr.str()
    assert "it was still running after 1 s (--roofline-case-timeout)" in told
    assert "--roofline-resume " in told
    assert " --resume " not in told
    (path,) = (one for one in (project.path / "results").rglob("*") if one.is_file())
    assert path.suffix == {"waits": ".json", "deaf": ".journal"}[kind]
    content = journal.load(path)
    assert [row["name"] for row in content["benchmarks"]] == ["test_a"]
    assert [(one["id"], one["outcome"]) for one in content[KEY]["not_measured"]] == [("test_b", "timeout")]
    assert content[KEY]["not_run"] == ["test_c"]
    resumed = project.runpytest_subprocess(*MEASURE, "--roofline-resume")
    assert resumed.ret == pytest.ExitCode.TESTS_FAILED
    (path,) = (one for one in (project.path / "results").rglob("*.json") if one.is_file())
    done: dict[str, Any] = json.loads(path.read_text())
    assert [row["name"] for row in done["benchmarks"]] == ["test_a", "test_c"]
    assert [(one["id"], one["outcome"]) for one in done[KEY]["not_measured"]] == [("test_b", "timeout")]


@pytest.mark.skipif("sys.platform == 'win32'")
def test_a_case_that_lets_no_thread_run_ends_the_process(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps Python's lock. The traceback shows where, and the journal has which case it was."""
    project.makepyfile(CASES)
    monkeypatch.setenv("HANGS", "keeps the lock")
    result = project.runpytest_subprocess(*MEASURE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["--roofline-case-timeout: a case * after 1 s ends the run, and --roofline-resume *"])
    result.stderr.fnmatch_lines(["Timeout (0:00:00.03*)!", "*in test_b"])
    (path,) = (project.path / "results").rglob("*.journal")
    assert [row["name"] for row in journal.load(path)["benchmarks"]] == ["test_a"]
    resumed = project.runpytest_subprocess(*MEASURE, "--roofline-resume")
    assert resumed.ret == pytest.ExitCode.TESTS_FAILED
    resumed.stdout.fnmatch_lines(["left out: the run ended without a word in *::test_b. *"])
    done = results(project)
    assert [row["name"] for row in done["benchmarks"]] == ["test_a", "test_c"]
    assert [(one.id, one.outcome) for one in session_of(done).not_measured] == [("test_b", "error")]
