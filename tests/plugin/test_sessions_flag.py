"""``--sessions`` and ``--gate`` on pytest's command line: what is refused before anything runs, and a set that ran."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from roofline.results import journal
from roofline.schema.record import KEY
from roofline.schema.session import Session
from tests.plugin.foreign import MEASURES, NOBODY_ELSE, QUICK, session_of

KEPT = ("--roofline-results", "results")
BASELINE = json.dumps({"benchmarks": [{"name": "test_mine"}]})

SUITE = """
    from pytest_roofline.options import SETTINGS
    from pytest_roofline.settings import add_short_flags

    def pytest_addoption(parser, pluginmanager):
        add_short_flags(pluginmanager, parser.getgroup("suite"), SETTINGS)
"""
"""A conftest by which a suite takes the short flags: pytest knows them only once it has found that."""

TELLS_WHAT_IT_LOADED = """
    import atexit, os, sys

    @atexit.register
    def tell():
        with open(os.path.join(os.path.dirname(__file__), f"loaded-{os.getpid()}"), "w") as file:
            file.write(str("torch" in sys.modules))
"""
"""A conftest by which each process leaves a file that says whether it loaded torch."""


@pytest.fixture
def outside(started_anew: pytest.Pytester) -> pytest.Pytester:
    """Somebody else's project."""
    started_anew.makeini("[pytest]\naddopts = -p no:playwright\n")
    started_anew.makepyfile(MEASURES)
    return started_anew


def loaded_torch(project: pytest.Pytester) -> list[bool]:
    return [path.read_text() == "True" for path in project.path.glob("loaded-*")]


