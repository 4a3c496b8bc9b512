"""--isolate: what is measured, and what is lost, where each case has a process of its own."""

from __future__ import annotations

import sys

import pytest

from tests import forked
from tests.plugin.foreign import HANGS, MEASURES, QUICK, records, results, session_of

ISOLATED = (*QUICK, "--roofline-results", "results", "--roofline-isolate")

CASES = """
    import os, pytest, torch
    from torch import nn

    @pytest.fixture(autouse=True)
    def process(request):
        with open("processes.txt", "a") as file:
            print(request.node.name, os.getpid(), os.getppid(), file=file)

    def step(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    @pytest.mark.roofs
    def test_launch(roofline):
        roofline.roof("launch")

    def test_first(roofline):
        step(roofline)

    def test_fails_after(roofline):
        step(roofline)
        assert False, "too slow"

    def test_skips(roofline):
        pytest.skip("not here")

    def test_last(roofline, record_property):
        step(roofline)
        record_property("seen", 3)

    def test_plain():
        pass
"""


@pytest.mark.usefixtures("forked_children")
def test_each_case_has_a_process_of_its_own(project: pytest.Pytester) -> None:
    """Roofs and other tests are run by the run's own process. Reports, rows and reasons are as without the flag, for
    other plugins, too.
    """
    project.makepyfile(CASES)
    run = project.runpytest_subprocess(*ISOLATED, "--benchmark-json", "own.json", "--junit-xml", "junit.xml")
    run.assert_outcomes(passed=4, failed=1, skipped=1)
    assert run.ret == 1
    lines = [line.split() for line in (project.path / "processes.txt").read_text().splitlines()]
    pid = {name: int(number) for name, number, _ in lines}
    parent = {name: int(number) for name, _, number in lines}
    own = pid.pop("test_plain")
    assert pid.pop("test_launch") == own
    assert len({own, *pid.values()}) == 5
    assert {parent[name] for name in pid} == {own}
    rows = records(results(project))
    assert list(rows) == ["test_launch", "test_first", "test_fails_after", "test_last"]
    assert [flag.name for flag in rows["test_fails_after"].flags if flag.invalid] == ["test_failed"]
    assert rows["test_first"].valid
    assert [roof.name for roof in session_of(results(project)).roofs] == ["launch"]
    reasons = [(one.id, one.outcome) for one in session_of(results(project)).not_measured]
    assert reasons == [("test_fails_after", "failed"), ("test_skips", "skipped")]
    assert session_of(results(project)).complete
    assert (project.path / "own.json").read_text().count('"fullname"') == 4
    assert 'name="seen" value="3"' in (project.path / "junit.xml").read_text()


LOST = f"""{HANGS}
    import ctypes, os, signal, pytest, torch
    from torch import nn

    def step(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_dies(roofline):
        print("last words")
        os.kill(os.getpid(), signal.SIGKILL)

    def test_faults(roofline):
        ctypes.string_at(0)

    def test_leaves(roofline):
        step(roofline)
        os._exit(0)

    def test_hangs(roofline):
        hang()

    def test_last(roofline):
        step(roofline)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
@pytest.mark.usefixtures("forked_children")
def test_a_case_whose_process_dies_or_hangs_is_lost_alone(project: pytest.Pytester) -> None:
    """The next one is measured, and the exit code tells. Where it hung is shown."""
    project.makepyfile(LOST)
    run = project.runpytest_subprocess(*ISOLATED, "--roofline-case-timeout", "20")
    run.assert_outcomes(passed=1, failed=4)
    assert run.ret == 1
    run.stdout.fnmatch_lines(["*in test_hangs*"])
    rows = records(results(project))
    assert [name for name, row in rows.items() if row.valid] == ["test_last"]
    assert {(one.id, one.outcome, one.reason) for one in session_of(results(project)).not_measured} == {
        ("test_dies", "error", "its process was killed by SIGKILL"),
        ("test_faults", "error", "its process was killed by SIGSEGV"),
        ("test_leaves", "error", "its process ended with exit code 0 before its test had ended"),
        ("test_hangs", "timeout", "it was still running after 20 s (--roofline-case-timeout)"),
    }
    assert session_of(results(project)).complete


@pytest.mark.usefixtures("forked_children")
def test_beside_workers_it_is_refused(project: pytest.Pytester) -> None:
    """A worker of pytest-xdist is a process of its own already."""
    pytest.importorskip("xdist")
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*ISOLATED, "-n", "1")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --roofline-isolate: with -n one that dies loses its case alone, too.*"])


def test_its_plugin_is_for_its_processes_alone(project: pytest.Pytester) -> None:
    """Somebody named it by hand."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess("-p", "pytest_roofline.workers.isolation_child")
    assert run.ret == 4
    run.stderr.fnmatch_lines(
        ["ERROR: pytest_roofline.workers.isolation_child is for the processes that --roofline-isolate starts.*"]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_run_that_was_killed_goes_on_with_the_case_it_was_in(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case has a process of its own, so it isn't to blame. The last one is an interpreter that starts anew.

    What passed between the processes lies where pytest takes it away after three more runs.
    """
    project.makepyfile(
        """
        import os, torch
        from pathlib import Path
        from torch import nn

        def test_a(roofline):
            roofline(nn.Linear(8, 4), torch.randn(2, 8))

        def test_b(roofline):
            if not Path("killed").exists():
                Path("killed").touch()
                os.kill(os.getppid(), 9)
            roofline(nn.Linear(8, 4), torch.randn(2, 8))
        """
    )
    with monkeypatch.context() as patch:
        patch.setenv(forked.CHILDREN, "yes")
        assert project.runpytest_subprocess(*ISOLATED, "--roofline-roofs", "off").ret == -9
    assert [*project.path.glob("runpytest-0/roofline-*/*.reports")]
    run = project.runpytest_subprocess(*ISOLATED, "--roofline-roofs", "off", "--roofline-resume")
    run.assert_outcomes(passed=1, deselected=1)
    assert list(records(results(project))) == ["test_a", "test_b"]
    assert session_of(results(project)).not_measured == ()
    assert not [*project.path.glob("runpytest-1/roofline-*")]


@pytest.mark.usefixtures("forked_children")
def test_it_needs_no_folder_of_pytest(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under ``-p no:tmpdir`` what passes between the processes lies in the system's folder, and is deleted, too."""
    temporary = project.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    project.makepyfile(MEASURES)
    project.runpytest_subprocess(*ISOLATED, "-p", "no:tmpdir").assert_outcomes(passed=1)
    assert [*temporary.iterdir()] == []
