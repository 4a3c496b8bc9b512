"""Paths that were named: the files behind them, once each, and how they are shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def files_under(paths: Iterable[Path], endings: tuple[str, ...] = (".json",)) -> Iterator[tuple[Path, bool]]:
    """Each file once, whatever links lead to it, and whether it was named itself or found in a folder.

    :param endings: of what is looked for in folders, in lower case: a name may have them in any.
    """
    seen: set[Path] = set()
    for path in paths:
        folder = os.path.isdir(path)  # Path.is_dir raises for a name that no file system takes
        for found in _found_under(path, endings) if folder else (path,):
            if (file := real_path(found)) not in seen:
                seen.add(file)
                yield found, not folder


def folders_without(paths: Iterable[Path], endings: tuple[str, ...]) -> list[str]:
    """Say of each named folder in which nothing has one of the endings that it adds nothing."""
    # Path.is_dir raises where a folder above is closed, before Python 3.12.
    empty = (path for path in paths if os.path.isdir(path) and not any(files_under([path], endings)))
    return [f"{path}: no file there ends in {' or '.join(endings)}" for path in empty]


def _found_under(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """The files of a folder and all below it and behind links, ``rank2`` before ``rank10``; and folders that can't be
    looked into, as reading them says why. Each folder is looked into once, wherever links lead in a circle.
    """
    closed: list[OSError] = []
    files: list[Path] = []
    entered: set[Path] = set()
    for place, folders, names in os.walk(folder, onerror=closed.append, followlinks=True):
        if (real := real_path(Path(place))) in entered:
            folders.clear()
            continue
        entered.add(real)
        folders.sort()
        files += [Path(place, name) for name in names if name.casefold().endswith(endings)]
    return sorted([*files, *(Path(error.filename) for error in closed)], key=_in_natural_order)


_LONGEST_NAME = 255
"""Of a file, on every usual file system: no number in it has more digits."""


def _in_natural_order(path: Path) -> tuple[list[str], Path]:
    """A sort key: numbers in names count as numbers; where only their spelling differs (``02``), the text decides."""
    return [re.sub("[0-9]+", lambda number: number[0].zfill(_LONGEST_NAME), part) for part in path.parts], path


def real_path(path: Path) -> Path:
    """The file itself, whatever links lead to it."""
    # Path.resolve fails on a link that leads to itself, before Python 3.13.
    return Path(os.path.realpath(path))


def from_here(path: Path) -> Path:
    """As it is written from the current folder, where it lies in it: messages hold several paths."""
    if not path.is_absolute():
        return path
    try:
        here = Path.cwd()
    except OSError:  # the folder is gone
        return path
    return path.relative_to(here) if path.is_relative_to(here) and path != here else path
