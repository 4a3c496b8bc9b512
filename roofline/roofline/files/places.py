"""A folder of files on this machine, or behind a URL that fsspec knows (``s3://bucket/folder``), under one set of
functions.

Both are a `Path`, in which a URL has one slash of its two. What fsspec raises, whichever file system it is of, becomes
an OSError.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from roofline.files import writing

_URL = re.compile("(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/+(?P<rest>.*)", re.DOTALL)
"""One letter is a drive of Windows."""


def url_of(path: Path) -> str | None:
    """Give the URL that a path stands for; None of a path on this machine."""
    found = _URL.fullmatch(path.as_posix())
    return None if found is None or os.path.lexists(path) else f"{found['scheme']}://{found['rest']}"


def shown(path: Path) -> str:
    """The path or the URL, as somebody writes it."""
    return url_of(path) or str(path)


def file_system_of(url: str) -> tuple[Any, str]:
    """Give the file system of fsspec behind a URL, and the path there.

    :raises OSError: fsspec or what it needs for such URLs isn't installed, or it knows none of the kind.
    """
    with _only_os_errors():
        import fsspec

        file_system, path = fsspec.core.url_to_fs(url)
        return file_system, path


def is_file(path: Path) -> bool:
    """:raises OSError: what is behind a URL can't be asked."""
    if (url := url_of(path)) is None:
        return os.path.isfile(path)
    file_system, there = file_system_of(url)
    with _only_os_errors():
        return bool(file_system.isfile(there))


def is_empty(folder: Path) -> bool:
    """Tell whether nothing is in a folder but what is being written (see `roofline.files.writing`), or there is none.

    :raises OSError: it can't be looked into.
    """
    if (url := url_of(folder)) is None:
        return not os.path.lexists(folder) or all(map(writing.is_part, os.listdir(folder)))
    file_system, there = file_system_of(url)
    with _only_os_errors():
        return not file_system.exists(there) or not file_system.ls(there)


def names_below(folder: Path, ending: str) -> list[str]:
    """List the files at any depth below a folder by their paths from there, sorted; none of a folder that isn't there.

    :raises OSError: a folder can't be looked into.
    """
    if (url := url_of(folder)) is None:
        return sorted(_local_names(folder, ending))
    file_system, there = file_system_of(url)
    with _only_os_errors():
        found = file_system.find(there)
    return sorted(name.removeprefix(there).lstrip("/") for name in found if name.endswith(ending))


def _local_names(folder: Path, ending: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for place, _, names in os.walk(folder, onerror=refuse):
        below = Path(place).relative_to(folder)
        yield from ((below / name).as_posix() for name in names if name.endswith(ending))


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it.

    :raises OSError: it can't be read.
    """
    if (url := url_of(path)) is None:
        file: BinaryIO = path.open("rb")
    else:
        file_system, there = file_system_of(url)
        with _only_os_errors():
            file = file_system.open(there, "rb")
    with file:
        yield file


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, and make its folder. Object stores do so by themselves.

    :raises OSError: it can't be written.
    """
    if (url := url_of(path)) is None:
        writing.write_bytes(path, data)
        return
    file_system, there = file_system_of(url)
    with _only_os_errors():
        file_system.makedirs(there.rpartition("/")[0], exist_ok=True)
        file_system.pipe_file(there, data)


@contextmanager
def _only_os_errors() -> Iterator[None]:
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # each file system of fsspec has errors of its own
        raise OSError(f"{error}") from error
