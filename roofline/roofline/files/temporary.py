"""A temporary folder that is gone with its process, however that ends."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "roofline-ab-"
"""What the names of a comparison's folders begin with."""

_KEEPER = """
import os, shutil, sys, time
sys.stdin.read()
for _ in range(100):
    for folder, _, files in os.walk(sys.argv[1]):
        if ".git" in files:
            try:
                tree = os.path.join(folder, ".git")
                entry = open(tree).read().removeprefix("gitdir:").strip()
                if os.path.samefile(open(os.path.join(entry, "gitdir")).read().strip(), tree):
                    shutil.rmtree(entry)
                    os.rmdir(os.path.dirname(entry))
            except (OSError, ValueError):
                pass
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.exists(sys.argv[1]):
        break
    time.sleep(0.1)
"""
"""A process that waits for the end of the one that made the folder, which is that of its input, and removes the folder:
a process that is killed can't. Others may still write there, so it tries again for some seconds. Of a work tree in it,
git's repository has an entry that names the tree: that goes first.
"""


@contextmanager
def temporary_folder(prefix: str = PREFIX) -> Iterator[Path]:
    """Make a folder that is there until the block is left, or this process is killed."""
    place = tempfile.mkdtemp(prefix=prefix)
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _KEEPER, place],
        cwd=tempfile.gettempdir(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C, and what ends a whole group, is not for it.
        start_new_session=True,
    ):
        yield Path(place)
