"""A side of the comparison: which tree, which Python, and how a measuring process of it is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roofline.comparison.paired import SideName

_OURS = ("plugin/pytest_roofline", "roofline/roofline")
"""Where this package lies in its own repository: measured there, each side measures with its own."""


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
        packages = [*self.root.glob("src/*/__init__.py")]
        ours = [self.root / name for name in _OURS]
        return [
            self.root,
            *([self.root / "src"] if packages else []),
            *(package.parent for package in ours if all((one / "__init__.py").exists() for one in ours)),
        ]

    def _own(self, entry: Path) -> str:
        """An entry of the user's PYTHONPATH, in this side's tree where it is one of the user's tree."""
        place = Path(os.path.realpath(entry))
        return (
            str(self.root / place.relative_to(self.tree)) if place.is_relative_to(self.tree) else os.path.abspath(entry)
        )
