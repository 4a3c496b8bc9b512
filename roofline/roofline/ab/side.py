"""The two sides of a comparison: from the options of ``roofline ab`` to a tree and an interpreter each."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from roofline.ab.worktrees import GitError, Repository
from roofline.comparison.effects.paired import SIDES, SideName

_OURS = ("plugin/pytest_roofline", "roofline/roofline")
"""The packages of this repository: measured there, each side measures with its own."""


class WrongOptions(ValueError):
    """The options or pytest's arguments can't be used. The message tells what to give."""


class CannotMeasure(RuntimeError):
    """Two sides can't be made, or can't be measured. The message tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """:param what: the revision, folder or interpreter, as the user gave it.
    :param root: of the tree.
    :param folder: below ``root``, where pytest is started.
    :param tree: the user's own tree, of which ``root`` is another version; ``root`` itself where it is that one.
    :param python: the interpreter.
    :param commit: of the tree; empty where it isn't known.
    :param slowdown: make its steps longer by this share, to try the alarm; None leaves them alone.
    """

    name: SideName
    what: str
    root: Path
    folder: Path
    tree: Path
    python: str
    commit: str = ""
    slowdown: float | None = None

    def environment(self, of: Mapping[str, str]) -> dict[str, str]:
        """The variables of its processes: Python finds this tree's packages before the same ones elsewhere.

        Nothing is written into the tree but by the tests themselves.

        :param of: the parent's own variables.
        """
        given = [self._own(Path(entry)) for entry in of.get("PYTHONPATH", "").split(os.pathsep) if entry]
        return {
            **of,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys([*map(str, self._sources()), *given])),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _sources(self) -> list[Path]:
        ours = [self.root / name for name in _OURS]
        return [
            self.root,
            *([self.root / "src"] if any(self.root.glob("src/*/__init__.py")) else []),
            *(package.parent for package in ours if all((one / "__init__.py").exists() for one in ours)),
        ]

    def _own(self, entry: Path) -> str:
        """An entry of the user's PYTHONPATH, in this side's tree where it is one of the user's tree."""
        place = Path(os.path.realpath(entry))
        if place.is_relative_to(self.tree):
            return str(self.root / place.relative_to(self.tree))
        return os.path.abspath(entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOptions:
    """The options of ``roofline ab`` that say what is compared."""

    base: str | None = None
    new: str | None = None
    base_path: Path | None = None
    new_path: Path | None = None
    base_python: str | None = None
    new_python: str | None = None

    def __post_init__(self) -> None:
        """:raises WrongOptions: no two sides."""
        if self.base is not None and self.base_path is not None:
            raise WrongOptions("--base and --base-path: give a revision or a folder, not both.")
        for flag, new, base in (("", self.new, self.base), ("-path", self.new_path, self.base_path)):
            if new is not None and base is None:
                raise WrongOptions(f"--new{flag} needs --base{flag}: what is it compared with?")
        if all(one is None for one in (self.base, self.base_path, self.base_python, self.new_python)):
            raise WrongOptions(
                "nothing to compare: give --base REV (with --new REV, or the working tree as it is), or "
                "--base-path DIR, or --base-python PY and --new-python PY."
            )


def check_arguments(arguments: Sequence[str]) -> None:
    """Look at pytest's arguments before any process is started.

    :raises WrongOptions: they choose the tests by what an earlier run left behind, or run them beside each other.
    """
    by_run = next((argument for argument in arguments if argument in _BY_THE_RUN_BEFORE), None)
    if by_run is not None:
        raise WrongOptions(
            f"{by_run}: both sides are to run the same tests in the same order, and by it these hang on how an earlier "
            "run ended. Leave it out, and name the tests."
        )
    flag = _DISTRIBUTES.search(" ".join(("", *arguments, "")))
    if flag is not None:
        raise WrongOptions(
            f"{flag[1]}: both sides take turns test by test, and pytest-xdist runs tests beside each other. Leave it "
            "out (where an ini file has it: -n 0)."
        )


_DISTRIBUTES = re.compile(r" (-n|--numprocesses|--dist)[ =]?+(?!(?:0|no) )")
"""pytest-xdist's flags, but for the values by which they do nothing, though an ini file asked for it."""

_BY_THE_RUN_BEFORE = frozenset(
    {
        *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"),
        *("--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset"),
    }
)
"""pytest's flags for it, which takes no shortened ones."""


@contextmanager
def two_sides(options: SideOptions, here: Path, folder: Path) -> Iterator[dict[SideName, Side]]:
    """The sides, with their trees, until the block is left.

    :param here: the folder in which the program runs.
    :param folder: an empty one for trees.
    :raises WrongOptions: no such interpreter.
    :raises CannotMeasure: no repository, no such revision or folder, or twice the same.
    """
    here = Path(os.path.realpath(here))
    pythons = _program("--base-python", options.base_python), _program("--new-python", options.new_python)
    with ExitStack() as stack:
        try:
            if options.base is not None:
                base, new = _of_revisions(options.base, options.new, pythons, here, folder, stack)
            elif options.base_path is not None:
                base, new = _of_folders(options.base_path, options.new_path, pythons, here)
            else:
                base, new = _of_pythons(pythons, here)
        except GitError as error:
            raise CannotMeasure(str(error)) from error
        if (base.root, base.python) == (new.root, new.python):
            raise CannotMeasure(
                f"both sides are the same: {base.what}. To try the gate on unchanged code: roofline selftest"
            )
        yield {"base": base, "new": new}


def _of_revisions(
    base: str, new: str | None, pythons: tuple[str, str], here: Path, folder: Path, stack: ExitStack
) -> list[Side]:
    repository = Repository(here)
    top = repository.top
    ids = repository.find(base), repository.find(new or "HEAD")
    commits = ids[0][:8], repository.present() if new is None else ids[1][:8]
    if commits[0] == commits[1] and pythons[0] == pythons[1]:
        what = "the working tree, which has no changes," if new is None else f"--new {new}"
        raise CannotMeasure(
            f"--base {base} and {what} are the same commit {commits[0]}: there is nothing to compare. "
            "To try the gate on unchanged code: roofline selftest"
        )
    roots = [stack.enter_context(repository.worktree(ids[0], folder / "base"))]
    roots.append(top if new is None else stack.enter_context(repository.worktree(ids[1], folder / "new")))
    below = here.relative_to(top)
    for root, revision in zip(roots, (base, new), strict=True):
        if not (root / below).is_dir():
            raise CannotMeasure(f"{revision} has no folder {below}. Run it from one that is in both revisions.")
    return [
        Side(name=name, what=what, root=root, folder=root / below, tree=top, python=python, commit=commit)
        for name, what, root, python, commit in zip(
            SIDES, (base, new or "the working tree"), roots, pythons, commits, strict=True
        )
    ]


def _of_folders(base: Path, new: Path | None, pythons: tuple[str, str], here: Path) -> list[Side]:
    roots = [Path(os.path.realpath(path)) for path in (base, new or here)]
    whats = (str(base), str(new or "this folder"))
    return [
        Side(name=name, what=what, root=root, folder=root, tree=root, python=python, commit=_commit(root))
        for name, what, root, python in zip(SIDES, whats, roots, pythons, strict=True)
    ]


def _of_pythons(pythons: tuple[str, str], here: Path) -> list[Side]:
    try:
        root = Repository(here).top
    except GitError:
        root = here
    return [
        Side(name=name, what=python, root=root, folder=here, tree=root, python=python, commit=_commit(root))
        for name, python in zip(SIDES, pythons, strict=True)
    ]


def _commit(root: Path) -> str:
    try:
        return Repository(root).present()
    except GitError:
        return ""


def _program(flag: str, given: str | None) -> str:
    """The path of an interpreter: this program's where none is given. Its links are kept: a virtual environment's
    python is one.
    """
    if given is None:
        return sys.executable
    found = shutil.which(given)
    if found is None:
        raise WrongOptions(f"{flag}: {given!r} is no program that can be run. Give the path of a Python interpreter.")
    return os.path.abspath(found)
