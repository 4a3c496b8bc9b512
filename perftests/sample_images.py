"""A small image folder like ImageNet's, built from photographs that scikit-image and scikit-learn ship.

Every photograph is a class; its images are random crops of it, scaled to 500 x 375 (or 375 x 500) and written as JPEGs
of about 110 kB, the means of ImageNet's training set. The same packages give the same images.
"""

from __future__ import annotations

import importlib.util
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from perftests.data_options import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

VERSION = 1
"""Raised with every change of what is built; each version has a folder of its own."""

IMAGES_PER_CLASS = 32
LONG_SIDE, SHORT_SIDE = 500, 375
TARGET_BYTE = 110_000

_QUALITY = 90
_PORTRAITS = 0.25
"""Share of images that stand upright."""


@dataclass(frozen=True, slots=True)
class Photograph:
    """A photograph inside an installed package, and the class its crops are in."""

    name: str
    package: str
    file: str


PHOTOGRAPHS = (
    Photograph("astronaut", "skimage", "data/astronaut.png"),
    Photograph("cat", "skimage", "data/chelsea.png"),
    Photograph("coffee", "skimage", "data/coffee.png"),
    Photograph("flower", "sklearn", "datasets/images/flower.jpg"),
    Photograph("galaxies", "skimage", "data/hubble_deep_field.jpg"),
    Photograph("motorcycle", "skimage", "data/motorcycle_left.png"),
    Photograph("retina", "skimage", "data/retina.jpg"),
    Photograph("rocket", "skimage", "data/rocket.jpg"),
    Photograph("temple", "sklearn", "datasets/images/china.jpg"),
)


def folder(cache: Path, images_per_class: int) -> Path:
    """The image folder, built in ``cache`` unless it stands there.

    It is built beside its place and moved there whole, so that a run that is cut off leaves no half folder.

    :raises DataError: no package with a photograph is installed, or the cache can't be written.
    """
    found = _installed(PHOTOGRAPHS)
    if not found:
        raise DataError("--data sample: its photographs are missing: python -m pip install scikit-image scikit-learn")
    # Its name holds what it was built from.
    place = cache / f"sample-{VERSION}-{len(found)}x{images_per_class}"
    if place.is_dir():
        return place
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f"{place.name}.", dir=cache) as building:
            _build(Path(building, place.name), found, images_per_class)
            try:
                Path(building, place.name).rename(place)
            except OSError:
                if not place.is_dir():  # another process was not faster
                    raise
    except OSError as error:
        raise DataError(
            f"--data sample: the images can't be built in {cache}: {error.strerror or error}. "
            "Set ROOFLINE_CACHE to a folder that can be written and has room."
        ) from error
    return place


def _installed(photographs: tuple[Photograph, ...]) -> dict[Photograph, Path]:
    """Where the photographs lie. The packages are found, not imported: importing them takes seconds."""
    found = {}
    for photograph in photographs:
        spec = importlib.util.find_spec(photograph.package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            path = Path(root, photograph.file)
            if path.is_file():
                found[photograph] = path
    return found


def _build(root: Path, photographs: Mapping[Photograph, Path], images_per_class: int) -> None:
    """Write the images, one folder a class."""
    from PIL import Image

    for photograph, path in photographs.items():
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        crops = [_crop(picture, random.Random(f"{photograph.name} {number}")) for number in range(images_per_class)]
        grain = _grain_for(crops[:4])
        (root / photograph.name).mkdir(parents=True)
        for number, crop in enumerate(crops):
            (root / photograph.name / f"{number:04}.jpg").write_bytes(_jpeg(crop, grain, seed=number))


def _crop(picture: Image, chance: random.Random) -> Image:
    """A part of the picture of 4:3 or 3:4, at least half its greatest possible width, scaled to the size wanted."""
    width, height = (LONG_SIDE, SHORT_SIDE) if chance.random() >= _PORTRAITS else (SHORT_SIDE, LONG_SIDE)
    cut_width = chance.uniform(0.5, 1.0) * min(picture.width, picture.height * width / height)
    cut_height = cut_width * height / width
    left, top = chance.uniform(0, picture.width - cut_width), chance.uniform(0, picture.height - cut_height)
    return picture.resize((width, height), box=(left, top, left + cut_width, top + cut_height))


def _jpeg(image: Image, grain: float, seed: int) -> bytes:
    """The image as a JPEG, with noise like a sensor's added: standard deviation ``grain`` of 255."""
    import numpy as np
    import PIL.Image

    noise = np.random.default_rng(seed).standard_normal((image.height, image.width, 1), dtype=np.float32)
    values = np.asarray(image, dtype=np.float32) + grain * noise
    out = BytesIO()
    PIL.Image.fromarray(np.clip(values, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()


def _grain_for(crops: list[Image]) -> float:
    """The noise at which the crops have the size wanted on average.

    Scaled crops of clean photographs make files a third of ImageNet's size, and decoding time follows the size.
    """
    low, high = 0.0, 64.0
    for _ in range(7):
        middle = (low + high) / 2
        mean = sum(len(_jpeg(crop, middle, seed)) for seed, crop in enumerate(crops)) / len(crops)
        low, high = (low, middle) if mean > TARGET_BYTE else (middle, high)
    return (low + high) / 2
