"""Make the two sides of a comparison from the options of ``roofline ab``, and check that each runs its own code.

A side is a tree and an interpreter. With an editable install (``pip install -e``) or an installed copy the tests are
the revision's own, and the package they test is the same file on both sides. So it is with a compiled module: a tree
that was just checked out has its source alone, and what is loaded was built of another one.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from roofline.ab.worktrees import GitError, Repository
from roofline.comparison.effects.paired import SIDES, SideName
from roofline.text.units import counted, short_commit

_OURS = ("plugin/pytest_roofline", "roofline/roofline")
"""The packages of this repository: measured there, each side measures with its own."""


class WrongOptions(ValueError):
    """The options or pytest's arguments can't be used. The message tells what to give."""


class CannotMeasure(RuntimeError):
    """Two sides can't be made, or can't be measured. The message tells why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSide:
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


def check_arguments(arguments: Sequence[str]) -> None:
    """Look at pytest's arguments before any process is started.

    :raises WrongOptions: they run the tests beside each other.
    """
    flag = _DISTRIBUTES.search(" ".join(("", *arguments, "")))
    if flag is not None:
        raise WrongOptions(
            f"{flag[1]}: both sides take turns test by test, and pytest-xdist runs tests beside each other. Leave it "
            "out (where an ini file has it: -n 0)."
        )


_DISTRIBUTES = re.compile(r" (-n|--numprocesses|--dist)[ =]?+(?!(?:0|no) )")
"""pytest-xdist's flags, but for the values by which they do nothing, though an ini file asked for it."""


@contextmanager
def two_sides(
    here: Path,
    folder: Path,
    *,
    base: str | None = None,
    new: str | None = None,
    base_path: Path | None = None,
    new_path: Path | None = None,
    base_python: str | None = None,
    new_python: str | None = None,
) -> Iterator[dict[SideName, MeasuredSide]]:
    """Make the sides that the options of ``roofline ab`` name, with their trees, until the block is left.

    :param here: the folder in which the program runs.
    :param folder: an empty one for trees.
    :raises WrongOptions: they name no two sides, or no such interpreter.
    :raises CannotMeasure: no repository, no such revision or folder, or twice the same.
    """
    if base is not None and base_path is not None:
        raise WrongOptions("--base and --base-path: give a revision or a folder, not both.")
    for flag, of_new, of_base in (("", new, base), ("-path", new_path, base_path)):
        if of_new is not None and of_base is None:
            raise WrongOptions(f"--new{flag} needs --base{flag}: what is it compared with?")
    if all(one is None for one in (base, base_path, base_python, new_python)):
        raise WrongOptions(
            "nothing to compare: give --base REV (with --new REV, or the working tree as it is), or --base-path DIR, or"
            " --base-python PY and --new-python PY."
        )
    here = Path(os.path.realpath(here))
    pythons = _program("--base-python", base_python), _program("--new-python", new_python)
    with ExitStack() as stack:
        try:
            if base is not None:
                trees = _revisions(base, new, here, folder, stack, one_python=pythons[0] == pythons[1])
            elif base_path is not None:
                trees = [_folder(str(base_path), base_path), _folder(str(new_path or "this folder"), new_path or here)]
            else:
                trees = [_folder(python, _top(here), below=here) for python in pythons]
        except GitError as error:
            raise CannotMeasure(str(error)) from error
        sides = {name: tree(name=name, python=python) for name, tree, python in zip(SIDES, trees, pythons, strict=True)}
        one, other = sides.values()
        if (one.root, one.python) == (other.root, other.python):
            raise CannotMeasure(
                f"both sides are the same: {one.what}. To try the gate on unchanged code: roofline selftest"
            )
        yield sides


_Tree = partial[MeasuredSide]
"""A side without its name and its interpreter."""


