"""FLOP of known models, counted: what a stated or implied figure is held against. The figures are in models.toml.

A row is taken for a known model where all that it states fits: the name, which libraries spell in their ways, the size
of the images or the length of the sequences, and the number of parameters. Where one name stands for models with
different figures and the row does not tell which, nothing is known of it.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from roofline.audits.row import Mode, Number, StatedRow, agree, exact

_SAME = 0.01
"""Relative difference up to which two figures are those of one model: heads and classes differ, architectures more."""

_PREFIX = re.compile(r"(?:hf[-_]hub:)?(?:(timm|torchvision)(?:\.models)?[:/._]|models\.)(?=[a-z])")
"""A prefix that names the library: ``timm:``, ``timm/``, ``timm_``, ``torchvision.models.``."""

_TAG = re.compile(r"\.(?=[a-z])(.*)$")
"""A suffix of timm that names the weights: ``.a1_in1k``. The point of ``squeezenet1.1`` is none."""

_TAG_PIXEL = re.compile(r"_(\d{3})(?=_|$)")
"""An image size in such a suffix that is not the name's usual one: ``.fb_in22k_ft_in1k_384``."""


_UNIMPORTANT = re.compile(r"(?<!\d)_|_(?!\d)")
"""Separators, but for those between digits: RegNetY-1.6GF isn't RegNetY-16GF."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """FLOP of one sample: an image of ``size_pixel`` x ``size_pixel``, or a sequence of ``length_token``.

    ``generic``: a name that anybody may give to a model of his own, such as ``mlp``. ``parameter_count`` is None where
    models of the same FLOP differ in it, as BERT's do with their vocabulary.
    """

    name: str
    library: str
    forward: Number
    training: Number
    size_pixel: Number | None = None
    length_token: Number | None = None
    parameter_count: Number | None = None
    generic: bool = False

    def of(self, mode: Mode) -> Number:
        return self.training if mode == "train" else self.forward

    def fits(self, row: StatedRow) -> bool:
        """True if nothing that ``row`` states beside the name is another model's. An unstated size is the usual one."""
        for own, stated in ((self.size_pixel, row.size_pixel), (self.length_token, row.length_token)):
            if own is not None and stated is not None and not agree(stated, own, 0.0):
                return False
        own, stated = self.parameter_count, row.parameter_count
        return (own is None or stated is None or agree(stated, own, _SAME)) and not (self.generic and stated is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    """The parts of a name: the model in a plain spelling; library and image size where the name has them."""

    plain: str
    library: str | None
    pixel: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModels:
    """By a name as `plain` gives it: the models that are called so."""

    by_name: Mapping[str, tuple[KnownModel, ...]]

    def of(self, row: StatedRow) -> KnownModel | None:
        """The model of ``row``; None where it is not known, or may be one of several with different figures."""
        if row.model is None:
            return None
        called, pixel = self._called(row.model), _named(row.model).pixel
        if row.size_pixel is None and pixel is not None:
            row = replace(row, size_pixel=exact(pixel))
        found = [model for model in called if model.fits(row)]
        if not found or not all(
            agree(model.forward, found[0].forward, _SAME) and agree(model.training, found[0].training, _SAME)
            for model in found
        ):
            return None
        return found[0]

    def _called(self, text: str) -> list[KnownModel]:
        name = _named(text)
        return [model for model in self.by_name.get(name.plain, ()) if name.library in (None, model.library)]


def plain(name: str) -> str:
    """``ResNet-50``, ``resnet50``, ``timm:resnet50`` and ``resnet50.a1_in1k`` are one model."""
    return _named(name).plain


@cache
def load() -> KnownModels:
    """The models of models.toml."""
    content = tomllib.loads(files("roofline.audits").joinpath("models.toml").read_text(encoding="utf-8"))
    known: defaultdict[str, list[KnownModel]] = defaultdict(list)
    for library, entries in content.items():
        for entry in entries:
            model = _model(library, entry)
            for name in dict.fromkeys(map(plain, (model.name, *entry.get("also", ())))):
                known[name].append(model)
    return KnownModels(by_name={name: tuple(models) for name, models in known.items()})


def attained(row: StatedRow, models: KnownModels) -> tuple[Number, str] | None:
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


def _named(text: str) -> _Name:
    name = text.strip().casefold()
    prefix = _PREFIX.match(name)
    if prefix is not None:
        name = name[prefix.end() :]
    tag = _TAG.search(name)
    pixel = _TAG_PIXEL.search(tag[1]) if tag is not None else None
    words = re.sub(r"[^a-z0-9]+", "_", _TAG.sub("", name)).strip("_")
    return _Name(
        plain=_UNIMPORTANT.sub("", words),
        library=prefix[1] if prefix is not None else None,
        pixel=float(pixel[1]) if pixel is not None else None,
    )


def _model(library: str, entry: Mapping[str, Any]) -> KnownModel:
    def figure(key: str) -> Number | None:
        return exact(float(entry[key])) if key in entry else None

    return KnownModel(
        name=entry["name"],
        library=library,
        forward=exact(float(entry["forward"])),
        training=exact(float(entry["training"])),
        size_pixel=figure("pixel"),
        length_token=figure("tokens"),
        parameter_count=figure("parameters"),
        generic=entry.get("generic", False),
    )
