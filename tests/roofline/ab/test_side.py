"""From options to two sides: what can be asked, what is refused, and where each side's code is looked for."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.ab.side import (
    CannotMeasure,
    MeasuredSide,
    WrongOptions,
    check_arguments,
    two_sides,
)
from roofline.cli.compare_and_gate.ab import interruptible
from tests.roofline.ab.repository import Project
from tests.roofline.conftest import Run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    project.commit({"sub/a.txt": "old"})
    project.commit({"sub/a.txt": "new"})
    return project


def prepared(here: Path, trees: Path, **asked: Any) -> tuple[MeasuredSide, MeasuredSide]:
    trees.mkdir(exist_ok=True)
    with two_sides(here, trees, **asked) as sides:
        assert all(side.folder.is_dir() for side in sides.values())
        return sides["base"], sides["new"]


def test_a_revision_against_the_working_tree(project: Project, tmp_path: Path) -> None:
    """The new side is the user's own tree, in place; both are run from the folder that the user is in."""
    (project.root / "sub" / "a.txt").write_text("mine")
    base, new = prepared(project.root / "sub", tmp_path / "trees", base="HEAD")
    root = project.root.resolve()
    assert (new.root, new.folder, new.tree, new.what) == (root, root / "sub", root, "the working tree")
    assert new.commit.endswith(" and uncommitted changes")
    assert base.root != root
    assert (base.folder, base.tree) == (base.root / "sub", root)
    assert base.python == new.python == sys.executable
    assert not base.root.exists()


def test_two_folders(tmp_path: Path) -> None:
    """Trees that lie there already, with or without git; the new one is the folder the user is in."""
    base, new = prepared(_made(tmp_path / "new"), tmp_path / "trees", base_path=_made(tmp_path / "old"))
    assert (base.root, new.root) == (tmp_path / "old", tmp_path / "new")
    assert (base.commit, new.what) == ("", "this folder")


def test_two_interpreters(project: Project, tmp_path: Path) -> None:
    """One tree. The paths of virtual environments are links, and stay what they are."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    base, new = prepared(project.root, tmp_path / "trees", base_python=str(link))
    assert (base.python, new.python) == (str(link), sys.executable)
    assert base.root == new.root == project.root.resolve()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "nothing to compare: give --base REV"),
        ({"base": "HEAD", "base_path": Path()}, "--base and --base-path: give a revision or a folder, not both"),
        ({"new": "HEAD"}, "--new needs --base: what is it compared with?"),
        ({"new_path": Path(), "base": "HEAD"}, "--new-path needs --base-path: what is it compared with?"),
        ({"base_python": "/no/such/python"}, "--base-python: '/no/such/python' is no program that can be run"),
    ],
)
def test_what_is_no_question_is_refused(asked: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Before anything is checked out."""
    with pytest.raises(WrongOptions, match=re.escape(message)):
        prepared(tmp_path, tmp_path / "trees", **asked)


@pytest.mark.parametrize(
    "arguments",
    [["-n", "2"], ["-n2"], ["-nauto"], ["-n=2"], ["--numprocesses", "2"], ["--numprocesses=auto"], ["--dist", "load"]],
)
def test_tests_beside_each_other_are_refused(arguments: list[str]) -> None:
    """By the name of the plugin that would run them so, and the flag as it was given."""
    flag = "-n" if arguments[0].startswith("-n") else arguments[0].partition("=")[0]
    with pytest.raises(WrongOptions, match=f"^{flag}: both sides take turns test by test"):
        check_arguments(["perftests", *arguments, "-x"])


@pytest.mark.parametrize("arguments", [[], ["-n", "0"], ["-n0"], ["--dist=no"], ["--nf-like", "-k", "n"]])
def test_xdist_that_distributes_nothing_is_not_refused(arguments: list[str]) -> None:
    """That is how an ini file's -n is taken back."""
    check_arguments(arguments)


@pytest.mark.parametrize("command", [("ab", "--base", "HEAD"), ("selftest",)])
@pytest.mark.parametrize(
    "option",
    [*(f"--max-time={time}" for time in ("nan", "inf", "0", "long")), "--least-effect=nan", "--confidence=nan"],
)
def test_a_budget_that_never_ends_and_a_share_that_is_no_number_are_refused(
    command: tuple[str, ...], option: str, run: Run
) -> None:
    assert run(*command, option)[0] == 2


