"""The files that a report wrote into its folder, so that the next one removes what it doesn't write itself."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path, PurePosixPath

from roofline.files.writing import Write, write_text

LIST = ".roofline-report"
"""A line for each file, as sha256sum writes and checks it."""


class NotWritten(Exception):
    """A file of a report can't be written. The message says which, why, and what became of the others."""


class OwnFiles:
    """Those of one folder: of the report before, as it listed them, and those that are written now."""

    def __init__(self, folder: Path, write: Write) -> None:
        self._folder = folder
        self._write = write
        self._earlier = _listed(folder / LIST)
        self._written: dict[str, str] = {}

    def write(self, path: Path, data: bytes) -> None:
        """Write a file of the folder.

        :raises NotWritten: it can't be written.
        """
        try:
            self._write(path, data)
        except OSError as error:
            raise NotWritten(
                f"{path}: can't be written ({error.strerror or error}). {len(self._written) or 'None'} of the report's"
                " files were written before it, and the others weren't. Make room, or name another folder."
            ) from error
        self._written[path.relative_to(self._folder).as_posix()] = hashlib.sha256(data).hexdigest()

    def remove_earlier(self) -> list[str]:
        """Remove files of the report before that this one doesn't write, but what was changed since; their names."""
        stale = {name: digest for name, digest in self._earlier.items() if name not in self._written}
        self._earlier = {}
        removed = []
        for name in sorted(stale, key=lambda name: (name.count("/"), name)):
            path = self._folder / name
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != stale[name]:
                continue
            try:
                path.unlink()
            except OSError:  # the next report tries again
                self._earlier[name] = stale[name]
                continue
            removed.append(name)
            for above in path.relative_to(self._folder).parents:
                with suppress(OSError):  # it has other files
                    (self._folder / above).rmdir()
        return removed

    def list_them(self) -> None:
        """List the files that a later report may remove, if there is room for the list."""
        listed = {**self._earlier, **self._written}
        with suppress(OSError):
            write_text(self._folder / LIST, "".join(f"{digest}  {name}\n" for name, digest in listed.items()))


def _listed(path: Path) -> dict[str, str]:
    """The digests of the files that a list has inside its folder; a list may come from anywhere."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    parts = [line.partition("  ") for line in lines]
    return {name: digest for digest, _, name in parts if name and _is_inside(PurePosixPath(name))}


def _is_inside(path: PurePosixPath) -> bool:
    return not path.is_absolute() and ".." not in path.parts
