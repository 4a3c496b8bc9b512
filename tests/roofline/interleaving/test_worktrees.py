"""Revisions beside the user's tree, and nothing left of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.interleaving.worktrees import Commit, GitError, Repository
from tests.roofline.interleaving.repository import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    project.commit({"a.txt": "old"})
    project.commit({"a.txt": "new"})
    return project


def test_a_revision_is_checked_out_beside_the_tree(project: Project, tmp_path: Path) -> None:
    """The user's tree, index and branch, uncommitted changes included, are what they were; so is git's own list."""
    (project.root / "a.txt").write_text("mine")
    (project.root / "b.txt").write_text("untracked")
    before = project.state()
    repository = Repository(project.root)
    with repository.worktree(repository.find("HEAD~1"), tmp_path / "base") as root:
        assert (root / "a.txt").read_text() == "old"
        assert not (root / "b.txt").exists()
    assert not (tmp_path / "base").exists()
    assert project.state() == before


def test_it_is_removed_whatever_happens_in_it(project: Project, tmp_path: Path) -> None:
    """Ctrl-C, and files that the tests wrote into it."""
    before = project.state()
    repository = Repository(project.root)

    def work() -> None:
        with repository.worktree(repository.find("HEAD"), tmp_path / "base") as root:
            (root / "made.txt").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not (tmp_path / "base").exists()
    assert project.state() == before


def test_hooks_are_not_run(project: Project, tmp_path: Path) -> None:
    """They are for the user's own checkouts."""
    hook = project.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hooked'}\n")
    hook.chmod(0o755)
    repository = Repository(project.root)
    with repository.worktree(repository.find("HEAD"), tmp_path / "base"):
        pass
    assert not (tmp_path / "hooked").exists()


def test_the_present_tells_whether_it_is_committed(project: Project) -> None:
    """An untracked file is a change, too."""
    repository = Repository(project.root)
    head = project.git("rev-parse", "HEAD")
    assert repository.present() == Commit(head)
    assert str(repository.present()) == head[:8]
    (project.root / "b.txt").write_text("untracked")
    assert str(repository.present()) == f"{head[:8]} and uncommitted changes"


@pytest.mark.parametrize("revision", ["nowhere", "--help", "HEAD:a.txt"])
def test_what_is_no_commit_is_told(project: Project, revision: str) -> None:
    """By the name it was given, options of git's included."""
    with pytest.raises(GitError, match=f"no commit '{revision}' in .*project.$"):
        Repository(project.root).find(revision)


def test_a_shallow_clone_is_told_how_to_get_the_rest(project: Project, tmp_path: Path) -> None:
    """That is what CI checks out."""
    project.git("clone", "--quiet", "--depth", "1", f"file://{project.root}", str(tmp_path / "clone"))
    with pytest.raises(GitError, match=r"The clone is shallow: .*fetch-depth: 0"):
        Repository(tmp_path / "clone").find("HEAD~1")


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    """In git's words."""
    with pytest.raises(GitError, match=r"git rev-parse: .*not a git repository"):
        Repository(tmp_path)


def test_a_surrounding_git_does_not_lead_elsewhere(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that runs this has GIT_DIR set: it is the folder's repository that counts."""
    other = Project(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    assert Repository(project.root).top == project.root.resolve()
