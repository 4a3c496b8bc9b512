"""FLOP of known models, counted: what a stated or implied figure is held against. The figures are in models.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from roofline.audit.figure import Figure, exact
from roofline.audit.row import Mode, Row

SIZE_PIXEL = 224
"""Side of the images the figures are of. Tables that state no size are taken to mean it, as ImageNet's do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """FLOP of one image."""

    name: str
    forward: Figure
    training: Figure

    def of(self, mode: Mode) -> Figure:
        return self.training if mode == "train" else self.forward


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModels:
    by_name: Mapping[str, KnownModel]

    def of(self, row: Row) -> KnownModel | None:
        """The model of ``row``, where its name is known and its images have the size the figures are of."""
        if row.model is None or (row.size_pixel is not None and row.size_pixel.value != SIZE_PIXEL):
            return None
        return self.by_name.get(plain(row.model))


def plain(name: str) -> str:
    """``ResNet-50``, ``resnet50`` and ``resnet50.a1_in1k`` are one model."""
    return re.sub(r"[^a-z0-9]", "", name.casefold().partition(".")[0])


def load() -> KnownModels:
    content = tomllib.loads(files("roofline.audit").joinpath("models.toml").read_text(encoding="utf-8"))
    known = {}
    for entry in content["model"]:
        model = KnownModel(name=entry["names"][0], forward=exact(entry["forward"]), training=exact(entry["training"]))
        known.update({plain(name): model for name in entry["names"]})
    return KnownModels(by_name=known)


def attained(row: Row, models: KnownModels) -> tuple[Figure, str] | None:
    """FLOP/s of a row and how it comes about: stated, else from its work, stated or counted, and its time."""
    if row.attained_flop_per_s is not None:
        return row.attained_flop_per_s, "attained"
    if row.flop_per_step is not None and row.step_time_s is not None and row.step_time_s.positive:
        return row.flop_per_step / row.step_time_s, "FLOP of a step / step time"
    if row.rate is None:
        return None
    # MACs are printed of a forward pass: of a training step they tell too little.
    if row.mac_per_sample is not None and row.mode != "train":
        return exact(2) * row.mac_per_sample * row.rate, "2 x MAC x samples/s"
    model = models.of(row)
    if model is None or row.mode is None:
        return None
    return model.of(row.mode) * row.rate, "FLOP as counted x samples/s"
