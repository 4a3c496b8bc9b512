"""Revisions beside the user's tree, and nothing left of them."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from roofline.ab.worktrees import GitError, Repository
from tests.roofline.ab.repository import Project


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
    hook = project.root / ".git" / "hooks" / "post-checkout"  # for the user's own checkouts
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hooked'}\n")
    hook.chmod(0o755)
    before = project.state()
    repository = Repository(project.root)
    with repository.worktree(repository.find("HEAD~1"), tmp_path / "base") as root:
        assert (root / "a.txt").read_text() == "old"
        assert not (root / "b.txt").exists()
    assert not (tmp_path / "base").exists()
    assert not (tmp_path / "hooked").exists()
    assert project.state() == before


def test_it_is_removed_whatever_happens_in_it(project: Project, tmp_path: Path) -> None:
    """Ctrl-C, files that the tests wrote into it, and git's own file taken away: git then takes it for no work tree."""
    before, repository = project.state(), Repository(project.root)

    def work() -> None:
        with repository.worktree(repository.find("HEAD"), tmp_path / "base") as root:
            (root / "made.txt").write_text("x")
            (root / ".git").unlink()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not (tmp_path / "base").exists()
    assert project.state() == before


def test_a_killed_one_leaves_git_s_list_with_the_next(project: Project, tmp_path: Path) -> None:
    """Where its folder is gone. The user's own tree stays, though it is gone as well: it may be on another disk."""
    for name in ("roofline-ab-killed", "roofline-ab-running", "mine"):
        project.git("worktree", "add", "--detach", "--quiet", str(tmp_path / name / "base"))
        if name != "roofline-ab-running":
            shutil.rmtree(tmp_path / name)
    repository = Repository(project.root)
    with repository.worktree(repository.find("HEAD"), tmp_path / "base"):
        pass
    listed = project.git("worktree", "list", "--porcelain")
    assert [name in listed for name in ("ab-killed", "ab-running", "mine")] == [False, True, True]


def test_the_present_tells_whether_it_is_committed(project: Project) -> None:
    """An untracked file makes another tree, too, and is called what it is: results files of it are of a clean one."""
    repository = Repository(project.root)
    head = project.git("rev-parse", "HEAD")
    assert repository.present() == head[:10]
    (project.root / "new").mkdir()
    (project.root / "new" / "b.txt").write_text("untracked")
    assert repository.present() == f"{head[:10]} and untracked files"
    project.git("add", "new")
    assert repository.present() == f"{head[:10]} and uncommitted changes"
    (project.root / "c.txt").write_text("untracked")
    assert repository.present() == f"{head[:10]} and uncommitted changes and untracked files"


@pytest.mark.parametrize(
    "settings",
    [("status.showUntrackedFiles", "no"), ("color.ui", "always"), ("status.relativePaths", "false")],
    ids=lambda setting: setting[0],
)
def test_the_user_s_settings_do_not_hide_a_change(project: Project, settings: tuple[str, str]) -> None:
    """Nor make one: a new conftest.py is new code, whatever git is told to show of it."""
    project.git("config", *settings)
    repository = Repository(project.root)
    head = project.git("rev-parse", "HEAD")
    assert (repository.present(), repository.find("HEAD")) == (head[:10], head)
    (project.root / "conftest.py").write_text("")
    assert repository.present().endswith("untracked files")


