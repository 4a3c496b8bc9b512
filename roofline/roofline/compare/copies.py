"""Files with the same content: a session that was copied is still one session, whatever its file is called."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from roofline.reader import real_path


def copies(files: Iterable[Path]) -> Mapping[Path, Path]:
    """Each file (as `real_path` has it) whose content an earlier one has, too -> the first such, as it was given.

    Only files of one size are read. What can't be read here is left to whoever reads it for its results, and says why.
    """
    of_size: dict[int, list[Path]] = {}
    for file in {real_path(file): file for file in files}.values():
        try:
            found = file.stat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            of_size.setdefault(found.st_size, []).append(file)
    same: dict[Path, Path] = {}
    for alike in of_size.values():
        firsts: dict[bytes, Path] = {}
        for file in alike if len(alike) > 1 else ():
            digest = _digest(file)
            if digest is not None and (first := firsts.setdefault(digest, file)) is not file:
                same[real_path(file)] = first
    return same


def _digest(file: Path) -> bytes | None:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "blake2b").digest()
    except OSError:
        return None
