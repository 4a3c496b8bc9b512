"""Which code each side ran: a comparison of a tree with itself must not pass for one of two revisions.

An editable install (``pip install -e``) and an installed copy both lie in wait: the tests are the revision's own, and
the package they test is the same file on both sides. So does a compiled module: a tree that was just checked out has
its source alone, and what is loaded was built of another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from roofline.ab.side import Side
from roofline.comparison.paired import SIDES, SideName
from roofline.text.units import counted

_INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of what is installed. A virtual environment often lies within the tree, and is none of it."""

_COMPILED = frozenset({".so", ".pyd"})
"""Suffixes of compiled modules."""

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".pyx", ".rs")
"""Suffixes of what they are built of."""


class WrongCode(RuntimeError):
    """A side loaded code of the project that is not its own. The message says which, and what to do."""


@dataclass(slots=True)
class Provenance:
    """What both sides have loaded so far.

    :param sides: different trees; where both are one tree (two interpreters) there is nothing to mix up.
    """

    sides: Mapping[SideName, Side]
    _own: dict[SideName, set[str]] = field(default_factory=lambda: {name: set() for name in SIDES})

    def watch(self, name: SideName, files: Iterable[str]) -> None:
        """A side has loaded these files.

        :raises WrongCode: one of them is the project's, but not from the side's own tree.
        """
        side = self.sides[name]
        other = self.sides["new" if name == "base" else "base"]
        for file in files:
            path = Path(file)
            installed = not _INSTALLED.isdisjoint(path.parts)
            if path.is_relative_to(side.root) and not installed:
                self._own[name].add(str(path.relative_to(side.root)))
            elif side.root == other.root:
                continue
            elif not installed and (path.is_relative_to(side.tree) or path.is_relative_to(other.root)):
                raise WrongCode(_elsewhere(side, path))
            elif _is_a_copy(side.root, path):
                raise WrongCode(_copy(side, path))
            elif side.python == other.python and _is_built_of(side.root, path):
                raise WrongCode(_built_elsewhere(side, path))

    def lines(self) -> Sequence[str]:
        """What to say of the code that was loaded."""
        told = []
        for name in SIDES:
            side, own = self.sides[name], self._own[name]
            commit = f", commit {side.commit}" if side.commit else ""
            told.append(f"{name}: {side.what}{commit}; {counted(len(own), 'file')} of {side.root} loaded")
        if self.sides["base"].root != self.sides["new"].root and self.alike():
            told.append(
                "Every file of the trees that was loaded is the same on both sides: what changed is not in these tests."
            )
        return told

    def alike(self) -> bool:
        """Whether both sides have loaded the same files of their trees, with the same content."""
        base, new = (self.sides[name].root for name in SIDES)
        return self._own["base"] == self._own["new"] and all(
            _content(base / file) == _content(new / file) for file in self._own["base"]
        )


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None  # made by the run itself, and gone


def _is_a_copy(root: Path, path: Path) -> bool:
    """Whether an installed module or package is also in the tree, at the same place: torch has a ``utils``, too."""
    name = _below_installed(path)
    return name is not None and any((folder / name).exists() for folder in (root, root / "src"))


def _below_installed(path: Path) -> Path | None:
    """The part of a path below the innermost folder of what is installed."""
    places = [number for number, part in enumerate(path.parts) if part in _INSTALLED]
    return Path(*path.parts[places[-1] + 1 :]) if places else None


def _is_built_of(root: Path, path: Path) -> bool:
    """Whether a compiled module that is installed by itself has a source in the tree, at its root or a folder below."""
    if path.suffix not in _COMPILED or path.parent.name not in _INSTALLED:
        return False
    names = [f"{_module(path)}{suffix}" for suffix in _SOURCES]
    return any(any(root.glob(f"{below}{name}")) for below in ("", "*/") for name in names)


def _module(path: Path) -> str:
    """What is imported: ``fast`` of ``fast.cpython-312-x86_64-linux-gnu.so``."""
    return path.name.partition(".")[0]


def _elsewhere(side: Side, path: Path) -> str:
    if path.suffix in _COMPILED:
        return _built_elsewhere(side, path)
    return (
        f"{side.name} ({side.what}) loaded {path}, which is not in its own tree {side.root}: both sides would run the "
        "same code. A package that is installed in editable mode (pip install -e) is found before the tree's. Let the "
        "tests find the tree's own: pythonpath in the project's pytest settings, relative to the root "
        f"(pythonpath = {_relative(side.tree, path)!r})."
    )


def _built_elsewhere(side: Side, path: Path) -> str:
    return (
        f"{side.name} ({side.what}) loaded the compiled module {path}, which was not built in its own tree "
        f"{side.root}: both sides would run the same code. Compare two trees in which it is built (--base-path, "
        "--new-path), or give each side a Python that has its own installed (--base-python, --new-python)."
    )


def _copy(side: Side, path: Path) -> str:
    package = path.parent.name if path.name == "__init__.py" else _module(path)
    return (
        f"{side.name} ({side.what}) loaded the installed copy of {package} ({path}), not the one in its own tree: both "
        f"sides would run the same code. Uninstall it (pip uninstall {package}), or put the tree's folder first with "
        "pythonpath in the project's pytest settings."
    )


def _relative(tree: Path, path: Path) -> str:
    """The folder of the tree to put on the path, from the file that was loaded."""
    if not path.is_relative_to(tree):
        return "."
    folder = path.parent
    while folder != tree and (folder / "__init__.py").exists():
        folder = folder.parent
    return os.path.relpath(folder, tree)
