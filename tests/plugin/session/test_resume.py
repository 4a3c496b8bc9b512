"""A run that did not come to its end is gone on with: nothing that it measured is lost or measured again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session.results_file import ResultsError, ResultsFile
from roofline.results import journal
from roofline.schema.record import KEY
from tests.plugin.foreign import QUICK

THREE = """
    import os, signal, torch
    from torch import nn

    def step(roofline, name):
        open("began", "a").write(name)
        if name in os.environ.get("ENDS_IN", ""):
            os.kill(os.getpid(), int(os.environ["BY"]))
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_a(roofline):
        step(roofline, "a")

    def test_b(roofline):
        step(roofline, "b")

    def test_c(roofline):
        step(roofline, "c")
"""

MEASURE = (*QUICK, "--roofline-results", "results", "--roofline-roofs", "off")


@pytest.fixture
def three(project: pytest.Pytester) -> pytest.Pytester:
    """Three cases, of which one can end the run."""
    project.makepyfile(THREE)
    return project


def end(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, test: str, by: int, *more: str) -> Path:
    """Measure until a test ends the run by a signal."""
    with monkeypatch.context() as patch:
        patch.setenv("ENDS_IN", test)
        patch.setenv("BY", str(int(by)))
        run.runpytest_subprocess(*MEASURE, *more)
    (left,) = [path for path in (run.path / "results").rglob("*") if path.suffix in (".json", ".journal")]
    return left


def repository(run: pytest.Pytester) -> None:
    """Commit the project."""
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=run.path, check=True)


def resumed(run: pytest.Pytester, *more: str) -> tuple[pytest.RunResult, list[str]]:
    """Go on, and say which tests ran."""
    (run.path / "began").unlink(missing_ok=True)
    result = run.runpytest_subprocess(*MEASURE, "--roofline-resume", *more)
    ran = run.path / "began"
    return result, list(ran.read_text()) if ran.exists() else []


def document(run: pytest.Pytester) -> dict[str, Any]:
    """Of the only file below ``results``."""
    (path,) = [path for path in (run.path / "results").rglob("*") if path.is_file()]
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_case_in_which_the_process_died_is_left_out(three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in the file with its reason, and the exit code tells; what was measured before stays as it was."""
    left = end(three, monkeypatch, "b", 9)
    assert left.suffix == ".journal"
    result, ran = resumed(three, "--deselect", f"{_file(three)}::test_a")
    assert (result.ret, ran) == (4, [])
    result.stderr.fnmatch_lines(["*of another run: this command measures other cases (without *::test_a). *"])
    (before,) = journal.load(left)["benchmarks"]
    result, ran = resumed(three)
    result.stdout.fnmatch_lines(["resumed: 2 of 3 cases of *.journal have ended; 1 are left."], consecutive=False)
    result.stdout.fnmatch_lines(["left out: the run ended without a word in *::test_b. Measure it by itself."])
    assert (result.ret, ran) == (1, ["c"])
    result.stdout.fnmatch_lines(["FAILED before the run was resumed, without a number: test_b"])
    content = document(three)
    assert [row["name"] for row in content["benchmarks"]] == ["test_a", "test_c"]
    assert content["benchmarks"][0]["stats"]["data"] == before["stats"]["data"]
    session = content[KEY]
    assert [(one["id"], one["outcome"]) for one in session["not_measured"]] == [("test_b", "error")]
    assert (session["complete"], session["finished"], len(session["segments"])) == (True, 3, 2)
    assert session["segments"][0] == session["started_at"]


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("by", [2, 15], ids=["Ctrl-C", "SIGTERM"])
def test_a_run_that_was_stopped_goes_on_with_the_case_it_was_in(
    three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, by: int
) -> None:
    """Whoever stopped it let it make its JSON: the case isn't to blame. A second stop loses nothing either."""
    stopped = end(three, monkeypatch, "b", by)
    assert stopped.suffix == ".json"
    monkeypatch.setenv("ENDS_IN", "c")
    monkeypatch.setenv("BY", str(by))
    result, ran = resumed(three)
    assert ran == ["b", "c"]
    result.stdout.fnmatch_lines(["*not run: test_c. --roofline-resume goes on with what is left."])
    monkeypatch.delenv("ENDS_IN")
    result, ran = resumed(three)
    assert (result.ret, ran) == (0, ["c"])
    content = document(three)
    assert [row["name"] for row in content["benchmarks"]] == ["test_a", "test_b", "test_c"]
    assert (content[KEY]["complete"], len(content[KEY]["segments"])) == (True, 3)
    assert stopped.exists()


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_another_run_is_not_gone_on_with(three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """By each of what makes it another one; its file stays as it is."""
    stopped = end(three, monkeypatch, "b", 2)
    before = stopped.read_bytes()

    def refused(*more: str) -> str:
        result, ran = resumed(three, *more)
        assert (result.ret, ran) == (4, [])
        assert stopped.read_bytes() == before
        return result.stderr.str()

    assert "is of another run: max_time was 0.001, is 0.002." in refused("--roofline-max-time", "0.002")
    assert "it was to measure 3 cases" in refused("--deselect", f"{_file(three)}::test_a")
    assert "--roofline-sessions out" in refused("--roofline-sessions", "2")
    content = json.loads(before)
    assert "put the flag behind the paths" in refused("--roofline-resume=results")
    content["benchmarks"][0]["extra_info"] = {}
    before = json.dumps(content).encode()
    stopped.write_bytes(before)
    assert "a row of it is damaged ('roofline')" in refused()
    content["machine_info"][KEY]["versions"]["torch"] = "1.0"
    before = json.dumps(content).encode()
    stopped.write_bytes(before)
    assert "torch was 1.0, is " in refused()
    machine = content["machine_info"][KEY]
    machine["fingerprint"], machine["limits"]["effective_cpus"] = "another", 77
    before = json.dumps(content).encode()
    stopped.write_bytes(before)
    assert "it had 77 CPUs, this has " in refused()


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_options_of_the_project_have_to_be_the_same(three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case may depend on them and have one name with all their values."""
    three.makeconftest("""
        from pytest_roofline.settings import Setting, add_flags, whole

        def pytest_addoption(parser, pluginmanager):
            group = parser.getgroup("mine")
            group.addoption("--hidden", type=int, default=8)
            group.addoption("--token", default="secret")
            add_flags(parser, pluginmanager, group, [Setting(name="grad_accum_steps", help="", parse=whole(1))])
    """)
    stopped = end(three, monkeypatch, "b", 2, "--hidden", "9")
    settings = json.loads(stopped.read_text())[KEY]["settings"]
    assert {name: value for name, value in settings.items() if name.startswith("-")} == {"--hidden": "9"}
    for more, why in (
        (("--hidden", "10"), "--hidden was 9, is 10."),
        (("--hidden", "8"), "--hidden was 9, is not given."),
        (("--hidden", "9", "--roofline-grad-accum-steps", "4"), "--grad-accum-steps was not given, is 4."),
    ):
        result, ran = resumed(three, *more)
        assert (result.ret, ran) == (4, [])
        assert why in result.stderr.str()
    result, ran = resumed(three, "--hidden=9", "-q", "--token", "secret")
    assert (result.ret, ran) == (0, ["b", "c"])


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_threads_have_to_be_the_same(three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number of them is another speed, not another machine."""
    stopped = end(three, monkeypatch, "b", 2)
    content = json.loads(stopped.read_text())
    threads = content["machine_info"][KEY]["threads"]
    threads["intra_op"] += 1
    stopped.write_text(json.dumps(content))
    result, ran = resumed(three)
    assert (result.ret, ran) == (4, [])
    assert f"torch had {threads['intra_op']} intra_op threads, has {threads['intra_op'] - 1}." in result.stderr.str()


@pytest.mark.skipif(os.name == "nt", reason="no signals")
@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
def test_changes_beside_the_commit_have_to_be_the_same(
    three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tracked: bool
) -> None:
    """Of tracked code and of tests that aren't tracked yet; what isn't code may change."""
    test = three.path / _file(three)
    code = test.read_text()
    if not tracked:
        test.unlink()
    repository(three)
    test.write_text(f"{code}\nSIZE = 1\n")
    stopped = end(three, monkeypatch, "b", 2)
    test.write_text(f"{code}\nSIZE = 2\n")
    result, ran = resumed(three)
    assert (result.ret, ran) == (4, [])
    assert "is of another run: the changes beside its commit were others (" in result.stderr.str()
    test.write_text(f"{code}\nSIZE = 1\n")
    (three.path / "notes.md").touch()
    result, ran = resumed(three, str(stopped))
    assert (result.ret, ran) == (0, ["b", "c"])


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_a_run_that_still_measures_is_passed_over(three: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest that nobody writes is gone on with; where there is none, the refusal says why."""
    killed = end(three, monkeypatch, "b", 9)
    newer = killed.with_name("29991231T000000Z-nogit.journal")
    newer.write_bytes(killed.read_bytes())
    measuring = ResultsFile.resumed(newer)
    result, ran = resumed(three)
    assert (result.ret, ran) == (1, ["c"])
    assert not killed.exists()
    result, ran = resumed(three)
    assert (result.ret, ran) == (4, [])
    assert "29991231T000000Z-nogit.journal: its run still measures" in result.stderr.str()
    os.close(measuring._descriptor)


def _file(run: pytest.Pytester) -> str:
    (path,) = run.path.glob("test_*.py")
    return path.name


def test_without_a_run_that_did_not_end_there_is_nothing_to_go_on_with(three: pytest.Pytester) -> None:
    """Neither where nothing was measured nor where all was."""
    result, _ = resumed(three)
    result.stderr.fnmatch_lines(["ERROR: --roofline-resume: *: no run in it that did not come to its end. *"])
    three.runpytest_subprocess(*MEASURE)
    for more in ((), (str(next((three.path / "results").rglob("*.json"))),)):
        result, ran = resumed(three, *more)
        assert (result.ret, ran) == (4, [])
        assert "come to its end" in result.stderr.str() or "came to its end" in result.stderr.str()


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_a_run_that_still_measures_is_not_gone_on_with(tmp_path: Path) -> None:
    """Its journal is its own as long as it lives; a last line that is cut off goes."""
    file = ResultsFile(tmp_path, "m", "c")
    file.append({"a": 1})
    with pytest.raises(ResultsError, match="its run still measures"):
        ResultsFile.resumed(file.journal)
    os.write(file._descriptor, b'{"b":')
    os.close(file._descriptor)
    ResultsFile.resumed(file.journal).append({"c": 2})
    assert file.journal.read_text() == '{"a": 1}\n{"c": 2}\n'
