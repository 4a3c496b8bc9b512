"""From what the user asked for to two sides that can be measured, and back: nothing of it stays."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType

from roofline.ab.side import Side
from roofline.ab.worktrees import GitError, Repository
from roofline.comparison.paired import SIDES, SideName


class AskedWrongly(ValueError):
    """The options don't say two sides. The message tells what to give."""


class NotPrepared(RuntimeError):
    """A side can't be made, or both would be the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of ``roofline ab`` that say what is compared."""

    base: str | None = None
    new: str | None = None
    base_path: Path | None = None
    new_path: Path | None = None
    base_python: str | None = None
    new_python: str | None = None

    def __post_init__(self) -> None:
        """:raises AskedWrongly: no two sides."""
        if self.base is not None and self.base_path is not None:
            raise AskedWrongly("--base and --base-path: give a revision or a folder, not both.")
        for name, base in (("new", self.base), ("new_path", self.base_path)):
            if getattr(self, name) is not None and base is None:
                flag = name.replace("_", "-")
                raise AskedWrongly(f"--{flag} needs --{flag.replace('new', 'base')}: what is it compared with?")
        if all(one is None for one in (self.base, self.base_path, self.base_python, self.new_python)):
            raise AskedWrongly(
                "nothing to compare: give --base REV (with --new REV, or the working tree as it is), or "
                "--base-path DIR, or --base-python PY and --new-python PY."
            )

    @property
    def pythons(self) -> tuple[str, str]:
        """The interpreters of base and new: this program's where none is given.

        :raises AskedWrongly: there is no such program.
        """
        base, new = (
            _program(f"--{name}-python", given)
            for name, given in (("base", self.base_python), ("new", self.new_python))
        )
        return base, new


def check_arguments(arguments: Sequence[str]) -> None:
    """Look at pytest's arguments before any process is started.

    :raises AskedWrongly: they choose the tests by what an earlier run left behind, or run them beside each other.
    """
    flag = next((argument for argument in arguments if argument in _BY_THE_RUN_BEFORE), None)
    if flag is not None:
        raise AskedWrongly(
            f"{flag}: both sides are to run the same tests in the same order, and by it these hang on how an earlier "
            "run ended. Leave it out, and name the tests."
        )
    flag = _distributing(arguments)
    if flag is not None:
        raise AskedWrongly(
            f"{flag}: pytest-xdist runs tests beside each other in processes of its own, so nothing can be measured. "
            "Leave it out (where an ini file has it: -n 0)."
        )


def _distributing(arguments: Sequence[str]) -> str | None:
    """pytest-xdist's flag that counts, as it was given: the last one; None where it distributes nothing."""
    given: dict[str, tuple[str, str]] = {}
    for argument, following in pairwise((*arguments, "")):
        flag, equals, value = argument.partition("=")
        if argument.startswith("-n") and argument != "-n":
            flag, equals, value = "-n", "=", argument[2:].removeprefix("=")
        if flag in _OF_XDIST:
            given[_OF_XDIST[flag]] = flag, value if equals else following
    return next((flag for what, (flag, value) in given.items() if value != _NOTHING[what]), None)


_OF_XDIST = {"-n": "processes", "--numprocesses": "processes", "--dist": "way"}
_NOTHING = {"processes": "0", "way": "no"}
"""Values of pytest-xdist's flags by which it does nothing, though an ini file asked for it."""


_BY_THE_RUN_BEFORE = frozenset(
    {
        *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"),
        *("--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset"),
    }
)
"""pytest's flags for it, which takes no shortened ones."""


@contextmanager
def two_sides(asked: Asked, here: Path, folder: Path) -> Iterator[Mapping[SideName, Side]]:
    """The sides, with their trees, until the block is left.

    :param here: the folder in which the program runs.
    :param folder: an empty one for trees.
    :raises AskedWrongly: see `Asked`.
    :raises NotPrepared: no repository, no such revision or folder, or twice the same.
    """
    here = Path(os.path.realpath(here))
    pythons = asked.pythons
    with ExitStack() as stack:
        try:
            if asked.base is not None:
                sides = _of_revisions(asked, pythons, here, folder, stack)
            elif asked.base_path is not None:
                sides = _of_folders(asked, pythons, here)
            else:
                sides = _of_pythons(pythons, here)
        except GitError as error:
            raise NotPrepared(str(error)) from error
        base, new = sides
        if (base.root, base.python) == (new.root, new.python):
            raise NotPrepared(
                f"both sides are the same: {base.what}. To try the gate on unchanged code: roofline selftest"
            )
        yield {"base": base, "new": new}


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block the first Ctrl-C, and a wish to end from outside, leaves it; later ones don't keep it from
    tidying up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]

    def leave(_number: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _of_revisions(
    asked: Asked, pythons: tuple[str, str], here: Path, folder: Path, stack: ExitStack
) -> tuple[Side, Side]:
    assert asked.base is not None
    repository = Repository(here)
    top = repository.top
    base = repository.find(asked.base)
    new = repository.present() if asked.new is None else repository.find(asked.new)
    if base == new and pythons[0] == pythons[1]:
        what = "the working tree, which has no changes," if asked.new is None else f"--new {asked.new}"
        raise NotPrepared(
            f"--base {asked.base} and {what} are the same commit {base}: there is nothing to compare. "
            "To try the gate on unchanged code: roofline selftest"
        )
    roots = [stack.enter_context(repository.worktree(base, folder / "base"))]
    roots.append(top if asked.new is None else stack.enter_context(repository.worktree(new, folder / "new")))
    below = here.relative_to(top)
    for root, revision in zip(roots, (asked.base, asked.new), strict=True):
        if not (root / below).is_dir():
            raise NotPrepared(f"{revision} has no folder {below}. Run it from one that is in both revisions.")
    base_side = Side(
        name="base",
        what=asked.base,
        root=roots[0],
        folder=roots[0] / below,
        tree=top,
        python=pythons[0],
        commit=str(base),
    )
    new_side = Side(
        name="new",
        what=asked.new or "the working tree",
        root=roots[1],
        folder=roots[1] / below,
        tree=top,
        python=pythons[1],
        commit=str(new),
    )
    return base_side, new_side


def _of_folders(asked: Asked, pythons: tuple[str, str], here: Path) -> tuple[Side, Side]:
    assert asked.base_path is not None
    roots = [Path(os.path.realpath(path)) for path in (asked.base_path, asked.new_path or here)]
    whats = [str(path) for path in (asked.base_path, asked.new_path or "this folder")]
    base, new = (
        Side(name=name, what=what, root=root, folder=root, tree=root, python=python, commit=_commit(root))
        for name, what, root, python in zip(SIDES, whats, roots, pythons, strict=True)
    )
    return base, new


def _of_pythons(pythons: tuple[str, str], here: Path) -> tuple[Side, Side]:
    try:
        root = Repository(here).top
    except GitError:
        root = here
    base, new = (
        Side(name=name, what=python, root=root, folder=here, tree=root, python=python, commit=_commit(root))
        for name, python in zip(SIDES, pythons, strict=True)
    )
    return base, new


def _commit(root: Path) -> str:
    try:
        return str(Repository(root).present())
    except GitError:
        return ""


def _program(flag: str, given: str | None) -> str:
    """The path of an interpreter. Its links are kept: a virtual environment's python is one."""
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise AskedWrongly(f"{flag}: {given!r} is no program that can be run. Give the path of a Python interpreter.")
    return os.path.abspath(found)
