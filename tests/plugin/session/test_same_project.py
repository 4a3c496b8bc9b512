"""Which project pytest finds, where the value of a flag led it to another one, and what repeats a run in its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_roofline.session.same_project import CommandLine, _project, joined, pinned
from tests.plugin.foreign import NOBODY_ELSE
from tests.plugin.test_plugin import MEASURES, QUICK

FLAGS = frozenset({"--results", "--label"})

SUITE = """
    from pytest_roofline.options import SETTINGS
    from pytest_roofline.settings import TakenFlags, add_short_flags

    def pytest_addoption(parser, pluginmanager):
        taken = add_short_flags(parser.getgroup("suite"), SETTINGS)
        pluginmanager.register(TakenFlags(taken), TakenFlags.PLUGIN)
"""
"""A conftest by which a suite takes the short flags: pytest knows them only once it has found that."""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], []),
        (["--results", "r", "tests", "--label", "a b"], ["--results=r", "tests", "--label=a b"]),
        (["--results=r", "--other", "r"], ["--results=r", "--other", "r"]),
        (["--results"], ["--results"]),
        (["--results", "--label", "x"], ["--results=--label", "x"]),
        (["--", "--results", "r"], ["--", "--results", "r"]),
    ],
)
def test_a_value_is_joined_to_its_flag(arguments: list[str], words: list[str]) -> None:
    """Behind no other flag, and nothing behind --, which makes paths of all."""
    assert list(joined(arguments, FLAGS)) == words


def test_root_and_ini_file_are_named_from_where_pytest_is_called(tmp_path: Path) -> None:
    """So a result that says how it was called doesn't tell where the project lies."""
    assert pinned(tmp_path, tmp_path / "pytest.ini", tmp_path) == ("--rootdir=.", "--config-file=pytest.ini")
    assert pinned(tmp_path, None, tmp_path / "a" / "b") == ("--rootdir=../..",)


def test_what_the_environment_adds_comes_first() -> None:
    """As pytest has it; what fixes the project is above it, and the user's own words count most."""
    again = CommandLine(arguments=["--rootdir", "x"], flags=FLAGS, pinned=["--rootdir=."])
    assert again.words("--label 'a b'") == ("--label=a b", "--rootdir=.", "--rootdir", "x")
    assert again.words() == ("--rootdir=.", "--rootdir", "x")


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({}, []),
        ({"pytest.ini": ""}, []),
        ({"../pytest.ini": "", "tox.ini": "[tox]\n"}, []),
        ({"../pytest.ini": "", "tox.ini": "[pytest]\n"}, []),
        ({"../pytest.ini": "", "setup.cfg": "[tool:pytest]\n"}, []),
        ({"../pytest.ini": "", "pyproject.toml": "[tool.pytest.ini_options]\nminversion = '9'\n"}, []),
        ({"../pytest.ini": "", "pyproject.toml": "[project]\n"}, []),
        ({"pyproject.toml": "[project]\n", "setup.py": ""}, []),
        ({"../setup.py": ""}, ["a"]),
        ({"a/pytest.ini": "", "b/pytest.ini": ""}, ["a"]),
        ({"a/pytest.ini": "", "b/pytest.ini": ""}, ["b", "a"]),
        ({"a/pytest.ini": "", "a/test_it.py": ""}, ["a/test_it.py"]),
        ({"../c/pytest.ini": ""}, ["../c"]),
        ({"../c/test_it.py": ""}, ["../c"]),
        ({}, ["a", "b"]),
    ],
)
def test_the_project_is_the_one_that_pytest_finds(
    pytester: pytest.Pytester, files: dict[str, str], named: list[str]
) -> None:
    """Asked of pytest itself."""
    folder = pytester.path / "here"
    for name, text in {"a/keep": "", "b/keep": "", **files}.items():
        path = folder / name
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        path.resolve().write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config = pytester.parseconfig("-p", "no:playwright", *named)
    assert _project([folder / name for name in named], folder) == (config.rootpath, config.inipath)


def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the project, with a baseline."""
    folder = tmp_path_factory.mktemp("away")
    (folder / "base.json").write_text(json.dumps({"benchmarks": [{"name": "test_mine"}]}))
    return folder


@pytest.mark.parametrize("flag", ["--roofline-gate", "--roofline-results"])
def test_a_project_that_a_flag_led_to_is_refused(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory, flag: str
) -> None:
    """Nothing is measured under names that the next run would not have. The message says what to write instead."""
    there = away(tmp_path_factory)
    run = project.runpytest_subprocess("-p", "no:playwright", flag, str(there), "-k", "mine")
    assert run.ret == 4
    (line,) = [line for line in run.stderr.lines if line.startswith("ERROR: ")]
    assert line.startswith(f"ERROR: {flag} {there}: pytest looks for its root folder before it knows this flag")
    assert f"and not {project.path} (ini file: {project.path / 'tox.ini'})" in line
    assert line.endswith(f" Write {flag}={there}, or name the tests.")


def test_a_value_that_leads_nowhere_else_is_none_of_it(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Joined to its flag, beside tests that are named, within the project, or with the ini file given."""
    there = str(away(tmp_path_factory))
    project.makepyfile(test_plain="def test_plain(): pass")
    (project.path / "results").mkdir()
    for arguments in (
        [f"--roofline-results={there}"],
        ["--roofline-results", there, "test_plain.py"],
        ["--roofline-results", "results"],
        ["--roofline-results", there, "-c", "tox.ini"],
        ["--roofline-results", there, "--collect-only"],
    ):
        run = project.runpytest_subprocess("-p", "no:playwright", *arguments, "-k", "plain")
        assert run.ret in (0, 5), arguments
        assert "ERROR" not in run.stderr.str()


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
