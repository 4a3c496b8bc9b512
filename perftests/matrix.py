"""From a tier of ``matrix.toml`` and the flags that override its axes to the cases of a run."""

from __future__ import annotations

import functools
import itertools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from perftests import data_options, models
from pytest_roofline.device.selection import KINDS
from pytest_roofline.settings import whole, with_near
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import MODES, case_id
from roofline.files.decoding import ReadError, text_of

AXES = ("model", "mode", "batch", "precision", "layout", "data")

BUILT_IN = Path(__file__).with_name("matrix.toml")

MOST_BATCH = 1_000_000

_DEFAULTS: Mapping[str, tuple[str, ...]] = {"layout": ("contiguous",), "data": ("synthetic",)}
_NEEDED = ("device", *(axis for axis in AXES if axis not in _DEFAULTS))
_ANY_MODEL = "*"


class MatrixError(ValueError):
    """A tier or an axis that can't be used. The message says what, from where, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Override:
    """Values given for an axis, and the flag they came from."""

    values: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSpec:
    """A case, before a device is known. ``devices`` are the kinds it is meant for.

    ``compile`` is no axis of a tier: it is of all cases of a run, or of none.
    """

    model: str
    mode: str
    batch: int
    precision: str
    layout: str
    data: str
    devices: frozenset[str]
    compile: bool = False

    @property
    def id(self) -> str:
        """``resnet50-train-b32-amp_bf16``, with layout, data and ``compile`` appended where they aren't the default."""
        layout = [self.layout] if self.layout != "contiguous" else []
        data = [_label(self.data)] if self.data != "synthetic" else []
        compile = ["compile"] if self.compile else []
        return case_id(_model_label(self.model), self.mode, self.batch, self.precision, *layout, *data, *compile)


_model_label = functools.cache(models.label)
"""Kept, for the label of a configuration file is made of its content."""


@functools.cache
def _label(data: str) -> str:
    """Kept, for it looks at the disk and every case has it in its id."""
    return data_options.parse(data).label


@dataclass(frozen=True, slots=True)
class _Block:
    """One block of a tier: texts of every axis, and the device kinds it is meant for."""

    axes: Mapping[str, tuple[str, ...]]
    devices: frozenset[str]


def load(
    tiers: Iterable[str],
    overrides: Mapping[str, Override] = MappingProxyType({}),
    *,
    source: str = "--matrix",
) -> tuple[CaseSpec, ...]:
    """The cases of the tiers, in their order, each once.

    An override replaces its axis in every block. Of ``model`` it keeps the blocks that list the model; a model that no
    block lists for a kind of device gets the blocks of that kind with ``model = "*"``.

    :param tiers: names of tiers in ``matrix.toml``, or ``FILE.toml`` or ``FILE.toml:TIER`` for a user's own.
    :param overrides: axis -> values; see `AXES`.
    :param source: the flag the tiers came from, for messages.
    :raises MatrixError: an unknown tier, a file that isn't a matrix, or an axis without a value or with a wrong one.
    """
    given = {axis: _read_override(axis, override) for axis, override in overrides.items()}
    wanted = tuple(tiers)
    if not wanted:
        raise MatrixError(f"{source}: no tier given; tiers are {', '.join(_tables(BUILT_IN, source))}")
    blocks = [block for tier in wanted for block in _read_tier(tier, source)]
    if "model" in given:
        blocks = list(_for_models(blocks, given.pop("model"), overrides["model"].source))
    return _cases(_Block({**block.axes, **given}, block.devices) for block in blocks)


def _cases(blocks: Iterable[_Block]) -> tuple[CaseSpec, ...]:
    devices: dict[tuple[str, ...], frozenset[str]] = {}
    for block in blocks:
        for key in itertools.product(*(block.axes[axis] for axis in AXES)):
            if key[0] != _ANY_MODEL:
                devices[key] = devices[key] | block.devices if key in devices else block.devices
    _check_labels({key[AXES.index("data")] for key in devices})
    return tuple(
        CaseSpec(model=model, mode=mode, batch=int(batch), precision=precision, layout=layout, data=data, devices=kinds)
        for (model, mode, batch, precision, layout, data), kinds in devices.items()
    )


def _check_labels(sources: set[str]) -> None:
    """Ids hold a folder's name, not its path: two folders of one name would be one case."""
    seen: dict[str, str] = {}
    for text in sorted(sources):
        other = seen.setdefault(_label(text), text)
        if other != text:
            raise MatrixError(
                f"--data: {other} and {text} would give cases of the same name; rename one of the folders"
            )


def _for_models(blocks: list[_Block], names: tuple[str, ...], source: str) -> Iterator[_Block]:
    """The blocks that give the models named their other axes, with those models alone."""
    for name in names:
        found = False
        for kind in KINDS:
            of_kind = [block for block in blocks if kind in block.devices]
            fitting = [block for block in of_kind if name in block.axes["model"]] or [
                block for block in of_kind if _ANY_MODEL in block.axes["model"]
            ]
            found = found or bool(fitting)
            for block in fitting:
                yield _Block({**block.axes, "model": (name,)}, frozenset({kind}))
        if not found:
            raise MatrixError(
                f'{source}: no block of the tier lists {name!r}, and none has model = "*" for models it does not list. '
                "Add one, or use another --matrix."
            )