@pytest.mark.parametrize("command", [("ab", "--base", "HEAD"), ("selftest",)])
def test_where_the_verdict_cannot_be_written_nothing_is_measured(
    command: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told at once, as a usage error, and not after minutes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    code, _, err = run(*command, "-o", "file/out.md")
    assert code == 2
    assert "file/out.md: can't be written (" in err


def test_where_the_turns_cannot_be_written_nothing_is_measured(run: Run, tmp_path: Path) -> None:
    """The folder is tried, too."""
    (tmp_path / "file").write_text("")
    code, _, err = run("ab", "--base", "HEAD", "--results", str(tmp_path / "file" / "turns"))
    assert code == 2
    assert f"Error: --results {tmp_path / 'file' / 'turns'}: can't be written (" in err


def test_what_is_tried_is_left_as_it_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old verdict stays, and no empty file passes for one, where the comparison then can't be made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.md").write_text("a verdict")
    for name in ("old.md", "none.md"):
        assert run("ab", "--base", "HEAD", "-o", name, "--results", "turns")[0] == 3
    assert (tmp_path / "old.md").read_text() == "a verdict"
    assert not (tmp_path / "none.md").exists()
    assert list((tmp_path / "turns").iterdir()) == []


def test_the_same_on_both_sides_is_refused(project: Project, tmp_path: Path) -> None:
    """A comparison of a commit with itself passes whatever the change was."""
    with pytest.raises(
        CannotMeasure, match="--base HEAD and the working tree, which has no changes, are the same commit"
    ):
        prepared(project.root, tmp_path / "trees", base="HEAD")
    with pytest.raises(CannotMeasure, match="--base HEAD and --new main are the same commit"):
        prepared(project.root, tmp_path / "trees", base="HEAD", new="main")
    with pytest.raises(CannotMeasure, match=r"both sides are the same: .*selftest"):
        prepared(tmp_path, tmp_path / "trees", base_path=tmp_path)
    assert project.git("worktree", "list").count("\n") == 0


def test_a_folder_that_a_revision_lacks_is_told(project: Project, tmp_path: Path) -> None:
    """pytest could not be started there; nothing is left of the trees."""
    project.commit({"later/b.txt": "x"})
    with pytest.raises(CannotMeasure, match="HEAD~1 has no folder later"):
        prepared(project.root / "later", tmp_path / "trees", base="HEAD~1", new="HEAD")
    assert project.git("worktree", "list").count("\n") == 0


def test_each_side_finds_its_own_packages_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its root, its src folder and what the user's PYTHONPATH names of the tree, there and not in the user's."""
    root, tree = _made(tmp_path / "base"), _made(tmp_path / "tree")
    _made(root / "src" / "package")
    (root / "src" / "package" / "__init__.py").touch()
    side = MeasuredSide(name="base", what="x", root=root, folder=root, tree=tree, python="python")
    monkeypatch.chdir(tree)
    given = os.pathsep.join(["lib", str(tree / "more"), "/elsewhere", "../tools"])
    environment = side.environment({"PYTHONPATH": given, "HOME": "/h"})
    assert environment["PYTHONPATH"].split(os.pathsep) == [
        *(str(root), str(root / "src")),
        *(str(root / "lib"), str(root / "more"), "/elsewhere", str(tmp_path / "tools")),
    ]
    assert (environment["HOME"], environment["PYTHONDONTWRITEBYTECODE"]) == ("/h", "1")


def test_this_repository_measures_itself_with_each_side_s_own_plugin(tmp_path: Path) -> None:
    """Both packages of a tree that holds them come from it."""
    for package in ("plugin/pytest_roofline", "roofline/roofline"):
        _made(tmp_path / package)
        (tmp_path / package / "__init__.py").touch()
    side = MeasuredSide(name="base", what="x", root=tmp_path, folder=tmp_path, tree=tmp_path, python="python")
    assert side.environment({})["PYTHONPATH"].split(os.pathsep) == [
        str(tmp_path / folder) for folder in ("", "plugin", "roofline")
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_leaves_the_block_and_the_second_is_not_heard(number: int) -> None:
    """Who presses Ctrl-C twice must not keep the work trees from being removed. The handlers are put back."""
    before, happened = signal.getsignal(number), []

    def work() -> None:
        with interruptible():
            try:
                os.kill(os.getpid(), number)
                happened.append("went on")
            finally:
                os.kill(os.getpid(), number)
                happened.append("tidied")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert happened == ["tidied"]
    assert signal.getsignal(number) is before


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
