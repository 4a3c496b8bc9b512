"""Check which code each side loaded: a tree compared with itself must not pass for two revisions.

With an editable install (``pip install -e``) or an installed copy the tests are the revision's own, and the package
they test is the same file on both sides. So it is with a compiled module: a tree that was just checked out has its
source alone, and what is loaded was built of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from roofline.ab.side import CannotMeasure, Side
from roofline.comparison.effects.paired import SIDES, SideName
from roofline.text.units import counted

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

    def __init__(self, sides: Mapping[SideName, Side]) -> None:
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
