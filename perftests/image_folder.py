"""An image folder on disk: what is in it.

Works on the folder alone, without torch. Reading stays with torchvision's ImageFolder (see `loader`); this module
decides which files it gets.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perftests.data_options import DataError

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""What torchvision's ImageFolder takes for an image."""


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

    Hidden files and folders are left out, and so are classes without an image, which are noted.

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
    try:
        images = {entry.name: sorted(_images(entry.path)) for entry in _visible(root) if entry.is_dir()}
        loose = sum(1 for entry in _visible(root) if entry.is_file() and _is_image(entry.name))
    except OSError as error:
        raise DataError(f"{where}: {error.filename}: {error.strerror}; the folder must be readable") from error
    classes = tuple(sorted(name for name, found in images.items() if found))
    empty = sorted(images.keys() - set(classes))
    if not classes:
        found = f"its {len(images)} class folders hold no image" if images else "it has no class folder"
        hint = f" ({loose} images lie in it directly: move each into a folder named after its class)" if loose else ""
        raise DataError(f"{where}: {found}{hint}; an image ends in {', '.join(EXTENSIONS)}")
    notes = (f"classes without an image, left out: {', '.join(empty)}",) if empty else ()
    samples = tuple((image, number) for number, name in enumerate(classes) for image in images[name])
    return Folder(root, classes, samples, notes)


def _visible(folder: str | Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if not entry.name.startswith("."))


def _images(top: str) -> Iterator[str]:
    """Paths of the images in and below a class's folder. Links are followed, but not back to a folder they are in."""
    for folder, folders, files in os.walk(top, onerror=_raise, followlinks=True):
        here = Path(folder).resolve()
        inside = {here, *here.parents}
        folders[:] = [name for name in folders if not name.startswith(".") and (here / name).resolve() not in inside]
        yield from (os.path.join(folder, name) for name in files if not name.startswith(".") and _is_image(name))


def _raise(error: OSError) -> None:
    raise error


def _is_image(name: str) -> bool:
    return name.lower().endswith(EXTENSIONS)
