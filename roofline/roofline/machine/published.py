"""Published roofs by device name: the specification table, and the one rule by which a device finds its row.

The rule: the name must be equal, apart from case, spaces, "NVIDIA" and trade marks. No substring, no nearest, no
default: a laptop card, a PCIe card, a MIG slice or an unknown card gets nothing rather than another card's figures.
"""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from operator import ne
from pathlib import Path
from typing import Any

from roofline.files.text import ReadError, text_of
from roofline.schema.record import Roof

BYTE_ROOFS = ("dram", "llc", "host_to_device")
"""Names of roofs in byte/s; every other name is a compute dtype in FLOP/s."""

_COMPUTE = ("fp64", "fp32", "tf32", "bf16", "fp16")
_DEVICE_KEYS = {"name", "aliases", "source", "date", "note", "roofs"}
_ROOF_KEYS = {"name", "value", "accumulate", "tensor", "dense"}


class DeviceFileError(ReadError):
    """A device table that can't be used. The message names file, device and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRoof:
    """One printed figure. ``value`` in FLOP/s or byte/s; ``accumulate`` and ``tensor`` are None for bandwidths."""

    name: str
    value: float
    accumulate: str | None
    tensor: bool | None
    dense: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDevice:
    """The figures of one device in one document. No ``roofs``: ``note`` tells why there is none for this name."""

    name: str
    aliases: tuple[str, ...]
    source: str
    date: str
    note: str | None
    roofs: tuple[PublishedRoof, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def best(self) -> tuple[Roof, ...]:
        """The roofs a case is held against: dense, and with the accumulation that frameworks use (fp32; fp64 for fp64).

        Of several that qualify (CUDA cores and tensor cores) the highest, since the fastest unit is the ceiling.
        """
        chosen: dict[str, PublishedRoof] = {}
        for roof in self.roofs:
            wanted = None if roof.name in BYTE_ROOFS else "fp64" if roof.name == "fp64" else "fp32"
            if roof.dense and roof.accumulate == wanted:
                current = chosen.get(roof.name)
                chosen[roof.name] = roof if current is None or roof.value > current.value else current
        return tuple(
            Roof(
                kind="byte" if roof.name in BYTE_ROOFS else "flop",
                name=roof.name,
                value=roof.value,
                source="spec",
                detail=f"{self.source}, {self.date}",
            )
            for roof in chosen.values()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTable:
    """All known devices. Of two rows with one name the later one counts: a user's file comes after ours."""

    devices: tuple[PublishedDevice, ...]

    def find(self, name: str) -> PublishedDevice | None:
        """The row of exactly this device, or None."""
        wanted = normalised(name)
        for device in reversed(self.devices):
            if wanted in map(normalised, device.names):
                return device
        return None

    def containing(self, text: str) -> tuple[PublishedDevice, ...]:
        """The rows whose name or alias contains the text: to look them up, never to judge by."""
        wanted = normalised(text)
        return tuple(device for device in self.devices if any(wanted in normalised(name) for name in device.names))

    def nearest(self, text: str) -> tuple[str, ...]:
        """Up to three names that are spelled most like the text: first those that have it but for one character."""
        wanted = normalised(text)
        spelled = {normalised(name): name for device in self.devices for name in device.names}
        slips = [name for name in spelled if _contains_but_for_one(name, wanted)]
        near = dict.fromkeys([*slips, *difflib.get_close_matches(wanted, spelled, cutoff=0.55)])
        return tuple(spelled[name] for name in near)[:_NEAREST]


_NEAREST = 3


def _contains_but_for_one(name: str, text: str) -> bool:
    """True if a part of the name is the text with one other character in it. Of two characters one says nothing."""
    parts = (name[start : start + len(text)] for start in range(len(name) - len(text) + 1))
    return len(text) > 2 and any(sum(map(ne, part, text)) == 1 for part in parts)