def test_a_look_leaves_the_index_as_it_is(project: Project) -> None:
    """git would note in it that a file that was touched is still the same."""
    os.utime(project.root / "a.txt", (1, 1))
    index = project.root / ".git" / "index"
    before = index.read_bytes()
    Repository(project.root).present()
    assert index.read_bytes() == before


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


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("GIT_DIR", ".git"),
        ("GIT_COMMON_DIR", ".git"),
        ("GIT_WORK_TREE", ""),
        ("GIT_INDEX_FILE", ".git/index"),
        ("GIT_OBJECT_DIRECTORY", ".git/objects"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", ".git/objects"),
        ("GIT_SHALLOW_FILE", "b.txt"),
    ],
)
def test_a_surrounding_git_does_not_lead_elsewhere(
    variable: str, place: str, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook that runs this has some of these set: it is the folder's repository that counts, and is checked out."""
    other = Project(tmp_path / "other")
    foreign = other.commit({"b.txt": "other"})
    head, before = project.git("rev-parse", "HEAD"), project.state()
    with monkeypatch.context() as surrounded:
        surrounded.setenv(variable, str(other.root / place))
        repository = Repository(project.root)
        assert repository.top == project.root.resolve()
        assert repository.present() == head[:10]
        with pytest.raises(GitError):
            repository.find(foreign)
        with repository.worktree(repository.find("HEAD~1"), tmp_path / "base") as root:
            assert (root / "a.txt").read_text() == "old"
    assert project.state() == before


def test_git_does_not_hear_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal sends it to the program's whole session; the program then lets git tidy up. So git has its own: here
    one that answers with its number.
    """
    git = tmp_path / "git"
    git.write_text(f"#!{sys.executable}\nimport os\nprint(f'/{{os.getsid(0)}}')\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert int(Repository(tmp_path).top.name) != os.getsid(0)


def test_a_checkout_that_was_cut_off_leaves_nothing(project: Project, tmp_path: Path) -> None:
    """git, killed in the middle of it, leaves a locked entry and a part of the tree."""
    before, repository = project.state(), Repository(project.root)
    dies = f"{sys.executable} -c 'import os; os.kill(os.getppid(), {signal.SIGKILL:d}); os.kill(os.getpid(), 9)'"
    (project.root / ".git" / "info").mkdir(exist_ok=True)
    (project.root / ".git" / "info" / "attributes").write_text("a.txt filter=dies\n")
    project.git("config", "filter.dies.smudge", dies)
    project.git("config", "filter.dies.required", "true")
    with pytest.raises(GitError), repository.worktree(repository.find("HEAD"), tmp_path / "base"):
        pass
    (project.root / ".git" / "info" / "attributes").unlink()
    assert not (tmp_path / "base").exists()
    assert project.state() == before


@pytest.fixture
def part(tmp_path: Path) -> Project:
    """A repository that is a submodule of others, with one of its own."""
    inner = Project(tmp_path / "inner")
    inner.commit({"c.txt": "inner"})
    part = Project(tmp_path / "part")
    part.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "inner")
    part.commit({"b.txt": "old"})
    return part


@pytest.fixture
def whole(project: Project, part: Project) -> Project:
    """The project with the submodule; the last commit has a new state of it."""
    allowed = ("-c", "protocol.file.allow=always")
    project.git(*allowed, "submodule", "--quiet", "add", str(part.root), "lib/part")
    project.git(*allowed, "submodule", "--quiet", "update", "--init", "--recursive")
    project.commit({})
    part.commit({"b.txt": "new"})
    project.git("-C", "lib/part", "pull", "--quiet", "origin", "main")
    project.commit({"sub/c.txt": "c"})
    return project


@pytest.mark.parametrize("folder", ["", "sub"])
def test_a_revision_is_checked_out_with_its_submodules(folder: str, whole: Project, tmp_path: Path) -> None:
    """Each as the revision has it, and theirs, from whichever folder it is asked for; from the user's own checkouts,
    which are left as they are.
    """
    before = whole.state()
    parts = [Project(whole.root / path) for path in ("lib/part", "lib/part/inner")]
    states = [part.state() for part in parts]
    repository = Repository(whole.root / folder)
    with repository.worktree(repository.find("HEAD~1"), tmp_path / "base") as root:
        assert (root / "lib" / "part" / "b.txt").read_text() == "old"
        assert (root / "lib" / "part" / "inner" / "c.txt").read_text() == "inner"
        assert (whole.root / "lib" / "part" / "b.txt").read_text() == "new"
    assert not (tmp_path / "base").exists()
    assert whole.state() == before
    assert [part.state() for part in parts] == states


def test_a_change_in_a_submodule_is_one(whole: Project) -> None:
    """Whatever the user's settings hide of it."""
    whole.git("config", "diff.ignoreSubmodules", "all")
    repository = Repository(whole.root)
    assert "changes" not in repository.present()
    (whole.root / "lib" / "part" / "b.txt").write_text("mine")
    assert "uncommitted changes" in repository.present()


@pytest.mark.parametrize("lacks", ["is no checkout of it", "no commit .*The clone is shallow"])
def test_a_submodule_that_is_not_there_is_told(whole: Project, tmp_path: Path, lacks: str) -> None:
    """Without it the tests would find another copy, or none: what to do is told. Nothing is left. CI's clones hold
    their last state alone.
    """
    whole.git("submodule", "--quiet", "deinit", "--force", "lib/part")
    if "shallow" in lacks:
        shutil.rmtree(whole.root / "lib" / "part")
        whole.git("clone", "--quiet", "--depth", "1", f"file://{tmp_path / 'part'}", "lib/part")
    before, repository = whole.state(), Repository(whole.root)
    with (
        pytest.raises(GitError, match=rf"submodule lib/part at .*{lacks}.*--base-path"),
        repository.worktree(repository.find("HEAD~1"), tmp_path / "base"),
    ):
        pass
    assert not (tmp_path / "base").exists()
    assert whole.state() == before
