"""A git repository of a test, on its own: no user's settings, no signing, no hooks."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


class Project:
    """A repository in a new folder."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
        answer = subprocess.run(
            ["git", *settings, *arguments], cwd=self.root, capture_output=True, text=True, check=True
        )
        return answer.stdout.strip()

    def commit(self, files: Mapping[str, str]) -> str:
        """Write texts to these paths, commit all there is, and return the commit's id."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def state(self) -> tuple[str, str, str]:
        """What must be the same after as before: branch and commit, tree and index, and the list of work trees."""
        return (
            self.git("rev-parse", "--abbrev-ref", "HEAD") + self.git("rev-parse", "HEAD"),
            self.git("status", "--porcelain", "--ignored"),
            self.git("worktree", "list", "--porcelain"),
        )