def normalised(name: str) -> str:
    """The name without what differs between drivers: case, spaces, "NVIDIA", trade marks.

    >>> normalised("NVIDIA GeForce(TM) RTX 4090") == normalised("geforce rtx 4090")
    True
    """
    plain = re.sub(r"\((tm|r)\)|[™®]", "", name.casefold())
    return re.sub(r"\s+", "", re.sub(r"\bnvidia\b", "", plain))


def load(extra: Path | None = None) -> DeviceTable:
    """The table that ships with this package, with a user's own file of the same form after it.

    :raises DeviceFileError: the user's file can't be read, or a row of it is not of the form.
    """
    shipped = _parse(files("roofline.machine").joinpath("devices.toml").read_text(encoding="utf-8"), "devices.toml")
    if extra is None:
        return DeviceTable(devices=shipped)
    try:
        text = text_of(extra, "Give a TOML file in the form of the package's devices.toml.")
    except ReadError as error:
        raise DeviceFileError(str(error)) from error
    try:
        return DeviceTable(devices=shipped + _parse(text, str(extra)))
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or thousands of brackets, can be neither read nor shown.
        raise DeviceFileError(f"{extra}: TOML that can't be read ({error}).") from error


def _parse(text: str, where: str) -> tuple[PublishedDevice, ...]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DeviceFileError(f"{where}: not TOML ({error}).") from error
    rows = content.pop("device", None)
    if content or not isinstance(rows, list) or not rows:
        found = ", ".join(sorted(content)) or "none"
        raise DeviceFileError(f"{where}: expected [[device]] tables and nothing else, found {found}.")
    return tuple(_device(row, f"{where}: device {index + 1}") for index, row in enumerate(rows))


def _device(row: object, where: str) -> PublishedDevice:
    table = _known(row, _DEVICE_KEYS, where)
    name = _text(table, "name", where)
    where = f"{where} ({name})"
    aliases = table.get("aliases", [])
    roofs = table.get("roofs")
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise DeviceFileError(f"{where}: aliases must be a list of names.")
    if not isinstance(roofs, list):
        raise DeviceFileError(f"{where}: roofs must be a list of tables such as {{ name = 'dram', value = 936e9 }}.")
    return PublishedDevice(
        name=name,
        aliases=tuple(aliases),
        source=_text(table, "source", where),
        date=_text(table, "date", where),
        note=_text(table, "note", where) if "note" in table else None,
        roofs=tuple(_roof(roof, f"{where}: roof {index + 1}") for index, roof in enumerate(roofs)),
    )


def _roof(row: object, where: str) -> PublishedRoof:
    table = _known(row, _ROOF_KEYS, where)
    name = _text(table, "name", where)
    if name not in BYTE_ROOFS + _COMPUTE:
        raise DeviceFileError(f"{where}: name is {name!r}; allowed are {', '.join(_COMPUTE + BYTE_ROOFS)}.")
    value = table.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise DeviceFileError(f"{where}: value is {value!r}; expected FLOP/s or byte/s above 0, for example 312e12.")
    dense = table.get("dense", True)
    if not isinstance(dense, bool):
        raise DeviceFileError(f"{where}: dense is {dense!r}; expected true or false.")
    tensor = table.get("tensor")
    if name in BYTE_ROOFS:
        return PublishedRoof(name=name, value=float(value), accumulate=None, tensor=None, dense=dense)
    if not isinstance(tensor, bool):
        raise DeviceFileError(f"{where}: tensor is {tensor!r}; expected true (tensor cores) or false.")
    return PublishedRoof(
        name=name, value=float(value), accumulate=_text(table, "accumulate", where), tensor=tensor, dense=dense
    )


def _known(row: object, allowed: set[str], where: str) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise DeviceFileError(f"{where}: expected a table, found {row!r}.")
    if unknown := sorted(set(row) - allowed):
        raise DeviceFileError(f"{where}: unknown key {', '.join(unknown)}; allowed are {', '.join(sorted(allowed))}.")
    return row


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise DeviceFileError(f"{where}: {key} is {value!r}; expected text.")
    return value
