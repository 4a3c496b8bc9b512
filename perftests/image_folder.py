"""An image folder on disk: what is in it, and whether every image can be decoded.

Works on the folder alone, without torch. Reading stays with torchvision's ImageFolder (see `loader`); this
module decides which files it gets.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perftests.data_options import DataError

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""What torchvision's ImageFolder takes for an image."""

_SHOWN = 3
"""So many bad images are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Folder:
    """An image folder.

    :param classes: class names, sorted; their position is the class number.
    :param samples: path and class number of every image, sorted as torchvision sorts them: by class, then by path.
    :param notes: what was left out, and why.
    """

    root: Path
    classes: tuple[str, ...]
    samples: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()


def find(path: Path, source: str) -> Folder:
    """Read what is in ``path``, or in ``path/train`` where there is one.

    Hidden files and folders are left out, and so are classes without an image and links that lead back to a folder they
    are in; the last two are noted.

    :param source: the flag the path came from, for messages.
    :raises DataError: no such folder, no class in it, no image in any class, or a folder that can't be read.
    """
    where = f"{source}: imagefolder:{path}"
    must = "it must hold one folder a class, with the class's images in it"
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError as error:
        raise DataError(f"{where}: no such folder; {must}") from error
    except OSError as error:
        raise DataError(f"{where}: {error.strerror}; {must}") from error
    if not is_folder:
        raise DataError(f"{where}: not a folder; {must}")
    root = path / "train" if os.path.isdir(path / "train") else path
    notes: list[str] = []
    try:
        images = {
            entry.name: sorted(_images(entry.path, _identity(root), notes))
            for entry in _visible(root)
            if entry.is_dir()
        }
        loose = sum(1 for entry in _visible(root) if entry.is_file() and _is_image(entry.name))
    except OSError as error:
        raise DataError(f"{where}: {error.filename}: {error.strerror}; the folder must be readable") from error
    classes = tuple(sorted(name for name, found in images.items() if found))
    empty = sorted(images.keys() - set(classes))
    if not classes:
        found = f"its {len(images)} class folders hold no image" if images else "it has no class folder"
        hint = f" ({loose} images lie in it directly: move each into a folder named after its class)" if loose else ""
        raise DataError(f"{where}: {found}{hint}; an image ends in {', '.join(EXTENSIONS)}")
    if empty:
        notes.append(f"classes without an image, left out: {', '.join(empty)}")
    samples = tuple((image, number) for number, name in enumerate(classes) for image in images[name])
    return Folder(root, classes, samples, tuple(notes))


def _visible(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if not entry.name.startswith("."))


def _images(top: str, root: tuple[int, int], notes: list[str]) -> Iterator[str]:
    """Paths of the images in a class's folder and below it. ``root`` identifies the folder the class is in."""
    # A list instead of recursion, which ends at some hundred folders. With each folder go those it is in.
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [(top, frozenset({root}))]
    while waiting:
        folder, above = waiting.pop()
        here = _identity(folder)
        if here in above:
            notes.append(f"link that leads back to a folder it is in, not followed: {Path(folder).name}")
            continue
        inside = above | {here}
        for entry in _visible(folder):
            if entry.is_dir():
                waiting.append((entry.path, inside))
            elif _is_image(entry.name):
                yield entry.path


def _identity(folder: str | Path) -> tuple[int, int]:
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _is_image(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS)


def verify(folder: Folder, source: str, cache: Path, threads: int) -> None:
    """Decode every image once, and remember in ``cache`` which were good, by path, size and time of change.

    :param threads: how many images are decoded at a time.
    :raises DataError: at least one can't be decoded; the first are named.
    """
    ledger = _Ledger.of(folder, cache)
    unknown = [path for path, _ in folder.samples if not ledger.knows(path)]
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")  # Pillow warns of odd metadata in images that decode well
        defects = [(path, defect) for path, defect in zip(unknown, pool.map(_defect, unknown), strict=True) if defect]
    bad = {path for path, _ in defects}
    ledger.remember(path for path in unknown if path not in bad)
    if defects:
        shown = "; ".join(f"{os.path.relpath(path, folder.root)}: {defect}" for path, defect in defects[:_SHOWN])
        more = f"; and {len(defects) - _SHOWN} more" if len(defects) > _SHOWN else ""
        raise DataError(
            f"{source}: {len(defects)} of {len(folder.samples)} images in {folder.root} can't be read: {shown}{more}. "
            "Repair or remove them."
        )


def _defect(path: str) -> str | None:
    """Why the image can't be decoded, or None."""
    from PIL import Image

    try:
        if os.path.getsize(path) == 0:
            return "the file is empty"
        with open(path, "rb") as file, Image.open(file) as image:
            image.convert("RGB")
    # What Pillow raises for damaged files of every kind above (found by damaging thousands).
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        text = (getattr(error, "strerror", None) or str(error) or type(error).__name__).replace(path, "it")
        return text.splitlines()[0]
    return None


@dataclass(slots=True)
class _Ledger:
    """Which images of one folder were found good: relative path -> [size, time of change in ns]."""

    file: Path
    root: Path
    good: dict[str, list[int]]

    @classmethod
    def of(cls, folder: Folder, cache: Path) -> _Ledger:
        import PIL

        # Another Pillow may decode less: it gets a ledger of its own.
        key = hashlib.sha256(f"{PIL.__version__}\0{folder.root.resolve()}".encode()).hexdigest()[:16]
        file = cache / "verified" / f"{key}.json"
        try:
            good = json.loads(file.read_text())
        except (OSError, ValueError, RecursionError):
            good = {}
        return cls(file, folder.root, good if isinstance(good, dict) else {})

    def knows(self, path: str) -> bool:
        known = self.good.get(self._name(path))
        return known is not None and known == self._state(path)

    def remember(self, paths: Iterator[str]) -> None:
        """Write the ledger with ``paths`` added. Without a place to write, the next run decodes again."""
        added = {self._name(path): state for path in paths if (state := self._state(path))}
        if not added:
            return
        temporary = self.file.with_suffix(f".{os.getpid()}")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(self.good | added))
            temporary.replace(self.file)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def _state(self, path: str) -> list[int] | None:
        try:
            status = os.stat(path)
        except OSError:
            return None
        return [status.st_size, status.st_mtime_ns]