def _revisions(
    base: str, new: str | None, here: Path, folder: Path, stack: ExitStack, *, one_python: bool
) -> list[_Tree]:
    repository = Repository(here)
    top = repository.top
    ids = repository.find(base), repository.find(new or "HEAD")
    commits = short_commit(ids[0]), repository.present() if new is None else short_commit(ids[1])
    if commits[0] == commits[1] and one_python:
        what = "the working tree, which has no changes," if new is None else f"--new {new}"
        raise CannotMeasure(
            f"--base {base} and {what} are the same commit {commits[0]}: there is nothing to compare. "
            "To try the gate on unchanged code: roofline selftest"
        )
    roots = [stack.enter_context(repository.worktree(ids[0], folder / "base"))]
    roots.append(top if new is None else stack.enter_context(repository.worktree(ids[1], folder / "new")))
    below = here.relative_to(top)
    trees = []
    for root, what, commit in zip(roots, (base, new or "the working tree"), commits, strict=True):
        if not (root / below).is_dir():
            raise CannotMeasure(f"{what} has no folder {below}. Run it from one that is in both revisions.")
        trees.append(_Tree(MeasuredSide, what=what, root=root, folder=root / below, tree=top, commit=commit))
    return trees


def _folder(what: str, path: Path, below: Path | None = None) -> _Tree:
    """:param below: where pytest is started. Default: in the folder itself."""
    root = Path(os.path.realpath(path))
    return _Tree(MeasuredSide, what=what, root=root, folder=below or root, tree=root, commit=_commit(root))


def _top(folder: Path) -> Path:
    """Find the top of the folder's repository; the folder itself where it is in none."""
    try:
        return Repository(folder).top
    except GitError:
        return folder


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


_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of what is installed. A virtual environment often lies within the tree, and is none of it."""

_COMPILED = frozenset({".so", ".pyd"})
"""Suffixes of compiled modules."""

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".pyx", ".rs")
"""Suffixes of what they are built of."""


class LoadedCode:
    """The files that both sides have loaded so far.

    :param sides: different trees; where both are one tree (two interpreters) there is nothing to mix up.
    """

    def __init__(self, sides: Mapping[SideName, MeasuredSide]) -> None:
        self._sides = sides
        self._own: dict[SideName, set[str]] = {name: set() for name in SIDES}

    def add(self, name: SideName, files: Iterable[str]) -> None:
        """Note that a side has loaded these files.

        :raises CannotMeasure: one of them is the project's, but not from the side's own tree.
        """
        side = self._sides[name]
        other = self._sides["new" if name == "base" else "base"]
        for path in map(Path, files):
            installed = not _INSTALLED.isdisjoint(path.parts)
            if path.is_relative_to(side.root) and not installed:
                self._own[name].add(str(path.relative_to(side.root)))
            elif side.root != other.root and (
                (not installed and (path.is_relative_to(side.tree) or path.is_relative_to(other.root)))
                or _is_a_copy(side.root, path)
                or (side.python == other.python and _is_built_of(side.root, path))
            ):
                raise CannotMeasure(
                    f"{side.name} ({side.what}) loaded {path}, which is not of its own tree {side.root}: both sides "
                    "would run the same code. Put the tree's own folder first (pythonpath in the project's pytest "
                    "settings), uninstall the installed or editable copy (pip uninstall), or, where a module is "
                    "compiled, compare two trees in which it is built (--base-path, --new-path) or give each side a "
                    "Python that has its own (--base-python, --new-python)."
                )

    def lines(self) -> list[str]:
        """Sentences on the code that was loaded."""
        lines = []
        for name in SIDES:
            side, own = self._sides[name], self._own[name]
            commit = f", commit {side.commit}" if side.commit else ""
            lines.append(f"{name}: {side.what}{commit}; {counted(len(own), 'file')} of {side.root} loaded")
        return lines


def _is_a_copy(root: Path, path: Path) -> bool:
    """True if an installed module or package is also in the tree, at the same place: torch has a ``utils``, too."""
    places = [number for number, part in enumerate(path.parts) if part in _INSTALLED]
    if not places:
        return False
    name = Path(*path.parts[places[-1] + 1 :])
    return any((folder / name).exists() for folder in (root, root / "src"))


def _is_built_of(root: Path, path: Path) -> bool:
    """True if a compiled module that is installed by itself has a source in the tree, at its root or a folder below."""
    if path.suffix not in _COMPILED or path.parent.name not in _INSTALLED:
        return False
    module = path.name.partition(".")[0]
    names = [f"{module}{suffix}" for suffix in _SOURCES]
    return any(any(root.glob(f"{below}{name}")) for below in ("", "*/") for name in names)
