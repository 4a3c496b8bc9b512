"""Git revisions checked out beside the user's tree, which is left as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from roofline.text.units import short_commit

TEMPORARY = "roofline-ab-"
"""Begins the name of the folder for trees and logs."""


class GitError(RuntimeError):
    """Git can't do it. The message tells what it said."""


class Repository:
    """The repository a folder is in.

    :raises GitError: it is in none, or there is no git.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.top = Path(os.path.realpath(self._git("rev-parse", "--show-toplevel")))

    def find(self, revision: str) -> str:
        """The id of its commit.

        :raises GitError: there is no such commit.
        """
        try:
            return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except GitError as error:
            shallow = self._git("rev-parse", "--is-shallow-repository") == "true"
            advice = " The clone is shallow: fetch the history it is in (actions/checkout: fetch-depth: 0)."
            raise GitError(f"no commit {revision!r} in {self.top}.{advice if shallow else ''}") from error

    def reachable(self, commit: str) -> frozenset[str]:
        """List the ids of the commit and of all before it."""
        return frozenset(self._git("rev-list", commit).split())

    def present(self) -> str:
        """Describe the user's tree: its commit, and what else is measured."""
        # Whatever the user's own settings have it show.
        shown = ("--porcelain", "--untracked-files=normal", "--ignore-submodules=none")
        lines = self._git("status", *shown).splitlines()
        kinds = sorted({"untracked files" if line.startswith("?? ") else "uncommitted changes" for line in lines})
        return " and ".join((short_commit(self.find("HEAD")), *kinds))

    @contextmanager
    def worktree(self, commit: str, folder: Path) -> Iterator[Path]:
        """The commit's tree with its submodules in ``folder``, which must not exist or be empty, until the block is
        left. The submodules are taken from the user's own checkouts of them; nothing is fetched.

        :raises GitError: it can't be checked out, or a submodule isn't there.
        """
        self._forget_left()
        try:
            with ExitStack() as stack:
                self._git("worktree", "add", "--detach", "--quiet", str(folder), commit)
                for path, id in self._submodules(commit).items():
                    own = self._submodule(path, id, commit)
                    stack.enter_context(own.worktree(id, folder / path))
                yield Path(os.path.realpath(folder))
        finally:
            # Also after a checkout that was cut off, of which git knows from its first moment on, but removes nothing
            # where it isn't complete.
            shutil.rmtree(folder, ignore_errors=True)
            # Forced twice: once for changes in it, once more for a lock, which git itself sets while it makes one.
            self._git("worktree", "remove", "--force", "--force", str(folder), check=False)

    def _forget_left(self) -> None:
        """Take trees of killed comparisons whose folders are gone off git's list. The user's stay, gone or not."""
        entries = self._git("worktree", "list", "--porcelain").splitlines()
        for folder in (Path(line.removeprefix("worktree ")) for line in entries if line.startswith("worktree ")):
            if any(part.startswith(TEMPORARY) for part in folder.parts) and not folder.exists():
                self._git("worktree", "remove", "--force", "--force", str(folder), check=False)

    def _submodules(self, commit: str) -> Mapping[str, str]:
        """The commit of each, by its path in the tree."""
        entries = [
            entry.partition("\t") for entry in self._git("ls-tree", "-r", "-z", "--full-tree", commit).split("\0")
        ]
        return {path: about.split()[2] for about, _, path in entries if about.startswith("160000 ")}

    def _submodule(self, path: str, id: str, of: str) -> Repository:
        """The user's own repository of it.

        :raises GitError: it isn't checked out, or hasn't this commit.
        """
        place = self.top / path
        try:
            own = Repository(place) if place.is_dir() else None
            # In one that isn't checked out git finds the one around it.
            if own is not None and own.top == place.resolve():
                own.find(id)
                return own
            why = f"{place} is no checkout of it."
        except GitError as error:
            why = str(error)
        raise GitError(
            f"{short_commit(of)} has the submodule {path} at {short_commit(id)}, and it can't be taken from your tree:"
            f" {why} Check it out there (git submodule update --init --recursive; git -C {path} fetch), or check the"
            " revision out yourself, its submodules included, and give the folder (--base-path, --new-path)."
        )

    def _git(self, *arguments: str, check: bool = True) -> str:
        # A hook's or a surrounding git's environment would lead to its repository instead of the folder's.
        environment = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
        # A mere look may write the index anew, unless this says otherwise.
        environment["GIT_OPTIONAL_LOCKS"] = "0"
        # Hooks are for the user's own checkouts: they install things, or talk.
        hooks = ("-c", f"core.hooksPath={os.devnull}")
        try:
            answer = subprocess.run(
                ["git", *hooks, *arguments],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                # Ctrl-C is for this program, which then lets git tidy up.
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise GitError("git is not installed, or not on PATH.") from error
        if check and answer.returncode:
            raise GitError(f"git {arguments[0]}: {answer.stderr.strip() or f'exit code {answer.returncode}'}")
        return answer.stdout.removesuffix("\n")


_GIT_PLACES = frozenset(
    {
        *("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_SHALLOW_FILE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
    }
)
"""Of the variables that `git rev-parse --local-env-vars` tells, those that say where a repository or a part of it is.
Its settings (GIT_CONFIG_COUNT, GIT_CONFIG_PARAMETERS) are the user's, such as a `safe.directory`, and stay."""