def refused(project: pytest.Pytester, *arguments: str) -> str:
    """The message of a run that ended with exit code 4 before any process loaded torch or wrote a result."""
    project.makeconftest(TELLS_WHAT_IT_LOADED)
    run = project.runpytest_subprocess("--roofline-device", "cpu", *arguments)
    assert run.ret == 4
    assert loaded_torch(project) == [False]
    assert not (project.path / "results").exists()
    (line,) = [line for line in run.stderr.lines if line.startswith("ERROR: ")]
    return line.removeprefix("ERROR: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--roofline-sessions", "3"],
            "--roofline-sessions: nothing would be kept of the run. "
            "Name a folder for its results: --roofline-results FOLDER.",
        ),
        (
            [*KEPT, "--roofline-sessions", "3", "--benchmark-disable"],
            "--roofline-sessions: with --benchmark-disable nothing would be measured. Leave it out.",
        ),
        (
            [*KEPT, "--roofline-gate", "base.json", "--benchmark-skip"],
            "--roofline-gate: with --benchmark-skip nothing would be measured. Leave it out.",
        ),
        (
            [*KEPT, "--roofline-sessions", "3", "--benchmark-json", "out.json"],
            "--roofline-sessions: each session would overwrite the file of --benchmark-json. Leave it out: "
            "the results folder has a file of each.",
        ),
        (
            [*KEPT, "--roofline-gate", "base.json", "--roofline-gate-options", "'"],
            '--roofline-gate-options: "\'" is not allowed: use options as in a shell (No closing quotation)',
        ),
        (
            [*KEPT, "--roofline-gate", "base.json", "--roofline-gate-options", "--least-effect x"],
            "--roofline-gate-options: roofline check says: Invalid value for '--least-effect': 'x' is not a valid "
            "number, such as 2% or 0.02.",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_before_anything_is_measured(
    outside: pytest.Pytester, arguments: list[str], says: str
) -> None:
    """With what was asked, why not, and what to do."""
    (outside.path / "base.json").write_text(BASELINE)
    assert refused(outside, *arguments) == says


@pytest.mark.parametrize("sessions", [(), ("--roofline-sessions", "2")])
def test_a_missing_baseline_is_refused_with_the_command_that_makes_one(
    outside: pytest.Pytester, sessions: tuple[str, ...]
) -> None:
    """Before anything is measured."""
    assert refused(outside, *KEPT, *sessions, "--roofline-gate", "base") == (
        "--roofline-gate base: no such file or folder. Make one on this machine, of code that is good: "
        "pytest TESTS --roofline-sessions=5 --roofline-results=base"
    )


def test_a_gate_over_tests_that_measure_nothing_does_not_pass(outside: pytest.Pytester) -> None:
    """Though all of them pass: there is nothing to compare. Plain benchmarks are told by which command."""
    outside.makepyfile("def test_plain(benchmark): benchmark(int)\ndef test_other(): pass")
    (outside.path / "base.json").write_text(BASELINE)
    run = outside.runpytest_subprocess(*KEPT, "--roofline-gate", "base.json")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --roofline-gate: no test here uses the fixture roofline, *`roofline check`."])


def test_a_gate_leaves_errors_of_collection_their_own_message(outside: pytest.Pytester) -> None:
    """A test file that can't be imported is what is wrong."""
    outside.makepyfile("import nowhere_to_be_found")
    (outside.path / "base.json").write_text(BASELINE)
    run = outside.runpytest_subprocess(*KEPT, "--roofline-gate", "base.json")
    assert run.ret == 2
    run.stdout.fnmatch_lines(["*No module named 'nowhere_to_be_found'*"])


@pytest.mark.parametrize("shows", ["--collect-only", "--setup-plan", "--markers", "--help", "--fixtures"])
def test_to_look_at_the_tests_is_no_set_and_no_gate(project: pytest.Pytester, shows: str) -> None:
    """Nothing is run, so nothing is repeated or compared, and no baseline is asked for."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess("--roofline-sessions", "3", "--roofline-gate", "missing", shows)
    assert run.ret == 0
    assert "session 1 of 3" not in run.stdout.str()


def test_tests_that_measure_nothing_are_not_repeated(outside: pytest.Pytester) -> None:
    """The first session shows it; sessions were asked for, and there is none."""
    outside.makepyfile("def test_plain(): pass")
    run = outside.runpytest_subprocess(*KEPT, "--roofline-sessions", "3", "-k", "plain")
    assert run.ret == 4
    run.stdout.fnmatch_lines(
        [
            "session 1 of 3 ended with exit code 0: nothing was measured with the fixture roofline",
            "stopped after session 1 of 3",
        ]
    )


def test_a_set_has_a_file_of_each_session_and_goes_on_after_a_crash(outside: pytest.Pytester) -> None:
    """Every file knows its place; the one that crashed is named, and only the children load torch."""
    outside.makeconftest(TELLS_WHAT_IT_LOADED)
    outside.makepyfile(
        MEASURES
        + """
    def test_then():
        import os, pathlib
        assert "ROOFLINE_SESSION" not in os.environ  # no pytest that a test starts is of the set
        counted = pathlib.Path("counted")
        counted.write_text((counted.read_text() if counted.exists() else "") + "x")
        if counted.read_text() == "x":
            os.kill(os.getpid(), 9)
"""
    )
    run = outside.runpytest_subprocess(*QUICK, *KEPT, "--roofline-sessions", "2", "--roofline-label", "here")
    assert run.ret == 3
    assert sorted(loaded_torch(outside)) == [False, True]  # the one that was killed could not tell
    sessions = {path: _session(path) for path in sorted((outside.path / "results").rglob("*.json"))}
    places = {path: session.set for path, session in sessions.items() if session.set is not None}
    files = {place.index: path for path, place in sorted(places.items(), key=lambda item: item[1].index)}
    assert len(places) == len(sessions)
    assert {place.count for place in places.values()} == {2}
    assert list(files) == [1, 2]
    assert len({place.id for place in places.values()}) == 1
    assert all("--rootdir=." in session.arguments for session in sessions.values())
    out = run.stdout
    out.fnmatch_lines(["*= session 1 of 2 =*", "*= session 2 of 2 =*", "here, *, session 2 of 2"])
    out.fnmatch_lines(
        [
            "*= set of 2 sessions =*",
            "Sessions of the same code: how far they scatter",
            f"session 1 of 2 crashed (SIGKILL): {files[1]} has what it measured",
            *(f"results: {file}" for file in files.values()),
        ]
    )


@pytest.mark.usefixtures("forked_children")
def test_a_session_that_is_left_in_a_test_is_no_session(project: pytest.Pytester) -> None:
    """Its exit code may be 0: the cases that its file lacks are told of by nobody else, and the set doesn't pass."""
    project.makepyfile(MEASURES + "\n    def test_then(roofline):\n        import os; os._exit(0)\n")
    run = project.runpytest_subprocess(*QUICK, *KEPT, "--roofline-sessions", "2")
    assert run.ret == 3
    files = {place.index: path for path in project.path.rglob("*.json") if (place := _session(path).set) is not None}
    run.stdout.fnmatch_lines(
        [
            f"session {number} of 2 crashed (exit code 0 before pytest had ended): {files[number]} has what it measured"
            for number in (1, 2)
        ]
    )
    session = _session(files[1])
    assert (session.complete, session.planned, session.finished) == (False, 2, 1)
    assert session.not_run == ("test_then",)
    assert list(project.path.rglob("*.journal")) == []


def test_a_set_that_is_killed_leaves_no_process(outside: pytest.Pytester) -> None:
    """What the session had measured is kept."""
    outside.makepyfile(
        MEASURES
        + """
    def test_then(roofline):
        import os, pathlib, time
        pathlib.Path("writing").write_text(str(os.getpid()))
        os.rename("writing", "measuring")
        time.sleep(1000)
"""
    )
    parent = outside.popen(
        [sys.executable, "-m", "pytest", *QUICK, *KEPT, "--roofline-sessions", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    measuring = outside.path / "measuring"
    # Until the time of the test is up.
    while not measuring.exists() and parent.poll() is None:
        time.sleep(0.01)
    child = int(measuring.read_text())
    parent.kill()
    parent.wait()
    while _runs(child):
        time.sleep(0.01)
    (left,) = (outside.path / "results").rglob("*.journal")
    assert journal.load(left)[KEY]["not_run"] == ["test_then"]


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["--roofline-results", "{away}"], True),
        (["--roofline-gate", "{away}"], True),
        (["--roofline-results={away}"], False),
        (["--roofline-results", "{away}", "-c", "tox.ini"], False),
        (["--roofline-results", "{away}", "--rootdir", "."], False),
        (["--roofline-results", "inside"], False),
        (["--roofline-results", "{away}/new"], False),
        (["--roofline-results", "{away}", "--collect-only"], False),
    ],
)
def test_a_value_that_pytest_takes_for_the_path_of_tests_is_refused(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory, arguments: list[str], refused: bool
) -> None:
    """Nothing is measured under names that the next run would not have. The message says what to write instead."""
    away = str(tmp_path_factory.mktemp("away"))
    project.makepyfile(test_plain="def test_plain(): pass")
    project.mkdir("inside")
    words = [word.format(away=away) for word in arguments]
    run = project.runpytest_subprocess("-p", "no:playwright", *words)
    assert run.ret in ((4,) if refused else (0, 5))
    if refused:
        (line,) = [line for line in run.stderr.lines if line.startswith("ERROR: ")]
        assert f"Write {words[0]}={away}" in line


@pytest.mark.usefixtures("forked_children")
def test_every_session_of_a_set_is_of_the_same_project(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though their results folder, outside of it, is made by the first of them; and a short flag of the suite, or one
    in the environment, stays known.
    """
    there = tmp_path_factory.mktemp("away") / "results"
    project.makeconftest(SUITE + NOBODY_ELSE)
    project.makepyfile(MEASURES)
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--results '{there}'")
    run = project.runpytest_subprocess(*QUICK, "--sessions", "2", "--label", "here")
    assert run.ret == 0, run.stdout.str() + run.stderr.str()
    documents = [json.loads(path.read_text()) for path in sorted(there.rglob("*.json"))]
    assert len(documents) == 2
    first, second = ([row["fullname"] for row in document["benchmarks"]] for document in documents)
    assert first == second
    assert run.stdout.str().count(f"rootdir: {project.path}\n") == 2


def _runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE  # it has ended; nobody has asked how
    except psutil.NoSuchProcess:
        return False


def _session(path: Path) -> Session:
    return session_of(json.loads(path.read_text()))
