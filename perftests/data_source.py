"""What ``--data`` can name. Reading the text touches neither torch nor the disk."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["synthetic", "fake", "sample", "imagefolder"]

_WITHOUT_PATH: tuple[Kind, ...] = ("synthetic", "fake", "sample")

ALLOWED = "synthetic, fake, sample or imagefolder:PATH"


class DataError(ValueError):
    """The data asked for can't be used. The message says what, from which flag, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """A data source.

    ``synthetic``: normal random values, ready on the device. ``fake``: torchvision's FakeData through a data loader.
    ``sample``: photographs built once from installed packages. ``imagefolder``: the user's ``path``.

    :param source: the flag or file the text came from, for messages.
    """

    kind: Kind
    path: Path | None = None
    source: str = "--data"

    @property
    def label(self) -> str:
        """A word for ids and tables, without the path: ``imagefolder_imagenet-mini``."""
        if self.path is None:
            return self.kind
        # Not Path.resolve: that raises for links in a circle, and whether the folder is there is checked later.
        resolved = Path(os.path.realpath(self.path))
        name = resolved.parent.name if resolved.name == "train" else resolved.name
        return f"imagefolder_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name) or 'root'}"


def parse(text: str, source: str = "--data") -> DataSpec:
    """Read ``synthetic``, ``fake``, ``sample`` or ``imagefolder:PATH``. Whether PATH exists is checked later.

    :raises DataError: anything else.
    """
    word = text.strip()
    kind, colon, path = word.partition(":")
    if kind == "imagefolder":
        if not path.strip():
            raise DataError(f"{source}: {text!r} names no folder: use imagefolder:PATH")
        return DataSpec(kind="imagefolder", path=_path(path.strip(), source), source=source)
    if not colon:
        for without_path in _WITHOUT_PATH:
            if word == without_path:
                return DataSpec(kind=without_path, source=source)
    is_path = "/" in word or "\\" in word or os.path.isdir(word)
    hint = f" (for a folder: imagefolder:{word})" if is_path else ""
    raise DataError(f"{source}: {text!r} is not allowed: use {ALLOWED}{hint}")


def _path(text: str, source: str) -> Path:
    if "\0" in text:
        raise DataError(f"{source}: imagefolder:{text!r}: a path holds no NUL character")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise DataError(
            f"{source}: imagefolder:{text}: {Path(text).parts[0]} is no known home folder; give the whole path"
        ) from error
