"""Git revisions checked out beside the user's tree, which is left as it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


class GitError(RuntimeError):
    """Git can't do it. The message tells what it said."""


@dataclass(frozen=True, slots=True)
class Commit:
    """:param changed: the tree holds changes that are not in the commit, untracked files included."""

    id: str
    changed: bool = False

    def __str__(self) -> str:
        return self.id[:8] + (" and uncommitted changes" if self.changed else "")


class Repository:
    """The repository a folder is in.

    :raises GitError: it is in none, or there is no git.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.top = Path(os.path.realpath(self._git("rev-parse", "--show-toplevel")))

    def find(self, revision: str) -> Commit:
        """:raises GitError: there is no such commit."""
        try:
            return Commit(self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"))
        except GitError as error:
            shallow = self._git("rev-parse", "--is-shallow-repository") == "true"
            advice = " The clone is shallow: fetch the history it is in (actions/checkout: fetch-depth: 0)."
            raise GitError(f"no commit {revision!r} in {self.top}.{advice if shallow else ''}") from error

    def present(self) -> Commit:
        """What the user's tree holds."""
        return Commit(self.find("HEAD").id, changed=bool(self._git("status", "--porcelain")))

    @contextmanager
    def worktree(self, commit: Commit, folder: Path) -> Iterator[Path]:
        """The commit's tree in ``folder``, which must not exist, until the block is left.

        :raises GitError: it can't be checked out.
        """
        # Hooks are for the user's own checkouts: they install things, or talk.
        hooks = ("-c", f"core.hooksPath={os.devnull}")
        try:
            self._git(*hooks, "worktree", "add", "--detach", "--quiet", str(folder), commit.id)
            yield Path(os.path.realpath(folder))
        finally:
            # Also after a checkout that was cut off: git knows of the folder from its first moment on.
            self._git("worktree", "remove", "--force", "--force", str(folder), check=False)
            self._git("worktree", "prune", check=False)

    def _git(self, *arguments: str, check: bool = True) -> str:
        # A hook's or a surrounding git's environment would lead to its repository instead of the folder's.
        environment = {name: value for name, value in os.environ.items() if name not in _GIT_PLACES}
        try:
            answer = subprocess.run(
                ["git", *arguments],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                # Ctrl-C is for this program, which then lets git tidy up.
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise GitError("git is not installed, or not on PATH.") from error
        if check and answer.returncode:
            raise GitError(f"git {arguments[0]}: {answer.stderr.strip() or f'exit code {answer.returncode}'}")
        return answer.stdout.strip()


_GIT_PLACES = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})