def _read_override(axis: str, override: Override) -> tuple[str, ...]:
    if not override.values:
        raise MatrixError(f"{override.source}: no {axis} given, so no case is left")
    return tuple(dict.fromkeys(_READERS[axis](value, override.source) for value in override.values))


def _model(text: str, where: str) -> str:
    try:
        with suppress(models.BrokenLibrary):  # its cases are skipped with that reason, and the others run
            models.check(text)
    except models.UnknownModel as error:
        raise MatrixError(f"{where}: {error}") from error
    return text


def _one_of(allowed: tuple[str, ...]) -> Callable[[str, str], str]:
    def read(text: str, where: str) -> str:
        if text not in allowed:
            raise MatrixError(f"{where}: {text!r} is not allowed: use {with_near(text, allowed)}")
        return text

    return read


def _batch(text: str, where: str) -> str:
    try:
        return str(whole(1, MOST_BATCH)(text))
    except ValueError as error:
        raise MatrixError(f"{where}: {text!r} is not allowed: {error}") from error


def _data(text: str, where: str) -> str:
    try:
        data_options.parse(text, where)
    except data_options.DataError as error:
        raise MatrixError(str(error)) from error
    return text.strip()


_READERS: Mapping[str, Callable[[str, str], str]] = {
    "device": _one_of(KINDS),
    "model": _model,
    "mode": _one_of(MODES),
    "batch": _batch,
    "precision": _one_of(tuple(PRECISIONS)),
    "layout": _one_of(("contiguous", "channels_last")),
    "data": _data,
}
"""What reads one value of an axis: its text, and where it stands. Each raises `MatrixError` for what is not allowed."""


def _read_tier(tier: str, source: str) -> list[_Block]:
    """The blocks of a tier, by its name or its file's."""
    match = re.fullmatch(r"(?P<file>.+\.toml)(:(?P<name>.+))?", tier)
    path = Path(os.path.expanduser(match["file"])) if match else BUILT_IN
    tables = _tables(path, source)
    name = match["name"] if match else tier
    if name is None:
        if len(tables) != 1:
            named = " or ".join(f"{tier}:{name}" for name in tables)
            raise MatrixError(f"{source}: {tier} has {len(tables)} tiers; name one: {named}")
        name = next(iter(tables))
    if name not in tables:
        own = "" if match else ", or FILE.toml for your own"
        raise MatrixError(f"{source}: no tier {name!r}; use {with_near(name, tables)}{own}")
    return [
        _read_block(block, f"{source}: {path}: block {number} of [[{name}]]")
        for number, block in enumerate(tables[name], start=1)
    ]


def _tables(path: Path, source: str) -> dict[str, list[Mapping[str, Any]]]:
    """Read the blocks of a file's tiers, by the tier's name."""
    try:
        tables = tomllib.loads(text_of(path, "Give a TOML file."))
    except ReadError as error:
        raise MatrixError(f"{source}: {error}") from error
    except (ValueError, RecursionError) as error:  # not TOML, or a number or a nesting that Python refuses to read
        raise MatrixError(f"{source}: {path}: {error}") from error
    for name, blocks in tables.items():
        if not isinstance(blocks, list) or not blocks or not all(isinstance(block, dict) for block in blocks):
            raise MatrixError(f"{source}: {path}: {name!r} is not a list of tables; begin each with [[{name}]]")
    if not tables:
        raise MatrixError(f"{source}: {path}: holds no table; begin each with [[NAME]]")
    return tables


def _read_block(block: Mapping[str, Any], where: str) -> _Block:
    """Read one block.

    :param where: file, tier and number of the block, for messages.
    """
    for key in block:
        if key not in _READERS:
            raise MatrixError(f"{where}: unknown key {key!r}; use {with_near(key, _READERS)}")
    axes = dict(_DEFAULTS)
    for key in _READERS:
        if key in block:
            axes[key] = _read_values(key, block[key], f"{where}: {key}")
        elif key not in _DEFAULTS:
            raise MatrixError(f"{where}: no {key!r}; a block needs {', '.join(_NEEDED)}")
    return _Block(axes, frozenset(axes.pop("device")))


def _read_values(key: str, value: Any, where: str) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    if not items:
        raise MatrixError(f"{where} is empty, so the block has no case; give it a value or remove the block")
    wanted, what = (int, "a whole number") if key == "batch" else (str, "a text")
    for item in items:
        if type(item) is not wanted:
            raise MatrixError(f"{where}: type {type(item).__name__} is not allowed: use {what}, or a list of them")
    return tuple(
        text if text == _ANY_MODEL and key == "model" else _READERS[key](text, where) for text in map(str, items)
    )
