"""From a tier of ``matrix.toml`` and the flags that override its axes to the cases of a run."""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from perftests import data_source, models, toml_tables
from perftests.toml_tables import Table
from pytest_roofline.device.selection import KINDS
from pytest_roofline.settings import with_near
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import MODES, case_id

AXES = ("model", "mode", "batch", "precision", "layout", "data")

BUILT_IN = Path(__file__).with_name("matrix.toml")

MOST_BATCH = 1_000_000
_SHOWN = 40
"""So many characters of a wrong batch size are shown."""

_DEFAULTS: Mapping[str, tuple[str, ...]] = {"layout": ("contiguous",), "data": ("synthetic",)}
_NEEDED = ("device", *(axis for axis in AXES if axis not in _DEFAULTS))
_ANY_MODEL = "*"

_Reader = Callable[[str, str], str]


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


@functools.cache
def _model_label(model: str) -> str:
    """Kept, for the label of a configuration file is made of its content."""
    return models.label(model)


@functools.cache
def _label(data: str) -> str:
    """Kept, for it looks at the disk and every case has it in its id."""
    return data_source.parse(data).label


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
    check_model: Callable[[str], None] = models.check,
) -> tuple[CaseSpec, ...]:
    """The cases of the tiers, in their order, each once.

    An override replaces its axis in every block. Of ``model`` it keeps the blocks that list the model; a model that no
    block lists for a kind of device gets the blocks of that kind with ``model = "*"``.

    :param tiers: names of tiers in ``matrix.toml``, or ``FILE.toml`` or ``FILE.toml:TIER`` for a user's own.
    :param overrides: axis -> values; see `AXES`.
    :param source: the flag the tiers came from, for messages.
    :param check_model: raises `models.UnknownModel` for a name that isn't known.
    :raises MatrixError: an unknown tier, a file that isn't a matrix, or an axis without a value or with a wrong one.
    """
    readers = _readers(check_model)
    given = {axis: _read_override(axis, override, readers[axis]) for axis, override in overrides.items()}
    wanted = tuple(tiers)
    if not wanted:
        raise MatrixError(f"{source}: no tier given; tiers are {', '.join(_tables(BUILT_IN, source))}")
    blocks = [block for tier in wanted for block in _read_tier(tier, source, readers)]
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


def _read_override(axis: str, override: Override, read: _Reader) -> tuple[str, ...]:
    if not override.values:
        raise MatrixError(f"{override.source}: no {axis} given, so no case is left")
    return tuple(dict.fromkeys(read(value, override.source) for value in override.values))


def _readers(check_model: Callable[[str], None]) -> dict[str, _Reader]:
    """For every axis what reads one value of it: ``(text, where it stands) -> text``, or a MatrixError."""

    def model(text: str, where: str) -> str:
        try:
            with suppress(models.BrokenLibrary):  # its cases are skipped with that reason, and the others run
                check_model(text)
        except models.UnknownModel as error:
            raise MatrixError(f"{where}: {error}") from error
        return text

    return {
        "device": _one_of(KINDS),
        "model": model,
        "mode": _one_of(MODES),
        "batch": _batch,
        "precision": _one_of(tuple(PRECISIONS)),
        "layout": _one_of(("contiguous", "channels_last")),
        "data": _data,
    }


def _one_of(allowed: tuple[str, ...]) -> _Reader:
    def read(text: str, where: str) -> str:
        if text not in allowed:
            raise MatrixError(f"{where}: {text!r} is not allowed: use {with_near(text, allowed)}")
        return text

    return read


def _batch(text: str, where: str) -> str:
    # int() alone would also take "1_6" and other scripts' digits
    digits = text.lstrip("0")
    if not re.fullmatch("[0-9]{1,7}", digits) or int(digits) > MOST_BATCH:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise MatrixError(f"{where}: batch {shown!r} is not allowed: use a whole number from 1 to {MOST_BATCH}")
    return digits


def _data(text: str, where: str) -> str:
    try:
        data_source.parse(text, where)
    except data_source.DataError as error:
        raise MatrixError(str(error)) from error
    return text.strip()


def _read_tier(tier: str, source: str, readers: Mapping[str, _Reader]) -> list[_Block]:
    """The blocks of a tier, by its name or its file's."""
    match = re.fullmatch(r"(?P<file>.+\.toml)(:(?P<name>.+))?", tier)
    try:
        path = Path(match["file"]).expanduser() if match else BUILT_IN
    except RuntimeError as error:
        home = Path(tier).parts[0]
        raise MatrixError(f"{source}: {tier}: {home} is no known home folder; give the whole path") from error
    tables = _tables(path, source)
    name = match["name"] if match else tier
    if name is None:
        if len(tables) != 1:
            raise MatrixError(f"{source}: {tier} has {len(tables)} tiers; name one: {_choice(f'{tier}:', tables)}")
        name = next(iter(tables))
    if name not in tables:
        near = difflib.get_close_matches(name, tables, n=1)
        hint = f" (near match: {near[0]})" if near else ""
        own = "" if match else ", or FILE.toml for your own"
        raise MatrixError(f"{source}: no tier {name!r}{hint}; use {_choice('', tables)}{own}")
    return [_read_block(table, readers) for table in tables[name]]


def _choice(prefix: str, names: Iterable[str]) -> str:
    return " or ".join(f"{prefix}{name}" for name in names)


def _tables(path: Path, source: str) -> dict[str, list[Table]]:
    try:
        return toml_tables.read(path)
    except toml_tables.TomlError as error:
        raise MatrixError(str(error)) from error
    except OSError as error:
        raise MatrixError(f"{source}: {path} can't be read: {error.strerror}") from error


def _read_block(table: Table, readers: Mapping[str, _Reader]) -> _Block:
    for key in table.values:
        if key not in readers:
            near = difflib.get_close_matches(key, readers, n=1)
            hint = f" (near match: {near[0]})" if near else ""
            raise MatrixError(f"{table.where(key)}: unknown key {key!r}{hint}; keys are {', '.join(readers)}")
    axes = dict(_DEFAULTS)
    for key, read in readers.items():
        if key in table.values:
            axes[key] = _read_values(key, table, read)
        elif key not in _DEFAULTS:
            raise MatrixError(f"{table.where()}: the block has no {key!r}; it needs {', '.join(_NEEDED)}")
    return _Block(axes, frozenset(axes.pop("device")))


def _read_values(key: str, table: Table, read: _Reader) -> tuple[str, ...]:
    where = table.where(key)
    value = table.values[key]
    items = value if isinstance(value, list) else [value]
    if not items:
        raise MatrixError(f"{where}: {key} is empty, so the block has no case; give it a value or remove the block")
    wanted = int if key == "batch" else str
    for item in items:
        if type(item) is not wanted or _is_huge(item):
            kind = "a whole number" if key == "batch" else "a text"
            raise MatrixError(f"{where}: {key} {_shown(item)} is not allowed: use {kind}, or a list of them")
    return tuple(_ANY_MODEL if item == _ANY_MODEL and key == "model" else read(str(item), where) for item in items)


def _is_huge(item: object) -> bool:
    """Whether it is a number beyond TOML's 64 bits; Python reads one in hexadecimal, and may refuse to print it."""
    return isinstance(item, int) and item.bit_length() > 64


def _shown(item: object) -> str:
    """The value for a message. Of what can hold others only the kind: it may be nested too deeply to print."""
    if isinstance(item, list | dict):
        return "(a list)" if isinstance(item, list) else "(a table)"
    return "(a number of more than 64 bits)" if _is_huge(item) else repr(item)
