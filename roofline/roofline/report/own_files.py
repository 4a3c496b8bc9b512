"""The files that a report wrote into its folder, so that the next one replaces or removes those alone."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path, PurePosixPath

from roofline.files.writing import Write, write_text
from roofline.text.units import some_of

LIST = ".roofline-report"
"""A line for each file, as sha256sum writes and checks it."""


class NotWritten(Exception):
    """A file of a report can't be written. The message says which, why, and what became of the others."""


class OwnFiles:
    """Those of one folder: of the report before, as it listed them, and those of this one, kept until all are made."""

    def __init__(self, folder: Path, write: Write) -> None:
        self._folder = folder
        self._write = write
        self._earlier = _listed(folder / LIST)
        self._made: dict[str, bytes] = {}
        self._written: dict[str, str] = {}

    def add(self, path: Path, data: bytes) -> None:
        """Keep a file of the folder, to be written with the others."""
        self._made[path.relative_to(self._folder).as_posix()] = data

    @property
    def paths(self) -> list[Path]:
        """The files of this report, in the order in which they were added."""
        return [self._folder / name for name in self._made]

    def write_all(self) -> list[str]:
        """Write the files, and remove those of the report before that are not among them; the names of the removed.

        :raises NotWritten: a file can't be written, or one of somebody's own has its name, and nothing was written.
        """
        own = sorted(name for name, data in self._made.items() if self._would_be_lost(name, data))
        if own:
            raise NotWritten(
                f"{self._folder}: nothing was written, for the report would replace {some_of(own, 5)}, which no report"
                " wrote or which was changed since. Move what you want to keep, or name another folder."
            )
        try:
            for name, data in self._made.items():
                self._write_one(self._folder / name, data)
                self._written[name] = _digest(data)
            return self._remove_earlier()
        finally:
            self._list_them()

    def _would_be_lost(self, name: str, data: bytes) -> bool:
        """Tell whether another text stands there than this report's and the one that the report before wrote."""
        path = self._folder / name
        try:
            there = _digest(path.read_bytes()) if path.is_file() else None
        except OSError:  # whoever may not read it may not lose it
            return True
        return there not in (None, _digest(data), self._earlier.get(name))

    def _write_one(self, path: Path, data: bytes) -> None:
        try:
            self._write(path, data)
        except OSError as error:
            raise NotWritten(
                f"{path}: can't be written ({error.strerror or error}). {len(self._written) or 'None'} of the report's"
                " files were written before it, and the others weren't. Make room, or name another folder."
            ) from error

    def _remove_earlier(self) -> list[str]:
        """Remove files of the report before that this one doesn't write, but what was changed since; their names."""
        stale = {name: digest for name, digest in sorted(self._earlier.items()) if name not in self._written}
        self._earlier = {}
        removed = []
        for name, digest in stale.items():
            path = self._folder / name
            if path.is_file() and _digest(path.read_bytes()) == digest:
                with suppress(OSError):  # it may not be removed, or its folder has other files
                    path.unlink()
                    removed.append(name)
                    for above in path.relative_to(self._folder).parents:
                        (self._folder / above).rmdir()
        return removed

    def _list_them(self) -> None:
        """List the files that a later report may remove, if there is room for the list."""
        listed = {**self._earlier, **self._written}
        with suppress(OSError):
            write_text(self._folder / LIST, "".join(f"{digest}  {name}\n" for name, digest in listed.items()))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _listed(path: Path) -> dict[str, str]:
    """The digests of the files that a list has inside its folder; a list may come from anywhere."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    parts = [line.partition("  ") for line in lines]
    inside = (one for one in parts if one[2] and not one[2].startswith("/") and ".." not in PurePosixPath(one[2]).parts)
    return {name: digest for digest, _, name in inside}
